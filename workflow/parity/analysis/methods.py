"""Methods of statistics: what functions ask of their arguments, Holm, bootstrap, scatter, trend."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy import special

# Of fewer units a bootstrap says too little of how much they differ.
FEWEST_UNITS, REPLICATES = 6, 500
PartialInterval = tuple[float | None, float | None]
NO_INTERVAL: PartialInterval = (None, None)
# Bonett's correction for small samples: the normal quantile of one-sided 95 %.
SMALL_SAMPLE = float(special.ndtri(0.95))
RISING, FALLING = "rising", "falling"


def finite(
    values: Iterable[float], at_least: int, name: str = "values", above: float = -math.inf
) -> np.ndarray:
    """The values as a vector of floats.

    Raises ValueError: they are fewer than `at_least`, or one is not finite, or not `above` a bound.
    """
    array = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=float)
    if array.ndim != 1 or len(array) < at_least:
        raise ValueError(f"{name}: at least {at_least} in one row, not of shape {array.shape}")
    if not (np.isfinite(array) & (array > above)).all():
        raise ValueError(f"{name} must be finite numbers above {above:g}")
    return array


def holm(p_values: Iterable[float]) -> tuple[float, ...]:
    """Adjusted p values in the given order (Holm, Scand. J. Statist. 1979).

    Below alpha they control the probability of any wrong rejection in the family, whatever the
    dependence. A claim that needs all its tests to pass is an intersection-union test and is not
    adjusted (Berger, Technometrics 1982). `p_values`: the family's p values; an empty family gives
    nothing. Raises ValueError: a p value is no number between 0 and 1.
    """
    values = finite(p_values, 0, "p values")
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p values must lie between 0 and 1")
    # statsmodels' function collects the garbage of the whole process in each call, which was half
    # the time of a judgement; a test holds this one to it.
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return tuple(np.minimum(stepped, 1)[np.argsort(order)].tolist())


def resampled(units: int) -> NDArray[np.float64]:
    """How often each unit is in each sample, shape (replicates, units); always the same."""
    often = np.random.default_rng(units).multinomial(units, [1 / units] * units, size=REPLICATES)
    return often.astype(np.float64)


def percentile_interval(replicates: NDArray[np.float64], units: int) -> PartialInterval:
    """The 95 % percentile interval of the bootstrap; none where units or numbers are too few."""
    found = replicates[~np.isnan(replicates)]
    if units < FEWEST_UNITS or len(found) < len(replicates) / 2:
        return NO_INTERVAL
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


class ScatterRatio(NamedTuple):
    """How much more the first scatters than the second, and the ends of the interval."""

    ratio: float
    low: float
    high: float


def without_block(logs: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Logs of two arms less what slows their whole blocks, as far as others tell.

    What a block does to all arms would hide how much each scatters by itself: a ratio of 2.2 looks
    like 1.3 where blocks scatter twice as much as runs. It is taken out by one regression of both
    arms' mean on the others' median (analysis of covariance, with one slope for both arms, so that
    arms that scatter alike still do). Where the others tell nothing, the slope is near zero.
    `logs`: shape (2, blocks). `shared`: median of the other arms' logs in each block; all alike if
    there are none.
    """
    common, others = (row - row.mean() for row in (logs.mean(axis=0), shared))
    power = float(others @ others)
    slope = float(common @ others) / power if power > 0 else 0.0
    return np.asarray(logs - slope * others)


def scatter_ratio(deviations: np.ndarray, confidence: float = 0.95) -> ScatterRatio:
    """Ratio of the mean absolute deviations from the median of two arms, and its interval.

    The paired form of Brown & Forsythe's test (JASA 1974): Student's t of the deviations'
    differences within blocks, inverted by Fieller's theorem. For laws of one shape the ratio is
    that of the standard deviations. A far value counts as far as it lies and not by its square, so
    long tails and spikes do not upset it, as they do Pitman's and Morgan's test of the variances.
    Without an upper end, `high` is infinite. `deviations`: of both arms, shape (2, units): of
    blocks, or means of several. `confidence`: between 0 and 1.
    """
    a, b = deviations
    error = special.stdtrit(len(a) - 1, (1 + confidence) / 2) ** 2 / len(a) * np.cov(a, b)
    # The ratios r for which (mean(a) - r mean(b))^2 is at most t^2 times its variance.
    squared = b.mean() ** 2 - error[1, 1]
    linear = a.mean() * b.mean() - error[0, 1]
    constant = a.mean() ** 2 - error[0, 0]
    ratio = float(a.mean() / b.mean())
    if squared <= 0:
        return ScatterRatio(ratio, 0.0, math.inf)
    root = math.sqrt(max(linear**2 - squared * constant, 0.0))
    low, high = (linear - root) / squared, (linear + root) / squared
    return ScatterRatio(ratio, max(float(low), 0.0), float(high))


