"""Adjustment for several tests of one family."""

from __future__ import annotations

from collections.abc import Iterable

from statsmodels.stats.multitest import multipletests

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
    if not len(values):
        return ()
    if values.min() < 0 or values.max() > 1:
        raise ValueError("p values must lie between 0 and 1")
    if len(values) == 1:
        return (float(values[0]),)
    return tuple(float(p) for p in multipletests(values, method="holm")[1])
