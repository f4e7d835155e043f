"""Paired estimates: the mean of per-block effects, its intervals, and its tests.

All functions take the effects of one comparison, one number per block, in the order of time. For
a ratio the effect is a logarithm, so the mean is the log of a geometric mean, which is the only
mean under which a ratio and its inverse agree (Fleming & Wallace, CACM 1986). The block is the
sampling unit (Kalibera & Jones, ISMM 2013): pairing inside it removes what slows a whole block
alike. What comes and goes within a block stays, and widens the interval. A bound is in the unit
of the effects.

Student's t takes blocks for independent and their mean for normal. It is widened where they are
not: by serial correlation, and on the side to which the effects are skewed (`mean_of`). It is
never narrowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

ALPHA = 0.05
# Of fewer effects the serial correlation is not estimated. Its standard error is above 0.22 then:
# widening by it would lose a sixth of the power, and by skewness and ranks AR(0.2) stays at 6 %.
FEWEST_IN_A_ROW = 20
# Of more effects the sums of ranks are not counted.
MOST_COUNTED = 1000
Interval = tuple[float, float]
Effects = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Mean:
    """A mean and how sure it is.

    Attributes:
        error: its standard error; 0 if the effects are identical, which leaves nothing to
            test against: p is then 0 or 1.
        freedom: degrees of freedom of that.
        skew: skewness of the mean: that of the effects over the root of their number.
    """

    value: float
    error: float
    freedom: float
    skew: float = 0.0

    def interval(self, confidence: float) -> Interval:
        """The two-sided interval, each end the farther one of Student's and the skewed one."""
        t = float(stats.t.ppf((1 + confidence) / 2, self.freedom))
        low, high = max(t, self._unskewed(t)), min(-t, self._unskewed(-t))
        return self.value - self.error * low, self.value - self.error * high

    def p_above(self, bound: float) -> float:
        """One-sided p that the mean exceeds the bound."""
        if self.error == 0:
            return 0.0 if self.value > bound else 1.0
        t = (self.value - bound) / self.error
        cube = t + self.skew * t**2 / 3 + self.skew**2 * t**3 / 27 + self.skew / 6
        return float(stats.t.sf(min(t, cube), self.freedom))

    def p_below(self, bound: float) -> float:
        """One-sided p that the mean lies below the bound."""
        return Mean(-self.value, self.error, self.freedom, -self.skew).p_above(-bound)

    def p_within(self, bound: float) -> float:
        """P of two one-sided tests that the mean lies within (-bound, bound).

        Schuirmann, J. Pharmacokinet. Biopharm. 1987. Bounds of log ratios are symmetric, so
        cost and gain are held to the same standard.
        """
        return max(self.p_above(-bound), self.p_below(bound))

    def _unskewed(self, t: float) -> float:
        """The t whose transform by Hall's cubic, as in `p_above`, is this one."""
        if abs(self.skew) < 1e-9:
            return t
        return 3 / self.skew * (float(np.cbrt(1 + self.skew * (t - self.skew / 6))) - 1)


def student(effects: Effects) -> Mean:
    """The mean of at least two effects that are independent and normal (Student, 1908)."""
    values = np.asarray(effects, dtype=float)
    error = 0.0 if np.ptp(values) == 0 else float(values.std(ddof=1)) / math.sqrt(len(values))
    return Mean(float(values.mean()), error, len(values) - 1)


def mean_of(effects: Effects) -> Mean:
    """The mean of at least two effects, as sure as their order and their shape let it be.

    Serial correlation leaves n (1 - r) / (1 + r) independent effects of n (Bayley & Hammersley,
    J. R. Stat. Soc. Suppl. 1946), where r is the lag-1 correlation, plus 1/n for its bias
    (Kendall, Biometrika 1954), and not below zero. Skewness shifts t by Hall's cubic transform
    (J. R. Stat. Soc. B 1992). What no block shows can widen nothing: of n blocks, spikes rarer
    than 3/n may all go unseen (Hanley & Lippman-Hand, JAMA 1983).
    """
    values, plain = np.asarray(effects, dtype=float), student(effects)
    count = len(values)
    if plain.error == 0 or count < 3:
        return plain
    left = count / _inflation(values)
    return Mean(
        value=plain.value,
        error=plain.error * math.sqrt(count / left),
        freedom=left - 1,
        skew=_skewness(values) / math.sqrt(left),
    )


