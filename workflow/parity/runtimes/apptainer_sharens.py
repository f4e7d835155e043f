"""Apptainer with one namespace, and one mount of the image, for all ranks of a node.

Ranks that have user namespaces of their own cannot copy out of each other's memory, so that Open
MPI's shared memory falls back to two copies; here those that one launcher started join the
first one's (`--sharens`, Apptainer 1.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity.runtimes.apptainer import Apptainer
from parity.runtimes.model import Launch


@dataclass(frozen=True)
class ApptainerShared(Apptainer):
    """`apptainer exec --sharens`."""

    name: str = "apptainer-sharens"
    title: str = "Apptainer (one namespace)"

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        argv = super().command(launch, inner)
        after = argv.index("exec") + 1
        return [*argv[:after], "--sharens", *argv[after:]]


SHARED = (ApptainerShared(),)
