"""Quantiles of how long events last, and their ratios to those of another arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parity.analysis.noise.windows import Key, Window, joined
from parity.analysis.statistics.bootstrap import NO_INTERVAL, percentile_interval
from parity.analysis.statistics.quantiles import ranks_of_interval

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
# Lengths are told apart as well as 4000 ranks that lie the closer the longer they are.
_GROUPS = 4000


@dataclass(frozen=True)
class Quantiles:
    """The quantiles of an arm.

    Attributes:
        rows: what does not depend on another arm, by column; lengths in seconds.
        replicates: of the lengths in ns, shape (replicates, shares).
    """

    rows: tuple[dict[str, Any], ...]
    replicates: NDArray[np.float64]

    def beside(self, reference: Quantiles | None, windows: int) -> list[dict[str, Any]]:
        """The rows with their ratios to the same quantiles of a reference; None is itself."""
        made = []
        for place, row in enumerate(self.rows):
            ratio, ends = None, NO_INTERVAL
            if reference and row["value"] and reference.rows[place]["value"]:
                ratio = row["value"] / reference.rows[place]["value"]
                both = self.replicates[:, place] / reference.replicates[:, place]
                ends = percentile_interval(both, windows)
            made.append(row | {"ratio": ratio, "ratio_low": ends[0], "ratio_high": ends[1]})
        return made


def quantiles(
    windows: Sequence[Window], place_of: Mapping[Key, int], often: NDArray[np.float64]
) -> Quantiles:
    """The quantiles of an arm: each a length that there was.

    Their intervals are order statistics, exact for independent lengths; the ratios are not
    taken from them, but from windows that are drawn anew.

    Args:
        place_of: the column of `often` of each window of any arm, so that arms are drawn alike.
        often: as of `resampled`.
    """
    lengths = np.sort(joined(windows))
    rows = [_row(share, lengths, windows) for share in SHARES]
    if not len(lengths):
        return Quantiles(tuple(rows), np.full((len(often), len(SHARES)), math.nan))
    from_top = np.unique(np.geomspace(1, len(lengths), _GROUPS).astype(np.int64))
    edges = np.unique(lengths[-from_top])
    counts = np.zeros((often.shape[1], len(edges)))
    for window in windows:
        groups = np.searchsorted(edges, window.lengths)
        counts[place_of[window.key]] += np.bincount(groups, minlength=len(edges))
    below = np.cumsum(often @ counts, axis=1)
    # Rounding must not make a share of all of them one more than it is.
    wanted = np.outer(below[:, -1], SHARES) - 1e-6
    places = np.stack([(below < each[:, None]).sum(axis=1) for each in wanted.T], axis=1)
    found = edges[np.minimum(places, len(edges) - 1)].astype(np.float64)
    found[below[:, -1] == 0] = math.nan
    return Quantiles(tuple(rows), found)


def _row(share: float, lengths: NDArray[np.int64], windows: Sequence[Window]) -> dict[str, Any]:
    """A quantile of sorted lengths with its interval; null where there are too few."""
    number = len(lengths)
    low, high = ranks_of_interval(number, share) if number else (None, None)
    at = math.ceil(share * number - 1e-6) if number else None
    return {
        "share": share,
        "events": number,
        "seconds": sum(window.duration for window in windows) / 1e9,
        **{
            name: None if rank is None else float(lengths[rank - 1]) / 1e9
            for name, rank in (("value", at), ("low", low), ("high", high))
        },
    }
