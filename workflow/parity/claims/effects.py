"""What tests say of the effects of one comparison: a mean against a bound.

Effects are logs of cost ratios, or differences in a unit, one for each block. The mean, its
intervals and the equivalence of ratios are those of `parity.analysis.estimate`; here is what
one-sided rules and differences need beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from parity.analysis import estimate, outcomes


def p_above(effects: Sequence[float], bound: float) -> float:
    """One-sided p that the mean exceeds the bound (Student's t test of one sample).

    Identical effects leave no error to test against: p is then 0 or 1.
    """
    values = np.asarray(effects, dtype=float)
    if np.ptp(values) == 0:
        return 0.0 if values[0] > bound else 1.0
    return float(stats.ttest_1samp(values, bound, alternative="greater").pvalue)


def p_below(effects: Sequence[float], bound: float) -> float:
    """One-sided p that the mean lies below the bound."""
    return p_above(-np.asarray(effects, dtype=float), -bound)


def p_within(effects: Sequence[float], bound: float) -> float:
    """P of two one-sided tests that the mean lies between -bound and bound."""
    return max(p_above(effects, -bound), p_below(effects, bound))


def p_outside(effects: Sequence[float], bound: float) -> float:
    """Two-sided p that the mean lies beyond -bound or bound.

    Below 0.05 exactly if the 95 % interval lies wholly outside.
    """
    return min(1.0, 2 * min(p_above(effects, bound), p_below(effects, -bound)))


def outcome(effects: Sequence[float], bound: float) -> str:
    """Whether the mean is equivalent to nothing, differs from it, or neither; `outcomes`.

    The same decision as `estimate.outcome`, for a bound in the unit of the effects.
    """
    found = estimate.estimate(effects)
    if found.interval95 is None:
        return outcomes.TOO_FEW_BLOCKS
    if p_within(effects, bound) < estimate.ALPHA:
        return outcomes.EQUIVALENT
    low, high = found.interval95
    return outcomes.DIFFERENT if low > bound or high < -bound else outcomes.INCONCLUSIVE
