"""Adjustment for several tests of one family."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from parity.analysis.statistics import checks


def holm(p_values: Iterable[float]) -> tuple[float, ...]:
    """Adjusted p values in the given order (Holm, Scand. J. Statist. 1979).

    Below alpha they control the probability of any wrong rejection in the family,
    whatever the dependence. A claim that needs all its tests to pass is an
    intersection-union test and is not adjusted (Berger, Technometrics 1982).

    Args:
        p_values: the family's p values; an empty family gives nothing.

    Raises:
        ValueError: a p value is no number between 0 and 1.
    """
    values = checks.finite(p_values, 0, "p values")
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p values must lie between 0 and 1")
    # statsmodels' function collects the garbage of the whole process in each call, which was half
    # the time of a judgement; a test holds this one to it.
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(stepped, 1)
    return tuple(adjusted.tolist())
