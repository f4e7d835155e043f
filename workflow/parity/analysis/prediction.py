"""What one set of blocks lets one expect of another: differences, predictions, counts.

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


def difference_interval(fresh: Effects, archived: Effects) -> Interval:
    """Welch's 95 % t interval of the mean of `fresh` minus the mean of `archived`.

    The variances may differ, as those of two machines do (Welch, Biometrika 34, 1947;
    degrees of freedom after Satterthwaite). Without any variance it has no width.

    Raises:
        ValueError: one side has fewer than two effects.
    """
    one, other = checks.finite(fresh, 2, "effects"), checks.finite(archived, 2, "effects")
    if np.ptp(one) == np.ptp(other) == 0:
        return float(one[0] - other[0]), float(one[0] - other[0])
    low, high = stats.ttest_ind(one, other, equal_var=False).confidence_interval(CONFIDENCE)
    return float(low), float(high)


def prediction_interval(archived: Effects, blocks: int) -> Interval:
    """Where the mean of that many new effects is expected at 95 %, if nothing has changed.

    m ± t(n - 1) s sqrt(1/n + 1/blocks), with mean m and standard deviation s of the n
    archived effects (Spence & Stanley, PLoS ONE 11(9), 2016, e0162874; Hahn, J. Am. Stat.
    Assoc. 64, 1969). Patil, Peng & Leek (Perspect. Psychol. Sci. 11, 2016) ask the same of
    replications, of correlations instead of means. It covers as promised if new effects are
    normal and scatter as the archived ones do.

    Raises:
        ValueError: fewer than two archived effects, or no new one.
    """
    values = checks.finite(archived, 2, "effects")
    if blocks < 1:
        raise ValueError("a prediction is of at least one block")
    deviation = float(values.std(ddof=1)) * math.sqrt(1 / len(values) + 1 / blocks)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * deviation
    return float(values.mean()) - half, float(values.mean()) + half


def count_range(groups: Sequence[int], correlation: float = 0.0) -> tuple[int, int]:
    """How many predictions at 95 % come true in 95 of 100 repetitions.

    Without correlation this is the binomial distribution's central range. With it, the
    predictions of a group follow one common normal factor; given that factor they are
    independent, and their number is a mixture of binomial ones.

    Args:
        groups: how many predictions each group holds.
        correlation: of any two prediction errors of a group.
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
