"""Paired estimates: the mean of per-block effects, its intervals, and its equivalence test.

All functions take the effects of one comparison, one number per block. For a
ratio the effect is a logarithm, so the mean is the log of a geometric mean, which
is the only mean under which a ratio and its inverse agree (Fleming & Wallace,
CACM 1986). The block is the sampling unit (Kalibera & Jones, ISMM 2013): pairing
inside it removes what slows a whole block alike. What comes and goes within a block
stays, and widens the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from parity.analysis import outcomes

ALPHA = 0.05
Interval = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """The mean effect over blocks.

    Attributes:
        blocks: number of effects.
        mean: their mean; None without any.
        interval95, interval90: t intervals of the mean; None for fewer than two blocks.
    """

    blocks: int
    mean: float | None
    interval95: Interval | None
    interval90: Interval | None


def t_interval(effects: Sequence[float], confidence: float) -> Interval:
    """Student's t interval of the mean of at least two effects (Hoefler & Belli, SC15, rule 5).

    Identical effects give an interval of no width.
    """
    values = np.asarray(effects, dtype=float)
    standard_error = values.std(ddof=1) / math.sqrt(len(values))
    half = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * standard_error)
    return float(values.mean()) - half, float(values.mean()) + half


def estimate(effects: Sequence[float]) -> Estimate:
    """Mean and t intervals of the effects; one block gives a mean only, none gives nothing."""
    values = np.asarray(effects, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("effects must be finite: pairs without a usable number are dropped before")
    if len(values) < 2:
        mean = float(values[0]) if len(values) else None
        return Estimate(len(values), mean, None, None)
    return Estimate(
        len(values), float(values.mean()), t_interval(values, 0.95), t_interval(values, 0.90)
    )


def equivalence_p(log_ratios: Sequence[float], margin: float) -> float:
    """P of two one-sided t tests that the mean ratio lies within (1/(1+margin), 1+margin).

    Schuirmann, J. Pharmacokinet. Biopharm. 1987. The margin is symmetric on the
    log scale, so cost and gain are held to the same standard. Identical ratios
    leave no error to test against: p is then 0 inside the margin and 1 outside.
    """
    bound = math.log1p(margin)
    values = np.asarray(log_ratios, dtype=float)
    if np.ptp(values) == 0:
        return 0.0 if abs(values[0]) < bound else 1.0
    return float(DescrStatsW(values).ttost_mean(-bound, bound)[0])


def smallest_margin(interval90: Interval) -> float:
    """The margin that the equivalence test would just have passed at the 5 % level.

    The two one-sided tests pass exactly if the 90 % interval lies inside the margin
    (Westlake 1981; Schuirmann 1987), so its outer bound is that margin.
    """
    return math.expm1(max(abs(bound) for bound in interval90))


def outcome(log_ratios: Sequence[float], margin: float) -> str:
    """What the blocks say about the ratio, from `parity.analysis.outcomes`.

    Equivalent if the two one-sided tests pass; different if the 95 % interval lies
    wholly outside the margin; inconclusive if neither. Overlap of intervals and
    the absence of a significant difference decide nothing (Altman & Bland, BMJ
    1995: absence of evidence is not evidence of absence).
    """
    found = estimate(log_ratios)
    if found.interval95 is None:
        return outcomes.TOO_FEW_BLOCKS
    if equivalence_p(log_ratios, margin) < ALPHA:
        return outcomes.EQUIVALENT
    bound = math.log1p(margin)
    low, high = found.interval95
    if low > bound or high < -bound:
        return outcomes.DIFFERENT
    return outcomes.INCONCLUSIVE
