"""How much of the node's CPU time others take: the hypervisor (steal) and other programs (busy)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psutil

# A kernel's clock ticks 25 times or more for each CPU in this time.
WINDOW_SECONDS = 0.25
# A program that takes less of a CPU than this is not what keeps a node busy.
LEAST_SHARE = 0.05
CpuSeconds = Mapping[tuple[str, int], float]


def steal_fraction(before: Any, after: Any, cpus: Sequence[int]) -> float:
    """Share of CPU time that the hypervisor gave to others, of the CPU that lost most.

    Guest time is already within user time in Linux and is not counted twice.

    Args:
        before, after: `psutil.cpu_times(percpu=True)`.
        cpus: the CPUs that the program is bound to; on a large machine the mean over
            all of them would hide what one of them lost.
    """

    def stolen(cpu: int) -> float:
        names = [name for name in before[cpu]._fields if not name.startswith("guest")]
        spent = {n: max(0.0, getattr(after[cpu], n) - getattr(before[cpu], n)) for n in names}
        total = sum(spent.values())
        return spent.get("steal", 0.0) / total if total else 0.0

    return max(map(stolen, cpus))


def busy_now() -> float:
    """Share of CPU time in use or stolen in one short window, while nothing of ours runs."""
    return psutil.cpu_percent(interval=WINDOW_SECONDS) / 100


class Idleness(NamedTuple):
    """How busy others keep the node.

    Attributes:
        busy_fraction: share of all CPU time, 0 to 1.
        taken_by: the program that takes most, in words; empty on an idle node.
    """

    busy_fraction: float
    taken_by: str


def wait_until_idle(limit: float, patience_seconds: float) -> Idleness:
    """Watch the node in short windows until it is idle enough or patience is over.

    Says once for what it waits. What it returns is of the last window, whether or not that is
    within the limit.
    """
    deadline, waits = time.monotonic() + patience_seconds, False
    while (busy := busy_now()) > limit:
        taken_by = busiest()
        if time.monotonic() >= deadline:
            return Idleness(busy, taken_by)
        if not waits:
            said = f"waiting {patience_seconds:g} s at most for an idle node"
            print(f"{said}: {taken_by}", flush=True)
            waits = True
    return Idleness(busy, "")


def busiest() -> str:
    """Which program takes most CPU time in one short window, in words."""
    before = _cpu_seconds()
    time.sleep(WINDOW_SECONDS)
    return taken_most(before, _cpu_seconds(), WINDOW_SECONDS)


def taken_most(before: CpuSeconds, after: CpuSeconds, seconds: float) -> str:
    """Which program took most CPU time between two looks, in words."""
    taken = {process: after[process] - before[process] for process in after.keys() & before.keys()}
    process, most = max(taken.items(), key=lambda item: item[1], default=(("", 0), 0.0))
    if most < LEAST_SHARE * seconds:
        return "no program of this machine, so the hypervisor, or many short ones"
    name, number = process
    return f"{name} (process {number}) takes {100 * most / seconds:.0f} % of a CPU"


def _cpu_seconds() -> CpuSeconds:
    """CPU time of each process by its name and number."""
    spent = {}
    for process in psutil.process_iter(["name", "cpu_times"]):
        if times := process.info["cpu_times"]:
            spent[process.info["name"], process.pid] = times.user + times.system
    return spent
