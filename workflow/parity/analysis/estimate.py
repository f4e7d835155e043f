"""Paired estimates: the typical effect of blocks, how sure it is, and runs that lie far off.

Effects of one comparison are one number per block, in the order of time; for a ratio a logarithm,
so that a ratio and its inverse agree. The block is the sampling unit (Kalibera & Jones, ISMM 2013):
pairing inside it removes what slows a whole block alike. An arm is held against each of several
references, whose effects are rows: against their mean, which scatters otherwise than one run does,
effects of equal arms are not symmetrical, and no exact test holds. Bounds are in the unit of the
effects.

`Typical` decides. Where units lie far off, Student's mean is asked, too: it is what they move.
Quantiles are those of scipy.special: scipy.stats gives the same numbers in ten times the time,
and takes longer to load than most analyses last.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from scipy import special

ALPHA = 0.05
# Of fewer effects the serial correlation is not estimated. Its standard error is above 0.22 then:
# widening by it would lose a sixth of the power, and by skewness and ranks AR(0.2) stays at 6 %.
FEWEST_IN_A_ROW = 20
MOST_COUNTED = 1000  # Of more effects sums of ranks are not counted, nor all means of two made.
# A unit lies far off beyond so many robust deviations, which are medians of distances times NORMAL.
FAR, NORMAL = 3.0, 1.4826
Interval = tuple[float, float]
Effects = Sequence[float] | Sequence[np.ndarray] | np.ndarray


@dataclass(frozen=True)
class Mean:
    """A mean and how sure it is."""

    value: float
    error: float  # its standard error; 0 if the effects are identical: p is then 0 or 1
    freedom: float  # degrees of freedom of that
    skew: float = 0.0  # skewness of the mean: that of the effects over the root of their number

    def interval(self, confidence: float) -> Interval:
        """The two-sided interval, each end the farther one of Student's and the skewed one."""
        t = float(special.stdtrit(self.freedom, (1 + confidence) / 2))
        low, high = max(t, self._unskewed(t)), min(-t, self._unskewed(-t))
        return self.value - self.error * low, self.value - self.error * high

    def _unskewed(self, t: float) -> float:
        """The t whose transform by Hall's cubic is this one (J. R. Stat. Soc. B 1992)."""
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
    error, skew = plain.error * math.sqrt(count / left), _skewness(values) / math.sqrt(left)
    return Mean(plain.value, error, left - 1, skew)


def _skewness(values: np.ndarray) -> float:
    """Fisher and Pearson's, adjusted for its bias; a tenth of the time that scipy.stats takes."""
    count, around = len(values), values - values.mean()
    spread = float(np.mean(around**2)) ** 1.5
    adjusted = math.sqrt(count * (count - 1)) / (count - 2)
    return float(adjusted * np.mean(around**3) / spread)


def _inflation(values: np.ndarray) -> float:
    """What serial correlation multiplies the variance of the mean by; two effects are left."""
    count = len(values)
    if count < FEWEST_IN_A_ROW or np.ptp(values) == 0:
        return 1.0
    around = values - values.mean()
    lag1 = max(0.0, float(around[1:] @ around[:-1] / (around @ around)) + 1 / count)
    return float(min((1 + lag1) / (1 - lag1), count / 2)) if lag1 < 1 else count / 2


