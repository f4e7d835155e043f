"""How much of the node's CPU time others take: the hypervisor (steal) and other programs (busy)."""

from __future__ import annotations

import time
from typing import Any

import psutil

WINDOW_SECONDS = 0.5


def fraction(before: Any, after: Any, kinds: tuple[str, ...]) -> float:
    """Share of all CPU time between two `psutil.cpu_times()` that went to these kinds, 0 to 1.

    Guest time is already within user time in Linux and is not counted twice.
    """
    fields = [name for name in before._fields if not name.startswith("guest")]
    spent = {name: max(0.0, getattr(after, name) - getattr(before, name)) for name in fields}
    total = sum(spent.values())
    return sum(spent.get(kind, 0.0) for kind in kinds) / total if total else 0.0


def steal_fraction(before: Any, after: Any) -> float:
    """Share of CPU time that the hypervisor gave to others."""
    return fraction(before, after, ("steal",))


def busy_fraction(before: Any, after: Any) -> float:
    """Share of CPU time in use, by whomever, or stolen."""
    return 1.0 - fraction(before, after, ("idle", "iowait"))


def wait_until_quiet(limit: float, patience_seconds: float) -> float:
    """Watch the idle node in short windows until it is quiet enough or patience is over.

    Returns:
        The busy fraction of the last window, whether or not it is within the limit.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        before = psutil.cpu_times()
        time.sleep(WINDOW_SECONDS)
        busy = busy_fraction(before, psutil.cpu_times())
        if busy <= limit or time.monotonic() >= deadline:
            return busy
