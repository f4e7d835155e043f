"""Where the variance comes from, and where to repeat (Kalibera & Jones, ISMM 2013).

Levels are nested: builds hold allocations, allocations hold blocks, blocks hold
invocations. Repetition pays most at the level that varies most for its cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.analysis.statistics import checks


@dataclass(frozen=True)
class VarianceComponents:
    """Variance that each level adds, the highest level first.

    Attributes:
        variances: unbiased estimates in the square of the values' unit. One can come out
            below zero: then that level adds less than the data can show.
        repetitions: units of each level in one unit of the level above.
        grand_mean: mean of all values.
    """

    variances: tuple[float, ...]
    repetitions: tuple[int, ...]
    grand_mean: float

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of each level in the total; negative estimates count as zero."""
        clipped = [max(variance, 0.0) for variance in self.variances]
        total = sum(clipped)
        return tuple(variance / total if total else 0.0 for variance in clipped)


def variance_components(values: Sequence | np.ndarray) -> VarianceComponents:
    """Variances of a balanced, fully nested experiment.

    The T_i^2 of Kalibera & Jones (ISMM 2013, sec. 6), which are the components of the
    nested analysis of variance: the variance of the means at a level, less what the
    levels below it put into these means.

    Args:
        values: an array with one axis per level, the highest first; every axis at least 2.

    Raises:
        ValueError: an unbalanced array, an axis of one, or a value that is no finite number.
    """
    array = np.asarray(values, dtype=float)  # refuses rows of different lengths
    if array.ndim < 1 or min(array.shape) < 2:
        raise ValueError(f"every level needs at least two units, not {array.shape}")
    checks.finite(array.ravel(), 2)
    components: list[float] = []
    means, below = array, 0.0
    for repetitions in reversed(array.shape):
        biased = float(means.var(axis=-1, ddof=1).mean())
        components.insert(0, biased - below)
        below = biased / repetitions
        means = means.mean(axis=-1)
    return VarianceComponents(tuple(components), array.shape, float(array.mean()))


def optimal_repetitions(
    costs: Sequence[float], variances: Sequence[float]
) -> tuple[int | None, ...]:
    """Repetitions per unit of the level above, for every level but the highest.

    r_i = sqrt(c_(i+1) / c_i * T_i^2 / T_(i+1)^2), rounded up (Kalibera & Jones, ISMM 2013,
    sec. 6.2), where level i + 1 is the one above. The highest level has no optimum: it is
    repeated until the interval is narrow enough.

    Args:
        costs: time that one unit of each level costs by itself, the highest first, any
            unit, above zero.
        variances: of `VarianceComponents`, in the same order.

    Returns:
        One number per level below the highest: 1 if the level adds no variance of its own,
        None if only the level above adds none, so that repeating here is all that helps.
    """
    prices = checks.positive(costs, 2, "costs")
    added = checks.finite(variances, 2, "variances")
    if len(prices) != len(added):
        raise ValueError(f"{len(prices)} costs and {len(added)} variances")
    return tuple(
        _repetitions(prices[level] / prices[level + 1], added[level + 1], added[level])
        for level in range(len(added) - 1)
    )


def _repetitions(cost_ratio: float, own: float, above: float) -> int | None:
    if own <= 0:
        return 1
    if above <= 0:
        return None
    return max(1, math.ceil(math.sqrt(cost_ratio * own / above)))
