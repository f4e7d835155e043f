"""Intervals of quantiles from order statistics, which assume no distribution.

Tail quantiles are what noise studies are about, and what a mean's interval says nothing
about (Georges et al., OOPSLA 2007; Maricq et al., OSDI 2018).
"""

from __future__ import annotations

from scipy import stats

from parity.analysis.statistics import checks


def ranks_of_interval(
    count: int, quantile: float, confidence: float = 0.95
) -> tuple[int | None, int | None]:
    """The order statistics, as ranks from 1, that leave at most half the error on each side.

    The number of values below the quantile is binomial whatever their distribution
    (Thompson 1936; Conover, Practical Nonparametric Statistics, 1999, sec. 3.2). Exact for
    independent values of a continuous distribution, conservative with ties.

    Returns:
        None where the values are too few for a bound.
    """
    checks.share(quantile=quantile, confidence=confidence)
    error = (1 - confidence) / 2
    low = int(stats.binom.ppf(error, count, quantile))
    high = int(stats.binom.ppf(1 - error, count, quantile)) + 1
    return low if low > 0 else None, high if high <= count else None
