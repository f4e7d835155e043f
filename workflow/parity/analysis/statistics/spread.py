"""How much values scatter, and whether two arms scatter alike.

Spread is a variance of logarithms, so that it is relative, like a coefficient of variation.
Ratios of spread are ratios of variances: 4 means twice the standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from parity.analysis.statistics import checks


@dataclass(frozen=True)
class VarianceRatio:
    """Variance of the first over that of the second.

    Attributes:
        ratio: of the sample variances.
        low, high: ends of the interval.
        p_less: one-sided p that the first varies as much or more; small if it varies less.
    """

    ratio: float
    low: float
    high: float
    p_less: float


@dataclass(frozen=True)
class SpreadTest:
    """A test statistic and its p value."""

    statistic: float
    p: float


def paired_variance_ratio(
    logs_a: Iterable[float], logs_b: Iterable[float], confidence: float = 0.95
) -> VarianceRatio:
    """Ratio of the variances of two arms that share their blocks (Pitman; Morgan, 1939).

    Two variances are equal exactly if sum and difference do not correlate; the test of
    that correlation, inverted, gives the interval. What slows a whole block alike moves
    both arms together, and is allowed for.

    Args:
        logs_a, logs_b: log values of the same blocks, at least 3.
        confidence: between 0 and 1.
    """
    checks.share(confidence=confidence)
    rows = checks.paired(logs_a, logs_b, 3)
    a, b = _varying(rows[0], "first logs"), _varying(rows[1], "second logs")
    freedom = len(a) - 2
    ratio = float(a.var(ddof=1) / b.var(ddof=1))
    unshared = 1 - float(np.corrcoef(a, b)[0, 1]) ** 2
    if unshared < 1e-12:  # one is the other, scaled: the ratio is known exactly
        p_less = 0.0 if ratio < 1 else 1.0
        return VarianceRatio(ratio, ratio, ratio, p_less)
    quantile = stats.t.ppf((1 + confidence) / 2, freedom)
    middle = 1 + 2 * unshared * quantile**2 / freedom
    spread = math.sqrt(middle**2 - 1)
    statistic = (ratio - 1) * math.sqrt(freedom / (4 * ratio * unshared))
    return VarianceRatio(
        ratio=ratio,
        low=float(ratio * (middle - spread)),
        high=float(ratio * (middle + spread)),
        p_less=float(stats.t.cdf(statistic, freedom)),
    )


def cv_upper_bound(values: Iterable[float], confidence: float = 0.95) -> float:
    """Upper confidence bound of the coefficient of variation of positive values, a fraction.

    For log-normal values the coefficient is sqrt(exp(s^2) - 1) with s the deviation of the
    logs, so the chi-square bound of s^2 gives an exact one (Koopmans, Owen & Rosenblatt,
    Biometrika 1964). Identical values have the bound 0.

    Args:
        values: above zero, at least 2.
        confidence: one-sided, between 0 and 1.
    """
    checks.share(confidence=confidence)
    logs = np.log(checks.positive(values, 2))
    freedom = len(logs) - 1
    bound = freedom * logs.var(ddof=1) / stats.chi2.ppf(1 - confidence, freedom)
    return float(np.sqrt(np.expm1(bound)))


def brown_forsythe(samples: Sequence[Iterable[float]]) -> SpreadTest:
    """Whether the spreads of k samples differ, by deviations from the median.

    Brown & Forsythe (JASA 1974), by scipy. A large p is no proof of equal spread.

    Args:
        samples: at least two of at least 2 log values each, not all without spread.
    """
    arrays = _samples(samples)
    found = stats.levene(*arrays, center="median")
    return SpreadTest(float(found.statistic), float(found.pvalue))


def _varying(logs: Iterable[float], name: str) -> np.ndarray:
    values = checks.finite(logs, 2, name)
    if np.ptp(values) == 0:
        raise ValueError(f"{name} do not vary: there is no ratio of variances")
    return values


def _samples(samples: Sequence[Iterable[float]]) -> list[np.ndarray]:
    if len(samples) < 2:
        raise ValueError("at least two samples are needed")
    arrays = [checks.finite(sample, 2, "every sample") for sample in samples]
    if all(np.ptp(array) == 0 for array in arrays):
        raise ValueError("no sample varies: there is nothing to test")
    return arrays
