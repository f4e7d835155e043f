"""Which arms and benchmarks are on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from parity.benchmarks import benchmarks
from parity.core.availability import Availability
from parity.core.spack_paths import DISTRIBUTION
from parity.runtimes import arms, every_arm


@dataclass(frozen=True)
class Probe:
    """Whether an arm or a benchmark (its kind) is on this machine."""

    kind: str
    name: str
    presence: Availability


def probes(only: Collection[str] | None = None, provider: str = DISTRIBUTION) -> list[Probe]:
    """Ask every arm and benchmark, or those of the given names, whether it is here.

    Without names those arms that differ in their link set alone are not asked.
    """
    asked = list(arms()) if only is None else [name for name in only if name in every_arm()]
    found = [Probe("arm", name, every_arm()[name].probe()) for name in asked]
    return found + [
        Probe("benchmark", name, benchmark.provided_by(provider).probe())
        for name, benchmark in benchmarks().items()
        if only is None or name in only
    ]


def probe_lines(asked: Iterable[Probe] | None = None) -> list[str]:
    """A line for every arm and benchmark asked: version, or why it is not here and what to do."""
    lines = []
    for probe in probes() if asked is None else asked:
        found = probe.presence
        said = (
            f"yes  {found.version}"
            if found.available
            else f"no   {found.reason}; {found.remedy}".rstrip("; ")
        )
        lines.append(f"{probe.kind:<10} {probe.name:<20} {said}")
    return lines
