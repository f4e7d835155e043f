"""NERSC's Podman-HPC: Podman with an image that was squashed for all nodes.

Written from its documentation (README.md, docs/diagrams.md); no machine here has it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.runtimes.model import Look
from parity.runtimes.podman import TAG, Podman


@dataclass(frozen=True)
class PodmanHpc(Podman):
    """`podman-hpc run`, with the host's processes, so that ranks of a node see each other."""

    name: str = "podman-hpc"
    title: str = "Podman-HPC"
    shared: tuple[str, ...] = ("ipc", "pid")
    runtime: str = "podman-hpc"
    look = Look("#332288", "X")
    image_format: str = "podman-hpc"
    packages = ()
    engine = ("podman-hpc",)

    def probe(self) -> Availability:
        if not is_installed("podman-hpc"):
            remedy = "https://github.com/NERSC/podman-hpc"
            return Availability(False, reason="not installed", remedy=remedy)
        return Availability(True, version=answer_of(["podman-hpc", "--version"])[1])

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            archive = f"{folder}/parity.tar"
            output_of(["skopeo", "copy", f"oci:{oci}:parity", f"docker-archive:{archive}:{TAG}"])
            output_of(["podman-hpc", "load", f"--input={archive}"])
        output_of(["podman-hpc", "migrate", TAG])
        return f"sha256:{self._inspect(TAG, '{{.Id}}').removeprefix('sha256:')}"


HPC = (PodmanHpc(),)