def _skewness(values: np.ndarray) -> float:
    """Fisher and Pearson's, adjusted for its bias; a tenth of the time that scipy.stats takes."""
    count, around = len(values), values - values.mean()
    spread = float(np.mean(around**2)) ** 1.5
    adjusted = math.sqrt(count * (count - 1)) / (count - 2)
    return float(adjusted * np.mean(around**3) / spread)


def _inflation(values: np.ndarray) -> float:
    """What serial correlation multiplies the variance of the mean by; two effects are left."""
    count = len(values)
    if count < FEWEST_IN_A_ROW:
        return 1.0
    around = values - values.mean()
    lag1 = max(0.0, float(around[1:] @ around[:-1] / (around @ around)) + 1 / count)
    return float(min((1 + lag1) / (1 - lag1), count / 2)) if lag1 < 1 else count / 2


def p_outside(effects: Effects, bound: float) -> float:
    """Two-sided p that the mean lies beyond -bound or bound.

    Below 0.05 exactly if the 95 % interval lies wholly outside.
    """
    mean = mean_of(effects)
    return min(1.0, 2 * min(mean.p_above(bound), mean.p_below(-bound)))


def rank_estimate(effects: Effects) -> float:
    """The median of all means of two effects, each with itself included.

    Hodges & Lehmann, Ann. Math. Stat. 1963: the centre of symmetric effects, moved little by
    a few that lie far off.
    """
    averages = _walsh_averages(tuple(effects))
    return float(averages[(len(averages) - 1) // 2 : len(averages) // 2 + 1].mean())


def rank_interval(effects: Effects, confidence: float) -> Interval:
    """The interval of that centre by inverting the exact signed-rank test.

    Tukey's counting of Walsh averages (Hollander, Wolfe & Chicken, Nonparametric Statistical
    Methods, 2014, section 3.3). The test flips the signs of the effects' ranks in all ways, so
    it needs symmetry and no normal law. Ties make it too wide rather than too narrow. Below
    5 effects at 90 %, and below 6 at 95 %, no sign-flip test can reject: the whole line.
    """
    averages = _walsh_averages(tuple(effects))
    left_out = _averages_left_out(len(effects), (1 - confidence) / 2)
    if left_out == 0:
        return -math.inf, math.inf
    return float(averages[left_out - 1]), float(averages[-left_out])


# The estimate and the intervals of one comparison follow each other, and sort most of the time.
@lru_cache(maxsize=1)
def _walsh_averages(effects: tuple[float, ...]) -> np.ndarray:
    values = np.asarray(effects, dtype=float)
    averages = np.concatenate([values[first:] + value for first, value in enumerate(values)])
    averages /= 2
    averages.sort()
    return averages


@lru_cache
def _averages_left_out(count: int, tail: float) -> int:
    """How many averages lie outside of the interval at each end: as sums of ranks in that tail.

    The sums are those of the ranks that are positive, if each sign is as likely as the other:
    each rank in turn is added with probability one half. The time of that grows as the cube of
    the count, and the normal law that they come to moves 13 averages of 500,500 at 1000 effects.
    """
    if count > MOST_COUNTED:
        mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
        return math.floor(stats.norm.ppf(tail, mean, math.sqrt(variance)) + 0.5)
    law = np.zeros(count * (count + 1) // 2 + 1)
    law[0] = 1.0
    for rank in range(1, count + 1):
        added = np.concatenate([np.zeros(rank), law[:-rank]])
        law = (law + added) / 2
    return int(np.searchsorted(np.cumsum(law), tail, side="right"))


def welch_interval(one: Effects, other: Effects, confidence: float = 0.95) -> Interval:
    """Welch's t interval of the mean of `one` minus the mean of `other`, at least two of each.

    It takes the variance of either from its own effects: those of two machines differ (Welch,
    Biometrika 34, 1947; degrees of freedom after Satterthwaite). Without any it has no width.
    """
    if np.ptp(one) == np.ptp(other) == 0:
        return float(one[0] - other[0]), float(one[0] - other[0])
    low, high = stats.ttest_ind(one, other, equal_var=False).confidence_interval(confidence)
    return float(low), float(high)
