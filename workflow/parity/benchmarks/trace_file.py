"""Files that our own programs write as trace.h has them: read whole, or refused."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parity.benchmarks.reading import Refused

# struct entry and struct limit of trace.h.
ENTRY = np.dtype([("start", "<u8"), ("length", "<u8")])
LIMIT = [("quota_us", "<i8")] + [(name, "<u8") for name in ("period_us", "periods", "throttled")]
LIMIT += [(name, "<u8") for name in ("burst_us", "shares", "weight", "cpus", "cpu_ns")]
_CRC_BYTES = 4


def read_file(
    content: bytes, magic: bytes, heads: Mapping[int, np.dtype[np.void]]
) -> tuple[dict[str, Any], NDArray[np.void]]:
    """The head of a file by its fields' names, and its entries.

    Args:
        magic: what its program's files begin with: a byte, and a name.
        heads: how the program lays its head out, by version; with `magic`, `version`, `count`.

    Raises:
        Refused: `unparsable` where it is no such file, `truncated` where a part is missing, and
            `contradictory` where it is not what was written.
    """
    if not content.startswith(magic):
        raise Refused("unparsable", f"the file does not begin as {magic[1:].decode()} has it")
    # The name is filled up to eight bytes, and the version follows.
    head = heads.get(int.from_bytes(content[8:12], "little"))
    if len(content) < min(each.itemsize for each in heads.values()):
        raise Refused("truncated", "the file ends in its head")
    if head is None:
        raise Refused("unparsable", "the file is of another version")
    if len(content) < head.itemsize:
        raise Refused("truncated", "the file ends in its head")
    values = np.frombuffer(content, head, 1)[0].item()
    said = dict(zip(head.names or (), values, strict=True))
    size = head.itemsize + said["count"] * ENTRY.itemsize
    if len(content) != size + _CRC_BYTES:
        reason = "truncated" if len(content) < size + _CRC_BYTES else "several-runs"
        raise Refused(reason, f"the file has {len(content)} bytes instead of {size + _CRC_BYTES}")
    if zlib.crc32(memoryview(content)[:size]) != int.from_bytes(content[size:], "little"):
        raise Refused("contradictory", "the file is not what its checksum is of")
    return said, np.frombuffer(content, ENTRY, said["count"], head.itemsize)
