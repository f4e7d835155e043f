"""Ends what a program left behind: processes that outlive their parents become ours.

A process that made a session of its own and went elsewhere is neither in the program's process
group nor in its folder. The kernel hands it to the nearest ancestor that asked for orphans.
Containers that a daemon started are the daemon's, which ends them.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

import psutil

# <linux/prctl.h>: orphans of ours are handed to us instead of the first process.
_PR_SET_CHILD_SUBREAPER = 36
# A runtime's helpers end a moment after their program.
GRACE_SECONDS = 1.0
LONGEST_END_SECONDS = 5.0


class Orphan(NamedTuple):
    """A process that a program left: its name, and the CPU time that it took in seconds."""

    name: str
    cpu_seconds: float


# Whether this process is their parent. Others have children of their own to look after.
_adopting = False


def adopt() -> None:
    """Become the parent of all orphans below this process; it stays so to the end.

    Raises:
        OSError: the kernel does not do it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become the parent of orphans")
    global _adopting
    _adopting = True


def end_orphans(spared: Collection[str] = ()) -> tuple[Orphan, ...]:
    """End the processes below this one, and tell those that did not end by themselves.

    To be called while nothing of our own runs. Where nothing is left it takes microseconds.

    Args:
        spared: names of processes that stay.
    """
    found: list[Orphan] = []
    for process in _left_after(GRACE_SECONDS, spared) if _adopting else ():
        with suppress(psutil.NoSuchProcess):
            used = process.cpu_times()
            found.append(Orphan(process.name(), used.user + used.system))
            process.kill()
    if found:
        _left_after(LONGEST_END_SECONDS, spared)
    return tuple(found)


def _left_after(seconds: float, spared: Collection[str]) -> list[psutil.Process]:
    """The processes below this one that are still there after so many seconds, or none."""
    deadline = time.monotonic() + seconds
    while _any_runs():
        left = [
            each for each in psutil.Process().children(recursive=True) if _name(each) not in spared
        ]
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.01)
    return []


def _name(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


def _any_runs() -> bool:
    """Whether there is a process below this one, after those that ended are forgotten."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True
