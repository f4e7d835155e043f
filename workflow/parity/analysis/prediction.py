"""What one set of blocks lets one expect of another: differences, and how many of them.

All functions take the effects of one comparison, one number per block; for a ratio the
effect is a logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from parity.analysis.estimate import Effects, Interval
from parity.analysis.statistics import checks

CONFIDENCE = 0.95
# Arms of a case are held against the same runs of the reference. With equal variances
# any two of such differences are correlated by one half.
SHARED_REFERENCE = 0.5


def difference_interval(
    fresh: Effects, archived: Effects, confidence: float = CONFIDENCE
) -> Interval:
    """Welch's t interval of the mean of `fresh` minus the mean of `archived`.

    It takes the variance of either side from its own effects: those of two machines differ
    (Welch, Biometrika 34, 1947; degrees of freedom after Satterthwaite). Without any
    variance it has no width.

    Raises:
        ValueError: one side has fewer than two effects.
    """
    one, other = checks.finite(fresh, 2, "effects"), checks.finite(archived, 2, "effects")
    if np.ptp(one) == np.ptp(other) == 0:
        return float(one[0] - other[0]), float(one[0] - other[0])
    low, high = stats.ttest_ind(one, other, equal_var=False).confidence_interval(confidence)
    return float(low), float(high)


def count_range(groups: Sequence[int], correlation: float = 0.0) -> tuple[int, int]:
    """How many 95 % intervals hold the truth in 95 of 100 repetitions.

    Without correlation this is the binomial distribution's central range. With it, the
    errors of a group follow one common normal factor; given that factor they are
    independent, and their number is a mixture of binomial ones.

    Args:
        groups: how many intervals each group holds.
        correlation: of any two errors of a group.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    bound, own = stats.norm.ppf((1 + CONFIDENCE) / 2), math.sqrt(1 - correlation)
    common = math.sqrt(correlation) * nodes
    inside = stats.norm.cdf((bound - common) / own) - stats.norm.cdf((-bound - common) / own)
    counts = np.ones(1)
    for size in groups:
        of_group = weights @ stats.binom.pmf(np.arange(size + 1), size, inside[:, None])
        counts = np.convolve(counts, of_group)
    summed = np.cumsum(counts) / counts.sum()
    tail = (1 - CONFIDENCE) / 2
    return int(np.argmax(summed >= tail)), int(np.argmax(summed >= 1 - tail))
