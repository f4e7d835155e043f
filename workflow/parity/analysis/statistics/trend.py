"""Trend: whether effects grow with a factor, and how fast.

Both take a table with one row per block and one column per level of the factor, whose names are
the levels. Blocks that do not hold every level are left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis.statistics import checks

RISING, FALLING = "rising", "falling"


def page_trend(table: pd.DataFrame, expect: str = RISING) -> float:
    """One-sided p of an order fixed in advance: small if values rise, or fall, within blocks.

    Page's test (JASA 1963), by scipy: exact for small tables without ties, else by the normal
    approximation.

    Args:
        expect: rising or falling, fixed before the data.

    Raises:
        ValueError: fewer than 3 levels or 2 blocks that hold them all, or another expectation.
    """
    if expect not in (RISING, FALLING):
        raise ValueError(f"expect must be {RISING} or {FALLING}, not {expect}")
    values = table.sort_index(axis=1).dropna().to_numpy(dtype=float)
    blocks, levels = values.shape
    if levels < 3 or blocks < 2:
        raise ValueError(f"a trend needs 3 levels in 2 blocks, not {levels} in {blocks}")
    predicted = np.arange(1, levels + 1)
    ranks = predicted if expect == RISING else predicted[::-1]
    return float(stats.page_trend_test(values, predicted_ranks=ranks).pvalue)


def slopes_per_doubling(table: pd.DataFrame) -> np.ndarray:
    """Slope of the log ratio per doubling of the level, in each block that holds all levels.

    Least squares on log2(level) inside each block; the block stays the sampling unit, so
    these slopes go into the paired tests like any other effect.

    Args:
        table: logs; levels above zero, at least two of them.

    Returns:
        The slopes in the order of blocks, in log units per doubling.
    """
    levels = np.log2(checks.positive(table.columns.to_numpy(), 2, "levels"))
    steps = levels - levels.mean()
    slopes: np.ndarray = (table.dropna() * steps).sum(axis=1).to_numpy(dtype=float)
    return slopes / float((steps**2).sum())
