"""The trace that selfish.c writes: read whole or refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parity.benchmarks.reading import Refused
from parity.benchmarks.trace_file import LIMIT, read_file

MODES = ("detours", "fwq")
SELFISH_MAGIC, VERSION = b"\x89selfish", 2
# struct head of selfish.c, and the one of version 1, whose limit ended before `burst_us`.
_HEAD = (
    [("magic", "S8"), ("version", "<u4"), ("mode", "<u4")]
    + [(name, "<f8") for name in ("hz", "minimum_ns", "threshold_ns")]
    + [(name, "<u8") for name in ("duration_ns", "quantum", "locked", "count")]
)
HEADS = {1: np.dtype(_HEAD + LIMIT[:4]), VERSION: np.dtype(_HEAD + LIMIT)}


@dataclass(frozen=True)
class Trace:
    """What was written down in one run.

    Attributes:
        mode: one of `MODES`.
        hz: pace of the time stamp counter, over the whole run.
        minimum_ns: shortest loop, or shortest quantum, that was found beforehand.
        threshold_ns: what a detour is longer than.
        duration_ns: from the first look at the counter to the last.
        quantum: multiplications of a quantum.
        is_locked: whether the memory for the entries could be locked.
        quota_us: CPU time that its control group had in each period; -1 without a limit, 0
            where it was not to be seen.
        period_us: length of such a period.
        periods, throttled: how many began meanwhile, and in how many the limit was reached.
        burst_us: what it may have in addition of what it left before.
        shares, weight: its share of CPUs that others want, in the numbers of control groups of
            version 1 and 2; 0 where it has the other one.
        cpus: on how many it may run.
        cpu_ns: CPU time that it got; all from `burst_us` on are 0 in traces of version 1.
        entries: start since the first look and length, both in ns, in order of time: detours
            without the shortest loop, or whole quanta.
    """

    mode: str
    hz: float
    minimum_ns: float
    threshold_ns: float
    duration_ns: int
    quantum: int
    is_locked: bool
    quota_us: int
    period_us: int
    periods: int
    throttled: int
    burst_us: int
    shares: int
    weight: int
    cpus: int
    cpu_ns: int
    entries: NDArray[np.void]

    @property
    def detours(self) -> NDArray[np.void]:
        """Start and length in ns of each detour; of quanta what they took beyond the shortest."""
        if self.mode == "detours":
            return self.entries
        lengths = self.entries["length"]
        lost = self.entries.copy()
        lost["length"] -= lengths.min(initial=round(self.minimum_ns))
        return lost[lost["length"] > self.threshold_ns]


def read_trace(content: bytes) -> Trace:
    """The trace of one run; raises `Refused` as `read_file` does."""
    said, entries = read_file(content, SELFISH_MAGIC, HEADS)
    if not 1 <= said["mode"] <= len(MODES):
        raise Refused("unparsable", "the trace is of no known mode")
    known = {name: said.get(name, 0) for name in Trace.__annotations__}
    known |= {"mode": MODES[said["mode"] - 1], "is_locked": bool(said["locked"])}
    return Trace(**known | {"entries": entries})
