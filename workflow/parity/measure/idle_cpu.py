"""How much of the node's CPU time others take: the hypervisor (steal) and other programs (busy)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psutil

# A kernel's clock ticks 25 times or more for each CPU in this time.
WINDOW_SECONDS = 0.25


def fraction(before: Any, after: Any, kinds: tuple[str, ...]) -> float:
    """Share of all CPU time between two `psutil.cpu_times()` that went to these kinds, 0 to 1.

    Guest time is already within user time in Linux and is not counted twice.
    """
    fields = [name for name in before._fields if not name.startswith("guest")]
    spent = {name: max(0.0, getattr(after, name) - getattr(before, name)) for name in fields}
    total = sum(spent.values())
    return sum(spent.get(kind, 0.0) for kind in kinds) / total if total else 0.0


def steal_fraction(before: Any, after: Any, cpus: Sequence[int]) -> float:
    """Share of CPU time that the hypervisor gave to others, of the CPU that lost most.

    Args:
        before, after: `psutil.cpu_times(percpu=True)`.
        cpus: the CPUs that the program is bound to; on a large machine the mean over
            all of them would hide what one of them lost.
    """
    return max(fraction(before[cpu], after[cpu], ("steal",)) for cpu in cpus)


def busy_now() -> float:
    """Share of CPU time in use or stolen in one short window, while nothing of ours runs."""
    before = psutil.cpu_times()
    time.sleep(WINDOW_SECONDS)
    return 1.0 - fraction(before, psutil.cpu_times(), ("idle", "iowait"))


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
