"""Files that our own programs write as trace.h has them: read whole, or refused."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parity.benchmarks.reading import Refused
from parity.core.files import as_bytes

# struct entry and struct limit of trace.h.
ENTRY = np.dtype([("start", "<u8"), ("length", "<u8")])
LIMIT = [("quota_us", "<i8")] + [(name, "<u8") for name in ("period_us", "periods", "throttled")]
LIMIT += [(name, "<u8") for name in ("burst_us", "shares", "weight", "cpus", "cpu_ns")]
_CRC_BYTES, _PACKED_BYTES = 4, 10  # of the checksum, and at most of a packed number
MODES = ("detours", "fwq")
_BEGIN = [("magic", "S8"), ("version", "<u4")]
# struct head of selfish.c, and the one of version 1, whose limit ended before `burst_us`.
SELFISH_MAGIC, VERSION = b"\x89selfish", 3
_HEAD = [*_BEGIN, ("mode", "<u4")]
_HEAD += [(name, "<f8") for name in ("hz", "minimum_ns", "threshold_ns")]
_HEAD += [(name, "<u8") for name in ("duration_ns", "quantum", "locked", "count")]
HEADS = {1: np.dtype(_HEAD + LIMIT[:4]), **dict.fromkeys((2, VERSION), np.dtype(_HEAD + LIMIT))}
# struct head of steps.c.
STEPS_MAGIC, STEPS_VERSION = b"\x89steps", 2
_STEPS_HEAD = [*_BEGIN, ("ranks", "<u4"), ("work_ns", "<f8")]
_STEPS_HEAD += [(name, "<u8") for name in ("duration_ns", "quantum", "idle_us", "locked", "count")]
HEAD = np.dtype(_STEPS_HEAD + LIMIT)
STEPS_HEADS = dict.fromkeys((1, STEPS_VERSION), HEAD)
# The version from which entries are packed; before, they are struct entry.
PACKED_FROM = {SELFISH_MAGIC: 3, STEPS_MAGIC: 2}


def bytes_of(files: Mapping[str, str], name: str, what: str) -> bytes:
    """What a run left in a file that is no text; refused (`unparsable`) if it left none."""
    try:
        return as_bytes(files.get(name, ""))
    except ValueError:
        raise Refused("unparsable", f"the run left no {what}") from None


def read_file(
    content: bytes, magic: bytes, heads: Mapping[int, np.dtype[np.void]], numbers: tuple[str, ...]
) -> tuple[dict[str, Any], NDArray[np.void]]:
    """The head of a file by its fields' names, and its entries.

    `magic`: what its program's files begin with: a byte, and a name. `heads`: how the program lays
    its head out, by version; with `magic`, `version`, `count`. `numbers`: fields that are finite
    and not below zero. Raises Refused: `unparsable` where it is no such file, `truncated` where a
    part is missing, and `contradictory` where it is not what was written.
    """
    if not content.startswith(magic):
        raise Refused("unparsable", f"the file does not begin as {magic[1:].decode()} has it")
    # The name is filled up to eight bytes, and the version follows.
    head = heads.get(int.from_bytes(content[8:12], "little"))
    shortest = min(layout.itemsize for layout in heads.values())
    if len(content) < (head.itemsize if head else shortest):
        raise Refused("truncated", "the file ends in its head")
    if head is None:
        raise Refused("unparsable", "the file is of another version")
    values = np.frombuffer(content, head, 1)[0].item()
    fields = dict(zip(head.names or (), values, strict=True))
    rest = content[head.itemsize : -_CRC_BYTES]
    is_packed, packed = fields["version"] >= PACKED_FROM[magic], np.frombuffer(rest, np.uint8)
    last = np.flatnonzero(packed < 128)  # of each packed number, its last byte
    found = len(last) / 2 if is_packed else len(rest) / ENTRY.itemsize
    if found != fields["count"] or (is_packed and len(rest) > (last[-1] + 1 if len(last) else 0)):
        reason = "truncated" if found <= fields["count"] else "several-runs"
        raise Refused(reason, f"the file has {found:.16g} entries instead of {fields['count']}")
    if zlib.crc32(content[:-_CRC_BYTES]) != int.from_bytes(content[-_CRC_BYTES:], "little"):
        raise Refused("contradictory", "the file is not what its checksum is of")
    for name in numbers:
        if not 0 <= fields[name] < math.inf:
            raise Refused("unparsable", f"{name} of the file is {fields[name]}")
    return fields, _unpacked(packed, last) if is_packed else np.frombuffer(rest, ENTRY)


def _unpacked(numbers: NDArray[np.uint8], last: NDArray[np.intp]) -> NDArray[np.void]:
    """Entries of numbers that are packed as trace.h says; `last`: where each number ends."""
    entries = np.zeros(len(last) // 2, ENTRY)
    if not len(entries):
        return entries
    lengths = np.diff(last, prepend=-1)
    if lengths.max() > _PACKED_BYTES:
        raise Refused("unparsable", "a number of the file is longer than any is")
    first = last - lengths + 1
    shift = 7 * (np.arange(len(numbers)) - np.repeat(first, lengths))
    parts = (numbers & 127).astype(np.uint64) << shift.astype(np.uint64)
    values = np.add.reduceat(parts, first)
    entries["start"], entries["length"] = np.cumsum(values[::2]), values[1::2]
    return entries


@dataclass(frozen=True)
class Trace:
    """What was written down in one run of selfish.

    `shares` and `weight` are its share of CPUs that others want, in the numbers of control groups
    of version 1 and 2; 0 where it has the other one. `entries` are start since the first look and
    length, both in ns, in order of time: detours without the shortest loop, or whole quanta.
    """

    mode: str  # one of `MODES`
    hz: float  # pace of the time stamp counter, over the whole run
    minimum_ns: float  # shortest loop, or shortest quantum, that was found beforehand
    threshold_ns: float  # what a detour is longer than
    duration_ns: int  # from the first look at the counter to the last
    quantum: int  # multiplications of a quantum
    is_locked: bool  # whether the memory for the entries could be locked
    quota_us: int  # CPU time that it had in each period; -1 without a limit, 0 if not to be seen
    period_us: int  # length of such a period
    periods: int  # how many began meanwhile
    throttled: int  # in how many of them the limit was reached
    burst_us: int  # what it may have in addition of what it left before
    shares: int
    weight: int
    cpus: int  # on how many it may run
    cpu_ns: int  # CPU time that it got; all from `burst_us` on are 0 in traces of version 1
    entries: NDArray[np.void]

    @property
    def detours(self) -> NDArray[np.void]:
        """Start and length in ns of each detour; of quanta what they took beyond the shortest."""
        if self.mode == "detours":
            return self.entries
        lost = self.entries.copy()
        lost["length"] -= lost["length"].min(initial=round(self.minimum_ns))
        return lost[lost["length"] > self.threshold_ns]


def read_trace(content: bytes) -> Trace:
    """The trace of one run of selfish; raises `Refused` as `read_file` does."""
    numbers = ("hz", "minimum_ns", "threshold_ns")
    head, entries = read_file(content, SELFISH_MAGIC, HEADS, numbers)
    if not 1 <= head["mode"] <= len(MODES):
        raise Refused("unparsable", "the trace is of no known mode")
    if not (head["hz"] and head["duration_ns"]) or head["minimum_ns"] > head["duration_ns"]:
        raise Refused("unparsable", "the trace has no clock, or no length")
    known = {name: head.get(name, 0) for name in Trace.__annotations__} | {"entries": entries}
    return Trace(**known | {"mode": MODES[head["mode"] - 1], "is_locked": bool(head["locked"])})


@dataclass(frozen=True)
class Steps:
    """What was written down in one run of steps; the CPU limit is rank 0's, as `Trace` has it."""

    ranks: int  # how many there were, as MPI says
    work_ns: float  # the work of each step on rank 0, where nothing holds it up, found beforehand
    idle_us: int  # how long all ranks slept after each step
    is_locked: bool  # whether the memory for the steps could be locked
    quota_us: int
    period_us: int
    periods: int
    throttled: int
    lengths: NDArray[np.uint64]  # of each step on rank 0, in ns and in order of time


def read_steps(content: bytes) -> Steps:
    """The steps of one run; raises `Refused` as `read_file` does."""
    head, entries = read_file(content, STEPS_MAGIC, STEPS_HEADS, ("work_ns",))
    if not head["work_ns"]:
        raise Refused("unparsable", "the steps have no work")
    known = {name: head[name] for name in Steps.__annotations__ if name in head}
    return Steps(**known, is_locked=bool(head["locked"]), lengths=entries["length"])
