"""The file that steps.c writes: how long each step took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parity.benchmarks.trace_file import LIMIT, read_file

STEPS_MAGIC, STEPS_VERSION = b"\x89steps", 1
# struct head of steps.c.
HEAD = np.dtype(
    [("magic", "S8"), ("version", "<u4"), ("ranks", "<u4"), ("work_ns", "<f8")]
    + [(name, "<u8") for name in ("duration_ns", "quantum", "idle_us", "locked", "count")]
    + LIMIT
)


@dataclass(frozen=True)
class Steps:
    """What was written down in one run.

    Attributes:
        ranks: how many there were, as MPI says.
        work_ns: the work of each step on rank 0, where nothing holds it up, found beforehand.
        idle_us: how long all ranks slept after each step.
        is_locked: whether the memory for the steps could be locked.
        quota_us, period_us, periods, throttled: the CPU limit of rank 0, as `selfish_trace` has it.
        lengths: of each step on rank 0, in ns and in order of time.
    """

    ranks: int
    work_ns: float
    idle_us: int
    is_locked: bool
    quota_us: int
    period_us: int
    periods: int
    throttled: int
    lengths: NDArray[np.uint64]


def read_steps(content: bytes) -> Steps:
    """The steps of one run; raises `Refused` as `read_file` does."""
    said, entries = read_file(content, STEPS_MAGIC, {STEPS_VERSION: HEAD})
    known = {name: said[name] for name in Steps.__annotations__ if name in said}
    return Steps(**known, is_locked=bool(said["locked"]), lengths=entries["length"])
