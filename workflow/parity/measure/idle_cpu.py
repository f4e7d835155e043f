"""How much of the node's CPU time others take: the hypervisor (steal) and other programs (busy)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psutil

# A kernel's clock ticks 25 times or more for each CPU in this time.
WINDOW_SECONDS = 0.25


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


def wait_until_idle(limit: float, patience_seconds: float) -> float:
    """Watch the node in short windows until it is idle enough or patience is over.

    Returns:
        The busy fraction of the last window, whether or not it is within the limit.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        busy = busy_now()
        if busy <= limit or time.monotonic() >= deadline:
            return busy
