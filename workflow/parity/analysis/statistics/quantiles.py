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