@dataclass(frozen=True)
class Typical:
    """The typical effect: the centre of what blocks show, whatever a few of them do.

    The median of all means of two effects, each with itself included (Hodges & Lehmann, Ann. Math.
    Stat. 1963), with the interval and p of the exact signed-rank test (Tukey's counting: Hollander,
    Wolfe & Chicken, Nonparametric Statistical Methods, 2014, section 3.3). It needs effects that
    are symmetrical, as differences of runs that may be exchanged are, and no normal law. Ties make
    it too wide rather than too narrow. Of several references each has to agree: the estimate is the
    mean of theirs, an end of the interval the farther one, a p the larger one.
    """

    rows: np.ndarray  # effects, shape (references, units)
    widened: float  # what serial correlation multiplies deviations by (`_inflation`)

    @cached_property
    def centres(self) -> np.ndarray:
        """The estimate against each reference."""
        averages = self.rows.shape[1] * (self.rows.shape[1] + 1) // 2
        both = ((averages - 1) // 2, averages // 2)
        return np.array([np.mean([row.average(place) for place in both]) for row in self._averages])

    @property
    def value(self) -> float:
        """The estimate."""
        return float(self.centres.mean())

    def interval(self, confidence: float) -> Interval:
        """The two-sided interval; the whole line below 5 effects at 90 %, or below 6 at 95 %."""
        tail = (1 - confidence) / 2
        if self.widened != 1:
            tail = float(special.ndtr(special.ndtri(tail) * self.widened))
        if (left_out := _left_out(self.rows.shape[1], tail)) == 0:
            return -math.inf, math.inf
        low = min(row.average(left_out - 1) for row in self._averages)
        return low, max(row.average(row.number - left_out) for row in self._averages)

    def p_above(self, bound: float) -> float:
        """One-sided p that the typical effect exceeds the bound."""
        return self._p(max(row.up_to(bound) for row in self._averages))

    def p_below(self, bound: float) -> float:
        """One-sided p that it lies below the bound."""
        return self._p(max(row.number - row.up_to(bound, "left") for row in self._averages))

    def p_within(self, bound: float) -> float:
        """P of two one-sided tests in ±bound (Schuirmann, J. Pharmacokinet. Biopharm. 1987)."""
        return max(self.p_above(-bound), self.p_below(bound))

    def p_outside(self, bound: float) -> float:
        """Two-sided p that it lies beyond -bound or bound."""
        return min(1.0, 2 * min(self.p_above(bound), self.p_below(-bound)))

    @cached_property
    def _averages(self) -> list["_Averages"]:
        return [_Averages(np.sort(row)) for row in self.rows]

    def _p(self, against: int) -> float:
        p = _p_of_ranks(self.rows.shape[1], against)
        return p if self.widened == 1 else float(special.ndtr(special.ndtri(p) / self.widened))


def typical(effects: Effects) -> Typical:
    """The typical effect of at least one unit; shape (units,) or (references, units).

    Serial correlation widens it as `mean_of`, by the ranks of the effects: spikes hide none.
    """
    rows = np.atleast_2d(np.asarray(effects, dtype=float))
    ranks = pd.DataFrame(rows).rank(axis=1).to_numpy()
    return Typical(rows, math.sqrt(max(map(_inflation, ranks))))


class Spikes(NamedTuple):
    """Units in which the arm lies far from the typical effect, whatever the reference."""

    above: int  # in how many it lies farther off than the distance
    below: int
    highest: float  # the farthest above, from the typical effect; 0 where there is none
    rate: Interval  # share of units that lie above, by Clopper and Pearson's 95 % interval (1934)


def spikes(centre: Typical, distance: float) -> Spikes:
    """The units that lie farther off than a distance, and than FAR deviations of the others.

    A run of one reference that lies far off leaves the arm near the others, and is none.
    `distance`: what is too near to matter, in the unit of the effects.
    """
    around = centre.rows - centre.centres[:, None]
    usual = NORMAL * np.median(np.abs(around), axis=1, keepdims=True)
    far = np.maximum(distance, FAR * usual)
    above, below = (around > far).all(axis=0), (around < -far).all(axis=0)
    highest = float(around.mean(axis=0)[above].max(initial=0.0))
    count, others, tail = int(above.sum()), int((~above).sum()), (1 - 0.95) / 2
    low = float(special.betaincinv(count, others + 1, tail)) if count else 0.0
    high = float(special.betainccinv(count + 1, others, tail)) if others else 1.0
    return Spikes(count, int(below.sum()), highest, (low, high))


@dataclass(frozen=True)
class _Averages:
    """The means of two effects of one reference, each with itself included (Walsh's), in order.

    Of many effects they are millions, and what is asked of them is found without making them all.
    """

    effects: np.ndarray  # in order

    @cached_property
    def number(self) -> int:
        return len(self.effects) * (len(self.effects) + 1) // 2

    @cached_property
    def _all(self) -> np.ndarray:
        sums = np.add.outer(self.effects, self.effects)
        return np.sort(sums[_halves(len(self.effects))] / 2)

    def up_to(self, bound: float, side: Literal["left", "right"] = "right") -> int:
        """How many do not exceed the bound; how many lie below it with `left`."""
        if len(self.effects) <= MOST_COUNTED:
            return int(np.searchsorted(self._all, bound, side))
        return int((self._ends(bound, side) - np.arange(len(self.effects))).sum())

    def _ends(self, bound: float, side: Literal["left", "right"] = "right") -> np.ndarray:
        """Of each effect the first behind itself whose mean with it exceeds the bound."""
        ends = np.searchsorted(self.effects, 2 * bound - self.effects, side)
        return np.maximum(ends, np.arange(len(ends)))

    def average(self, place: int) -> float:
        """The one at a place, from 0: of many by halving where it lies, until few are left."""
        count = len(self.effects)
        if count <= MOST_COUNTED:
            return float(self._all[place])
        low, high = np.nextafter(self.effects[0], -math.inf), self.effects[-1]
        before, until = 0, self.number
        while until - before > 4 * count:
            middle = (low + high) / 2
            if not low < middle < high:
                return float(high) + 0.0
            if (there := self.up_to(middle)) <= place:
                low, before = middle, there
            else:
                high, until = middle, there
        begin, left = self._ends(low), self._ends(high) - self._ends(low)
        first = np.repeat(np.arange(count), left)
        other = np.arange(until - before) + np.repeat(begin - (np.cumsum(left) - left), left)
        between = (self.effects[first] + self.effects[other]) / 2
        return float(np.partition(between, place - before)[place - before])


@lru_cache(maxsize=16)
def _halves(count: int) -> np.ndarray:
    return np.tri(count, dtype=bool)


def _left_out(count: int, tail: float) -> int:
    """How many averages lie outside of the interval at each end: as sums of ranks in that tail."""
    sums = range(count * (count + 1) // 2 + 1)
    return bisect_right(sums, tail, key=lambda against: _p_of_ranks(count, against))


def _p_of_ranks(count: int, most: int) -> float:
    """The probability of a sum of positive ranks up to a number, if no sign is likelier.

    The time of counting them grows as the cube of the count, and the normal law that they come to
    moves 13 averages of 500,500 at 1000 effects.
    """
    if count <= MOST_COUNTED:
        return float(_rank_law(count)[most])
    mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
    return float(special.ndtr((most + 0.5 - mean) / math.sqrt(variance)))


@lru_cache
def _rank_law(count: int) -> np.ndarray:
    """The same of all sums: each rank in turn is added with probability one half."""
    law = np.zeros(count * (count + 1) // 2 + 1)
    law[0] = 1.0
    for rank in range(1, count + 1):
        law = (law + np.concatenate([np.zeros(rank), law[:-rank]])) / 2
    # Added up they come to more than one by rounding, of 60 ranks for one.
    return np.minimum(np.cumsum(law), 1.0)


def welch_interval(one: Effects, other: Effects, confidence: float = 0.95) -> Interval:
    """Welch's t interval of the mean of `one` minus the mean of `other`, at least two of each.

    It takes the variance of either from its own effects: those of two machines differ (Welch,
    Biometrika 34, 1947; degrees of freedom after Satterthwaite). Without any it has no width.
    """
    if np.ptp(one) == np.ptp(other) == 0:
        return float(one[0] - other[0]), float(one[0] - other[0])
    low, high = scipy.stats.ttest_ind(one, other, equal_var=False).confidence_interval(confidence)
    return float(low), float(high)
