"""Stretches of time in which events were recorded.

Events come in bursts, so one after the other they are not independent. Runs, or their parts of
half a minute, are drawn anew instead (`statistics.bootstrap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SECONDS = 30
# Whose events they are: block and number within its run.
Key = tuple[str, int]


@dataclass(frozen=True)
class Window:
    """A stretch of a run.

    Attributes:
        duration: how long it is, ns.
        starts, lengths: of the events that began in it, in order of time, ns since its begin.
    """

    key: Key
    duration: int
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def split(
    block: str, seconds: float, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> list[Window]:
    """A run in windows of about half a minute; a shorter run is one."""
    parts = parts_of(seconds)
    size = round(1e9 * seconds) // parts
    ends = np.searchsorted(starts, size * np.arange(parts + 1))
    ends[0], ends[-1] = 0, len(starts)
    return [
        Window((block, part), size, starts[first:last] - size * part, lengths[first:last])
        for part, (first, last) in enumerate(pairwise(ends))
    ]


def parts_of(seconds: float) -> int:
    """How many windows a run of so many seconds has."""
    return max(1, int(seconds // SECONDS))


def joined(windows: Sequence[Window]) -> NDArray[np.int64]:
    """The lengths of all events, ns."""
    return np.concatenate([np.empty(0, np.int64), *(window.lengths for window in windows)])
