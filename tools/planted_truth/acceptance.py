"""What is promised, what was observed, and whether the one agrees with the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

# Some 150 promises are checked at once; with 95 % several would look broken every time.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Observed:
    """An estimate from so many replicates, with its 99 % Monte-Carlo interval."""

    replicates: int
    value: float
    low: float
    high: float


def share(successes: int, replicates: int) -> Observed:
    """A share with the exact interval of Clopper & Pearson, Biometrika 1934.

    Raises:
        ValueError: there are no replicates, so nothing was observed.
    """
    if replicates < 1:
        raise ValueError("a share of nothing")
    low, high = proportion_confint(successes, replicates, 1 - CONFIDENCE, method="beta")
    return Observed(replicates, successes / replicates, float(low), float(high))


def mean(values: ArrayLike) -> Observed:
    """A mean with its t interval, of at least two values."""
    numbers = np.asarray(values, dtype=float)
    centre = float(numbers.mean())
    low, high = stats.t.interval(CONFIDENCE, len(numbers) - 1, centre, stats.sem(numbers))
    return Observed(len(numbers), centre, float(low), float(high))


@dataclass(frozen=True)
class Promise:
    """A range that the truth is promised to lie in.

    A promise is refuted if the whole Monte-Carlo interval lies outside of its range. It
    holds if, more than that, the whole interval lies inside the range widened by `slack`:
    that not enough replicates were made to refute it is no reason to believe it. A rate
    that may be exactly at its limit needs a slack; others need none.

    Attributes:
        text: the promise in words.
        low, high: the range.
        slack: what an interval may reach beyond it for want of replicates.
        is_kept: whether it is promised at all; what is not controlled is only shown.
    """

    text: str
    low: float
    high: float
    slack: float = 0.0
    is_kept: bool = True

    def refuted_by(self, observed: Observed) -> bool:
        """Whether the promise is certainly broken."""
        return observed.high < self.low or observed.low > self.high

    def holds_for(self, observed: Observed) -> bool:
        """Whether the promise is kept, and was seen to be by enough replicates."""
        inside = self.low - self.slack <= observed.low and observed.high <= self.high + self.slack
        return inside and not self.refuted_by(observed)


def at_most(limit: float, slack: float = 0.02) -> Promise:
    """A rate that must not exceed a limit, at which it may lie exactly."""
    return Promise(f"≤ {100 * limit:.3g} %", 0.0, limit, slack)


def never(slack: float = 0.01) -> Promise:
    """Something that must not happen even once."""
    return Promise("none", 0.0, 0.0, slack)


def not_controlled() -> Promise:
    """Something that is known to happen, and how often."""
    return Promise("not controlled", 0.0, 1.0, is_kept=False)


def at_least(limit: float, slack: float = 0.005) -> Promise:
    """A rate that must not fall below a limit."""
    return Promise(f"≥ {100 * limit:.3g} %", limit, 1.0, slack)


def unbiased(within: float, slack: float = 0.0) -> Promise:
    """A mean error of at most so much to either side."""
    return Promise(f"0 ± {100 * within:.3g} %", -within, within, slack)
