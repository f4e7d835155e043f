"""Trend: whether effects grow with a factor, and how fast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis.statistics import checks

RISING, FALLING = "rising", "falling"


def page_trend(frame: pd.DataFrame, expect: str = RISING) -> float:
    """One-sided p of an order fixed in advance: small if values rise, or fall, within blocks.

    Page's test (JASA 1963), by scipy: exact for small tables without ties, else by the normal
    approximation.

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
    ranks = predicted if expect == RISING else predicted[::-1]
    return float(stats.page_trend_test(table, predicted_ranks=ranks).pvalue)


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
