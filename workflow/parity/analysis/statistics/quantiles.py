"""Intervals of quantiles from order statistics, which assume no distribution.

Tail quantiles are what noise studies are about, and what a mean's interval says nothing
about (Georges et al., OOPSLA 2007; Maricq et al., OSDI 2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from parity.analysis.statistics import checks


@dataclass(frozen=True)
class QuantileInterval:
    """A quantile and its interval, in the unit of the values.

    Attributes:
        estimate: the sample quantile (linear interpolation).
        low, high: order statistics; -inf or inf where the values are too few for a bound.
    """

    estimate: float
    low: float
    high: float


def order_statistic_interval(
    values: Iterable[float], quantile: float, confidence: float = 0.95
) -> QuantileInterval:
    """The interval between two order statistics that leaves at most half the error on each side.

    The number of values below the quantile is binomial whatever their distribution
    (Thompson 1936; Conover, Practical Nonparametric Statistics, 1999, sec. 3.2), by scipy.
    Exact for independent values of a continuous distribution, conservative with ties.

    Args:
        values: at least one.
        quantile: between 0 and 1.
        confidence: between 0 and 1; the interval covers at least as often.
    """
    sample = checks.finite(values, 1)
    checks.share(quantile=quantile, confidence=confidence)
    ends: Any = stats.quantile_test(sample, p=quantile).confidence_interval(confidence)
    return QuantileInterval(
        estimate=float(np.quantile(sample, quantile)),
        low=-math.inf if math.isnan(ends.low) else float(ends.low),
        high=math.inf if math.isnan(ends.high) else float(ends.high),
    )


def ranks_of_interval(
    count: int, quantile: float, confidence: float = 0.95
) -> tuple[int | None, int | None]:
    """The same interval as ranks from 1, for values that are sorted already and may be millions.

    Returns:
        None where the values are too few for a bound.
    """
    checks.share(quantile=quantile, confidence=confidence)
    error = (1 - confidence) / 2
    low = int(stats.binom.ppf(error, count, quantile))
    high = int(stats.binom.ppf(1 - error, count, quantile)) + 1
    return low if low > 0 else None, high if high <= count else None


def values_needed(quantile: float, confidence: float = 0.95) -> int:
    """Fewest values for which `order_statistic_interval` has two ends.

    The outer order statistics do so once both q^n and (1-q)^n are within half the error.
    """
    checks.share(quantile=quantile, confidence=confidence)
    error = (1 - confidence) / 2
    return max(math.ceil(math.log(error) / math.log(share)) for share in (quantile, 1 - quantile))


def quantile_ratio_interval(
    first: Iterable[float], second: Iterable[float], quantile: float, confidence: float = 0.95
) -> QuantileInterval:
    """Quantile of the first over that of the second, for positive, independent values.

    From two order-statistic intervals that each may err half as often (Bonferroni), so it
    is conservative: the price of assuming nothing.
    """
    samples = [checks.positive(first, 1, "first values"), checks.positive(second, 1, "second")]
    checks.share(confidence=confidence)
    above, under = (
        order_statistic_interval(sample, quantile, (1 + confidence) / 2) for sample in samples
    )
    return QuantileInterval(
        estimate=above.estimate / under.estimate,
        low=max(above.low, 0.0) / under.high,
        high=above.high / under.low if under.low > 0 else math.inf,
    )


def p_quantiles_apart(
    first: Iterable[float], second: Iterable[float], quantile: float, margin: float
) -> float:
    """P of the test that `quantile_ratio_interval` inverts: the ratio lies outside of a margin.

    Args:
        margin: the ratio may lie between 1 / (1 + margin) and this.
    """
    one, other = (np.sort(checks.positive(each, 1)) for each in (first, second))
    return min(
        1.0,
        _p_above(one, (1 + margin) * other, quantile),
        _p_above(other, (1 + margin) * one, quantile),
    )


def _p_above(high: np.ndarray, low: np.ndarray, quantile: float) -> float:
    """Four times the larger error of the best two bounds that are apart: two sides, two samples."""
    below = np.searchsorted(low, high)
    of_high = stats.binom.cdf(np.arange(len(high)), len(high), quantile)
    of_low = stats.binom.sf(below - 1, len(low), quantile)
    return 4 * float(np.maximum(of_high, of_low).min())
