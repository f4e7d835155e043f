"""The trace that selfish.c writes: read whole or refused."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parity.benchmarks.reading import Refused

MODES = ("detours", "fwq")
MAGIC, VERSION = b"\x89selfish", 1
# struct head and struct entry of selfish.c.
HEAD = np.dtype(
    [("magic", "S8"), ("version", "<u4"), ("mode", "<u4")]
    + [(name, "<f8") for name in ("hz", "minimum_ns", "threshold_ns")]
    + [(name, "<u8") for name in ("duration_ns", "quantum", "locked", "count")]
    + [("quota_us", "<i8")]
    + [(name, "<u8") for name in ("period_us", "periods", "throttled")]
)
ENTRY = np.dtype([("start", "<u8"), ("length", "<u8")])
_CRC_BYTES = 4


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
    """The trace of one run.

    Raises:
        Refused: `unparsable` where it is no trace, `truncated` where a part is missing, and
            `contradictory` where it is not what was written.
    """
    if not content.startswith(MAGIC):
        raise Refused("unparsable", "the file does not begin as a trace of selfish does")
    if len(content) < HEAD.itemsize:
        raise Refused("truncated", "the trace ends in its head")
    head = np.frombuffer(content, HEAD, 1)[0]
    if head["version"] != VERSION or not 1 <= head["mode"] <= len(MODES):
        raise Refused("unparsable", "the trace is of another version, or of no known mode")
    size = HEAD.itemsize + int(head["count"]) * ENTRY.itemsize
    if len(content) != size + _CRC_BYTES:
        fewer = len(content) < size + _CRC_BYTES
        reason = "truncated" if fewer else "several-runs"
        raise Refused(reason, f"the trace has {len(content)} bytes instead of {size + _CRC_BYTES}")
    if zlib.crc32(memoryview(content)[:size]) != int.from_bytes(content[size:], "little"):
        raise Refused("contradictory", "the trace is not what its checksum is of")
    return Trace(
        mode=MODES[head["mode"] - 1],
        hz=float(head["hz"]),
        minimum_ns=float(head["minimum_ns"]),
        threshold_ns=float(head["threshold_ns"]),
        duration_ns=int(head["duration_ns"]),
        quantum=int(head["quantum"]),
        is_locked=bool(head["locked"]),
        **{name: int(head[name]) for name in ("quota_us", "period_us", "periods", "throttled")},
        entries=np.frombuffer(content, ENTRY, int(head["count"]), HEAD.itemsize),
    )
