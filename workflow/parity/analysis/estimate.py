"""Paired estimates: the mean of per-block effects, its intervals, and its tests.

All functions take the effects of one comparison, one number per block. For a
ratio the effect is a logarithm, so the mean is the log of a geometric mean, which
is the only mean under which a ratio and its inverse agree (Fleming & Wallace,
CACM 1986). The block is the sampling unit (Kalibera & Jones, ISMM 2013): pairing
inside it removes what slows a whole block alike. What comes and goes within a block
stays, and widens the interval. A bound is in the unit of the effects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

ALPHA = 0.05
Interval = tuple[float, float]
Effects = Sequence[float] | np.ndarray


def t_interval(effects: Effects, confidence: float) -> Interval:
    """Student's t interval of the mean of at least two effects (Hoefler & Belli, SC15, rule 5).

    Identical effects give an interval of no width.
    """
    values = np.asarray(effects, dtype=float)
    standard_error = values.std(ddof=1) / math.sqrt(len(values))
    half = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * standard_error)
    return float(values.mean()) - half, float(values.mean()) + half


def equivalence_p(effects: Effects, bound: float) -> float:
    """P of two one-sided t tests that the mean lies within (-bound, bound).

    Schuirmann, J. Pharmacokinet. Biopharm. 1987. Bounds of log ratios are symmetric, so
    cost and gain are held to the same standard. Identical effects leave no error to test
    against: p is then 0 inside the bounds and 1 outside.
    """
    values = np.asarray(effects, dtype=float)
    if np.ptp(values) == 0:
        return 0.0 if abs(values[0]) < bound else 1.0
    return float(DescrStatsW(values).ttost_mean(-bound, bound)[0])


def p_above(effects: Effects, bound: float) -> float:
    """One-sided p that the mean exceeds the bound (Student's t test of one sample).

    Identical effects leave no error to test against: p is then 0 or 1.
    """
    values = np.asarray(effects, dtype=float)
    if np.ptp(values) == 0:
        return 0.0 if values[0] > bound else 1.0
    return float(stats.ttest_1samp(values, bound, alternative="greater").pvalue)


def p_below(effects: Effects, bound: float) -> float:
    """One-sided p that the mean lies below the bound."""
    return p_above(-np.asarray(effects, dtype=float), -bound)


def p_outside(effects: Effects, bound: float) -> float:
    """Two-sided p that the mean lies beyond -bound or bound.

    Below 0.05 exactly if the 95 % interval lies wholly outside.
    """
    return min(1.0, 2 * min(p_above(effects, bound), p_below(effects, -bound)))
