"""Traces of selfish, and other files as trace.h has them, that tests make up."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parity.benchmarks import traces


def _leb128(number: int) -> bytes:
    """As `packed` of trace.h: seven bits in a byte, the last first."""
    more, last = divmod(number, 128)
    return bytes([last]) if not more else bytes([last | 128]) + _leb128(more)


def packed(said: Mapping[str, Any], layout: np.dtype[np.void], entries: Any) -> bytes:
    """A file as trace.h has it: its head by the layout's names, and its entries."""
    content = np.array([tuple(said[name] for name in layout.names or ())], layout).tobytes()
    entries = np.array(entries, traces.ENTRY)
    if said["version"] < traces.PACKED_FROM[said["magic"]]:
        content += entries.tobytes()
    else:
        starts = np.diff(entries["start"], prepend=np.uint64(0))
        for start, length in zip(starts.tolist(), entries["length"].tolist(), strict=True):
            content += _leb128(start) + _leb128(length)
    return content + zlib.crc32(content).to_bytes(4, "little")


def trace(
    entries: Sequence[tuple[int, int]] | NDArray[np.void],
    mode: str = "detours",
    seconds: float = 1.0,
    minimum: float = 10.0,
    threshold: float = 350.0,
    **head: int,
) -> bytes:
    """A trace as the program writes it; of entries (start, length) in ns."""
    start: dict[str, Any] = {
        "magic": traces.SELFISH_MAGIC, "version": traces.VERSION, "hz": 2.6e9,
        "mode": traces.MODES.index(mode) + 1, "minimum_ns": minimum, "threshold_ns": threshold,
        "quantum": 1_000_000, "quota_us": -1, "period_us": 100_000, "periods": 0, "throttled": 0,
        "burst_us": 0, "shares": 1024, "weight": 0, "cpus": 1, "cpu_ns": int(0.75e9 * seconds),
        "duration_ns": int(1e9 * seconds), "locked": 1, "count": len(entries), **head,
    }  # fmt: skip
    return packed(start, traces.HEADS.get(start["version"], traces.HEADS[traces.VERSION]), entries)