def p_scatters_less(deviations: np.ndarray, factor: float = 1.0) -> float:
    """One-sided p of the same test that the first scatters `factor` times the second or more."""
    a, b = deviations
    differences = a - factor * b
    if np.ptp(differences) == 0:
        return 0.0 if differences[0] < 0 else 1.0
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    return float(special.stdtr(len(differences) - 1, differences.mean() / error))


def deviations_of(logs_a: Iterable[float], logs_b: Iterable[float]) -> np.ndarray:
    """Absolute deviations from medians, shape (2, blocks), of logs of 3 or more that vary."""
    rows = np.vstack([finite(logs_a, 3, "logs"), finite(logs_b, 3, "logs")])
    if (np.ptp(rows, axis=1) == 0).any():
        raise ValueError("logs that do not vary have no ratio of scatter")
    return np.asarray(np.abs(rows - np.median(rows, axis=1, keepdims=True)))


def cv_bound(values: Iterable[float], confidence: float) -> float:
    """One-sided upper bound of the coefficient of variation of positive values, a fraction.

    With s the deviation of the logs the coefficient is sqrt(exp(s^2) - 1). The bound of s^2 is
    Bonett's (Comput. Stat. Data Anal. 2006), which widens with the kurtosis of the sample;
    chi-square's assumes a normal law. Spikes that a sample does not hold cannot widen it. `values`:
    above zero, at least 5. `confidence`: between 0 and 1; below one half for a lower bound.
    """
    centre, error = _log_variance(values)
    return math.sqrt(math.expm1(math.exp(centre + float(special.ndtri(confidence)) * error)))


def p_cv_below(values: Iterable[float], bound: float) -> float:
    """One-sided p that the coefficient of variation is below a bound, by the same interval."""
    centre, error = _log_variance(values)
    reached = math.log(math.log1p(bound**2))
    if error == 0:
        return 0.0 if centre < reached else 1.0
    return float(special.ndtr((centre - reached) / error))


def _log_variance(values: Iterable[float]) -> tuple[float, float]:
    """Log of the variance of the values' logs, made larger for few of them, and its error."""
    logs = np.log(finite(values, 5, above=0))
    blocks, variance = len(logs), float(logs.var(ddof=1))
    if variance == 0:
        return -math.inf, 0.0
    around = logs - scipy.stats.trim_mean(logs, 1 / (2 * math.sqrt(blocks - 4)))
    kurtosis = blocks * float((around**4).sum()) / ((blocks - 1) * variance) ** 2
    error = math.sqrt(max(kurtosis - (blocks - 3) / blocks, 0.0) / (blocks - 1))
    widened = blocks / (blocks - SMALL_SAMPLE)
    return math.log(widened * variance), widened * error


def page_trend(table: pd.DataFrame, expect: str = RISING) -> float:
    """One-sided p of an order fixed in advance: small if values rise, or fall, within blocks.

    Page's test (JASA 1963), by scipy: exact for small tables without ties, else by the normal
    approximation. `expect`: rising or falling, fixed before the data. Raises ValueError: fewer than
    3 levels or 2 blocks that hold them all, or another expectation.
    """
    if expect not in (RISING, FALLING):
        raise ValueError(f"expect must be {RISING} or {FALLING}, not {expect}")
    values = table.sort_index(axis=1).dropna().to_numpy(dtype=float)
    blocks, levels = values.shape
    if levels < 3 or blocks < 2:
        raise ValueError(f"a trend needs 3 levels in 2 blocks, not {levels} in {blocks}")
    ranks = np.arange(1, levels + 1)[:: 1 if expect == RISING else -1]
    return float(scipy.stats.page_trend_test(values, predicted_ranks=ranks).pvalue)


def slopes_per_doubling(table: pd.DataFrame) -> np.ndarray:
    """Slope of the log ratio per doubling of the level, of each block that holds all, in order.

    Least squares on log2(level) inside each block; the block stays the sampling unit, so these
    slopes go into the paired tests like any other effect. `table`: logs; levels above zero, at
    least two of them.
    """
    levels = np.log2(finite(table.columns.to_numpy(), 2, "levels", above=0))
    steps = levels - levels.mean()
    products: np.ndarray = (table.dropna() * steps).sum(axis=1).to_numpy(dtype=float)
    return products / float((steps**2).sum())
