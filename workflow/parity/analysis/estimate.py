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
from functools import lru_cache

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


def rank_estimate(effects: Effects) -> float:
    """The median of all means of two effects, each with itself included.

    Hodges & Lehmann, Ann. Math. Stat. 1963: the centre of symmetric effects, moved little by
    a few that lie far off.
    """
    return float(np.median(_walsh_averages(effects)))


def rank_interval(effects: Effects, confidence: float) -> Interval:
    """The interval of that centre by inverting the exact signed-rank test.

    Tukey's counting of Walsh averages (Hollander, Wolfe & Chicken, Nonparametric Statistical
    Methods, 2014, section 3.3). The test flips the signs of the effects' ranks in all ways, so
    it needs symmetry and no normal law. Ties make it too wide rather than too narrow. Below
    5 effects at 90 %, and below 6 at 95 %, no sign-flip test can reject: the whole line.
    """
    averages = _walsh_averages(effects)
    below = np.cumsum(_signed_rank_law(len(effects)))
    left_out = int(np.searchsorted(below, (1 - confidence) / 2, side="right"))
    if left_out == 0:
        return -math.inf, math.inf
    return float(averages[left_out - 1]), float(averages[-left_out])


def _walsh_averages(effects: Effects) -> np.ndarray:
    values = np.asarray(effects, dtype=float)
    first, second = np.triu_indices(len(values))
    return np.sort((values[first] + values[second]) / 2)


@lru_cache
def _signed_rank_law(count: int) -> np.ndarray:
    """Probabilities of the sums of ranks that are positive, if each sign is as likely as the other.

    Each rank in turn is added with probability one half.
    """
    law = np.zeros(count * (count + 1) // 2 + 1)
    law[0] = 1.0
    for rank in range(1, count + 1):
        added = np.concatenate([np.zeros(rank), law[:-rank]])
        law = (law + added) / 2
    return law
