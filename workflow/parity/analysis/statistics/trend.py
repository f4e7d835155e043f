"""Order and trend: whether effects grow with a factor, and whether rankings agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis.statistics import checks

RISING, FALLING = "rising", "falling"


@dataclass(frozen=True)
class PageTrend:
    """Page's test of an order fixed in advance.

    Attributes:
        statistic: L, the sum over levels of predicted rank times rank sum.
        p: one-sided; small if the values follow the predicted order.
        method: exact or asymptotic.
        blocks, levels: the size of the table; only blocks that hold every level count.
    """

    statistic: float
    p: float
    method: str
    blocks: int
    levels: int


@dataclass(frozen=True)
class RankCorrelation:
    """Kendall's tau of two rankings and its two-sided p."""

    tau: float
    p: float
    items: int


def page_trend(frame: pd.DataFrame, expect: str = RISING) -> PageTrend:
    """Whether values rise (or fall) over ordered levels within blocks (Page, JASA 1963).

    By scipy: exact for small tables without ties, else by the normal approximation.

    Args:
        frame: columns block, level, value; levels are numbers and give the order. At most
            one row per block and level.
        expect: rising or falling, fixed before the data.

    Raises:
        ValueError: fewer than 3 levels or 2 blocks that hold them all, a repeated level in
            a block, values that are no numbers, or another expectation.
    """
    if expect not in (RISING, FALLING):
        raise ValueError(f"expect must be {RISING} or {FALLING}, not {expect}")
    table = _by_level(frame, "value").dropna().to_numpy()
    blocks, levels = table.shape
    if levels < 3 or blocks < 2:
        raise ValueError(f"a trend needs 3 levels in 2 blocks, not {levels} in {blocks}")
    predicted = np.arange(1, levels + 1)
    found = stats.page_trend_test(
        table, predicted_ranks=predicted if expect == RISING else predicted[::-1]
    )
    return PageTrend(float(found.statistic), float(found.pvalue), found.method, blocks, levels)


def rank_correlation(ours: Iterable[float], published: Iterable[float]) -> RankCorrelation:
    """Kendall's tau-b between two rankings of the same items (Kendall, Biometrika 1938).

    Args:
        ours, published: one number per item in the same order, at least 3 items; only
            their order counts. Neither may give all items one rank.
    """
    rows = checks.paired(ours, published, 3)
    if (np.ptp(rows, axis=1) == 0).any():
        raise ValueError("a ranking that puts all items level has no order")
    found = stats.kendalltau(rows[0], rows[1])
    return RankCorrelation(float(found.statistic), float(found.pvalue), rows.shape[1])


def slopes_per_doubling(frame: pd.DataFrame) -> pd.Series:
    """Slope of the log ratio per doubling of the level, in each block that holds all levels.

    Least squares on log2(level) inside each block; the block stays the sampling unit, so
    these slopes go into the paired tests like any other effect.

    Args:
        frame: columns block, level, log; levels above zero, at least two of them.

    Returns:
        The slopes by block, in log units per doubling.
    """
    levels = checks.positive(sorted(set(frame["level"])), 2, "levels")
    table = _by_level(frame, "log").dropna()
    steps = np.log2(levels) - np.log2(levels).mean()
    slopes: pd.Series = (table * steps).sum(axis=1) / float((steps**2).sum())
    return slopes


def _by_level(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """One row per block, one column per level in rising order."""
    for column in ("level", value):
        checks.finite(frame[column].to_numpy(), 0, column)
    keys: Sequence[str] = ["block", "level"]
    if frame.duplicated(keys).any():
        raise ValueError("a block holds two values of one level")
    return frame.pivot(index="block", columns="level", values=value).sort_index(axis=1)
