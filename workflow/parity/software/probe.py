"""Which arms and benchmarks are on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark
from parity.core.availability import Availability
from parity.core.spack_paths import DISTRIBUTION
from parity.runtimes import arms, every_arm


@dataclass(frozen=True)
class Probe:
    """Whether an arm or a benchmark (its kind) is on this machine."""

    kind: str
    name: str
    presence: Availability


def probes(
    names: Sequence[str] | None = None,
    used: Mapping[str, Benchmark] | None = None,
    provider: str = DISTRIBUTION,
) -> list[Probe]:
    """Ask every arm and benchmark, or the arms of these names and these benchmarks.

    Without names those arms that differ in their link set alone are not asked.
    """
    asked = arms() if names is None else names
    found = [Probe("arm", name, every_arm()[name].probe()) for name in asked]
    of = benchmarks() if used is None else used
    return found + [
        Probe("benchmark", name, benchmark.provided_by(provider).probe())
        for name, benchmark in of.items()
    ]


def summary_lines(asked: Iterable[Probe]) -> list[str]:
    """How many arms and benchmarks are here, and which are not."""
    lines = []
    for kind, of_kind in groupby(asked, key=lambda probe: probe.kind):
        found = list(of_kind)
        missing = [probe.name for probe in found if not probe.presence.available]
        said = f"{len(found) - len(missing)} of {len(found)} {kind}s are here"
        lines += _folded(f"{said}, not {', '.join(missing)}" if missing else said)
    return [*lines, "`snakemake probe` says which version of each, or why not and what to do"]


def probe_lines(asked: Iterable[Probe] | None = None) -> list[str]:
    """Every arm and benchmark asked: version, or why it is not here and what to do.

    No line is wider than the terminal, unless one word is.
    """
    lines: list[str] = []
    for probe in probes() if asked is None else asked:
        found = probe.presence
        said = (
            f"yes  {found.version}"
            if found.available
            else f"no   {found.reason}; {found.remedy}".rstrip("; ")
        )
        lines += _folded(f"{probe.kind:<10} {probe.name:<20} {said}")
    return lines


def _folded(text: str) -> list[str]:
    return wrap(
        text, shutil.get_terminal_size().columns, subsequent_indent=" " * 12,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
