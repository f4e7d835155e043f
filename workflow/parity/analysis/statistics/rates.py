"""Means of rates, and ratios of means."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from parity.analysis.statistics import checks


@dataclass(frozen=True)
class RatioOfMeans:
    """A ratio of two arithmetic means.

    Attributes:
        ratio: first mean over second mean.
        low, high: ends of the interval; -inf and inf if the second mean is not
            distinguishable from zero, so that no bounded interval exists.
    """

    ratio: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether both ends are numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def harmonic_mean(rates: Iterable[float], work: Iterable[float] | None = None) -> float:
    """The mean of rates that gives total work over total time, in the rates' unit.

    Rates of equal work have the harmonic mean (Smith, CACM 1988; Hoefler & Belli, SC15,
    rule 3); the arithmetic mean would be that of runs of equal time.

    Args:
        rates: above zero.
        work: what each run did, above zero, as its weight; None if all did the same.
    """
    values = checks.positive(rates, 1, "rates")
    weights = None if work is None else checks.positive(work, 1, "work")
    if weights is not None and len(weights) != len(values):
        raise ValueError(f"{len(values)} rates and {len(weights)} amounts of work")
    return float(stats.hmean(values, weights=weights))


def fieller_interval(
    first: Iterable[float],
    second: Iterable[float],
    confidence: float = 0.95,
    paired: bool = True,
) -> RatioOfMeans:
    """Interval of the ratio of two means (Fieller, J. R. Stat. Soc. B 1954).

    It holds every ratio r at which a t test does not reject mean(first) = r mean(second).
    Kalibera & Jones (Univ. of Kent TR 4-12, arXiv 2007.10899) give it for two systems.

    Args:
        first, second: values, at least 2 each; as many of both if paired.
        confidence: between 0 and 1.
        paired: whether values of one position belong together (same block). If not,
            the arms are independent with one variance and n + m - 2 degrees of freedom.
    """
    checks.share(confidence=confidence)
    if paired:
        rows = checks.paired(first, second, 2)
        means, size = rows.mean(axis=1), rows.shape[1]
        covariance, freedom = np.cov(rows) / size, size - 1
    else:
        rows = [checks.finite(first, 2, "first values"), checks.finite(second, 2, "second values")]
        means, sizes = np.array([row.mean() for row in rows]), [len(row) for row in rows]
        freedom = sum(sizes) - 2
        variance = sum(((row - row.mean()) ** 2).sum() for row in rows) / freedom
        covariance = np.diag([variance / size for size in sizes])
    return _fieller(means, covariance, float(stats.t.ppf((1 + confidence) / 2, freedom)))


def _fieller(means: np.ndarray, covariance: np.ndarray, quantile: float) -> RatioOfMeans:
    """Roots of (a - r b)^2 = t^2 Var(a - r b), a quadratic in r."""
    if means[1] == 0:
        raise ValueError("the second mean is zero: there is no ratio")
    ratio, square = float(means[0] / means[1]), quantile**2
    lead = means[1] ** 2 - square * covariance[1, 1]
    if lead <= 0:
        return RatioOfMeans(ratio, -math.inf, math.inf)
    middle = means[0] * means[1] - square * covariance[0, 1]
    last = means[0] ** 2 - square * covariance[0, 0]
    # Not negative while lead is positive, but for rounding.
    half = math.sqrt(max(middle**2 - lead * last, 0.0)) / lead
    return RatioOfMeans(ratio, float(middle / lead - half), float(middle / lead + half))
