"""Bootstrap intervals: for medians, quantiles and whatever has no formula.

The resampled unit is what the caller passes as one value: a block, never a run inside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from parity.analysis.statistics import checks

RESAMPLES = 9999


@dataclass(frozen=True)
class BootstrapInterval:
    """A statistic and its interval.

    Attributes:
        estimate: the statistic of the values themselves.
        low, high: ends of the interval, in the statistic's unit.
        method: BCa; or percentile, where the acceleration or bias of BCa is not defined.
        values: number of values, or of pairs.
    """

    estimate: float
    low: float
    high: float
    method: str
    values: int


def bca_interval(
    values: Iterable[float],
    statistic: Callable[..., float],
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> BootstrapInterval:
    """Bias-corrected and accelerated interval of a statistic (Efron, JASA 1987), by scipy.

    Args:
        values: one per block, at least 2. Below ten, any bootstrap interval is too narrow.
        statistic: of one array; much faster if it takes `axis`, as numpy's do.
        confidence: between 0 and 1.
        seed: of the resampling; the same seed gives the same interval.
        resamples: number of bootstrap samples.

    Raises:
        ValueError: too few values, or values or a statistic that are no finite numbers.
    """
    sample = checks.finite(values, 2)
    return _bootstrap((sample,), statistic, confidence, seed, resamples)


def paired_bca(
    first: Iterable[float],
    second: Iterable[float],
    statistic: Callable[..., float],
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> BootstrapInterval:
    """The same for a statistic of two arms, whose values are drawn together, block by block.

    Args:
        first, second: the values of the two arms in the same blocks, at least 2.
        statistic: of two arrays, such as `ratio_of_medians`.
        confidence, seed, resamples: as in `bca_interval`.
    """
    rows = checks.paired(first, second, 2)
    return _bootstrap((rows[0], rows[1]), statistic, confidence, seed, resamples)


def ratio_of_medians(first: np.ndarray, second: np.ndarray, axis: int = -1) -> np.ndarray:
    """Median of the first over the median of the second."""
    return np.asarray(np.median(first, axis=axis) / np.median(second, axis=axis))


def quantile_of(quantile: float) -> Callable[..., np.ndarray]:
    """The sample quantile as a statistic for `bca_interval`; `quantile` between 0 and 1."""
    checks.share(quantile=quantile)

    def statistic(values: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.quantile(values, quantile, axis=axis))

    return statistic


def _bootstrap(
    data: tuple[np.ndarray, ...],
    statistic: Callable[..., float],
    confidence: float,
    seed: int,
    resamples: int,
) -> BootstrapInterval:
    """BCa where it is defined, else percentile; no width if no resample can differ."""
    checks.share(confidence=confidence)
    checks.count(1, resamples=resamples)
    estimate = float(statistic(*data))
    if not np.isfinite(estimate):
        raise ValueError("the statistic of the values is no finite number")
    if all(np.ptp(sample) == 0 for sample in data):
        return BootstrapInterval(estimate, estimate, estimate, "BCa", len(data[0]))
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            # A degenerate BCa interval is seen below, by its ends.
            warnings.simplefilter("ignore")
            found = stats.bootstrap(
                data,
                statistic,
                n_resamples=resamples,
                paired=len(data) > 1,
                confidence_level=confidence,
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        low, high = float(found.low), float(found.high)
        if np.isfinite([low, high]).all():
            return BootstrapInterval(estimate, low, high, method, len(data[0]))
    raise ValueError("the statistic is no finite number on resampled values")
