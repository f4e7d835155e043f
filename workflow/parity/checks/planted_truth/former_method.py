"""What was concluded before: plain t, Pitman and Morgan's test, and no gate but the A/A pair.

Small reference functions, kept so that the report says what each change has changed. They take
the planted logs (replicates, levels, blocks, arms), NaN for lost runs, the A/A pair first and
then the arm that is claimed about, and say in which replicates it was concluded. Where a claim
is about several levels, it is concluded of all of them.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis.statistics.trend import RISING, page_trend

REFERENCE, DOUBLE, ARM = 0, 1, 2


def _interval(effects: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Student's t interval along the blocks, which are the last axis; lost ones are left out."""
    count = np.isfinite(effects).sum(axis=-1)
    centre, deviation = np.nanmean(effects, axis=-1), np.nanstd(effects, axis=-1, ddof=1)
    half = stats.t.ppf((1 + confidence) / 2, count - 1) * deviation / np.sqrt(count)
    return centre - half, centre + half


def _same(effects: np.ndarray, margin: float) -> np.ndarray:
    low, high = _interval(effects, 0.90)
    return (low > -math.log1p(margin)) & (high < math.log1p(margin))


def _apart(effects: np.ndarray, margin: float) -> np.ndarray:
    low, high = _interval(effects, 0.95)
    return (low > math.log1p(margin)) | (high < -math.log1p(margin))


def equivalent(logs: np.ndarray, margin: float) -> np.ndarray:
    """Two one-sided t tests, of the arm and of the A/A pair."""
    pair = _same(logs[..., DOUBLE] - logs[..., REFERENCE], margin)
    arm = _same(logs[..., ARM] - logs[..., REFERENCE], margin)
    return np.asarray((pair & arm).all(axis=1))


def different(logs: np.ndarray, margin: float) -> np.ndarray:
    """A 95 % t interval wholly outside the margin, and an A/A pair that is not."""
    pair = _apart(logs[..., DOUBLE] - logs[..., REFERENCE], margin)
    arm = _apart(logs[..., ARM] - logs[..., REFERENCE], margin)
    return np.asarray((arm & ~pair).any(axis=1))


def costs_more(logs: np.ndarray, smallest: float) -> np.ndarray:
    """One-sided t test against nothing, and an estimate beyond the smallest effect."""
    effects = logs[..., ARM] - logs[..., REFERENCE]
    low, high = _interval(effects, 0.90)
    beyond = (low + high) / 2 > math.log1p(smallest)
    pair = _apart(logs[..., DOUBLE] - logs[..., REFERENCE], smallest)
    return np.asarray(((low > 0) & beyond & ~pair).all(axis=1))


def _p_less(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """One-sided p of Pitman and Morgan (Biometrika 1939) that one varies less than the other."""
    total, gap = one + other, one - other
    total, gap = (each - each.mean(axis=-1, keepdims=True) for each in (total, gap))
    r = (total * gap).sum(axis=-1) / np.sqrt((total**2).sum(axis=-1) * (gap**2).sum(axis=-1))
    freedom = one.shape[-1] - 2
    return np.asarray(stats.t.cdf(r * np.sqrt(freedom / (1 - r**2)), freedom))


def scatters_less(logs: np.ndarray) -> np.ndarray:
    """The arm less than the reference, where the A/A pair does not differ at 5 %."""
    of_pair = _p_less(logs[..., DOUBLE], logs[..., REFERENCE])
    pair = (of_pair < 0.025) | (of_pair > 0.975)
    p = _p_less(logs[..., ARM], logs[..., REFERENCE])
    return np.asarray(((p < 0.05) & ~pair).all(axis=1))


def scatters_within(logs: np.ndarray, factor: float) -> np.ndarray:
    """At most so many times as much, by the upper bound of the 95 % interval."""
    reference = logs[..., REFERENCE]
    arm, double = (_p_less(logs[..., place], factor * reference) < 0.025 for place in (ARM, DOUBLE))
    back = _p_less(reference, factor * logs[..., DOUBLE]) < 0.025
    return np.asarray((arm & double & back).all(axis=1))


def scatters_below(logs: np.ndarray, bound: float) -> np.ndarray:
    """The upper bound of the coefficient of variation by chi-square, of arm and reference."""
    freedom = logs.shape[-2] - 1
    variance = logs[..., [REFERENCE, ARM]].var(axis=-2, ddof=1)
    limit = np.sqrt(np.expm1(freedom * variance / stats.chi2.ppf(0.05, freedom)))
    return np.asarray((limit < bound).all(axis=(1, 2)))


def factor_makes_it(logs: np.ndarray, margin: float) -> np.ndarray:
    """An arm's effect that is the same at both levels, and a factor that has any effect."""
    step = logs[:, 1] - logs[:, 0]
    of_arm = _same(step[..., ARM] - step[..., REFERENCE], margin)
    of_pair = _same(step[..., DOUBLE] - step[..., REFERENCE], margin)
    of_factor = _apart((step[..., ARM] + step[..., REFERENCE]) / 2, margin)
    return np.asarray(of_arm & of_pair & of_factor)


def rises(logs: np.ndarray) -> np.ndarray:
    """Page's test of any rise along the levels."""
    effects = (logs[..., ARM] - logs[..., REFERENCE]).transpose(0, 2, 1)
    return np.array([page_trend(pd.DataFrame(table), RISING) < 0.05 for table in effects])


def happens_in_all(seen: np.ndarray) -> np.ndarray:
    """In every run of the arm, however few they are."""
    return np.asarray(seen[..., ARM].all(axis=(1, 2)))
