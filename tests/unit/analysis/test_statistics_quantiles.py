"""Order-statistic intervals against the literature and planted truths."""

import math

import numpy as np
import pytest

from parity.analysis.statistics import quantiles


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: quantiles.order_statistic_interval([], 0.5),
        lambda: quantiles.order_statistic_interval([1.0], 1.0),
        lambda: quantiles.order_statistic_interval([math.inf], 0.5),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(ValueError):
        wrong()


@pytest.mark.parametrize(
    ("size", "ranks"),
    # The usual table of intervals of the median (Conover 1999; Hollander & Wolfe 1999).
    [(6, (1, 6)), (10, (2, 9)), (20, (6, 15))],
)
def test_intervals_of_the_median(size: int, ranks: tuple[int, int]) -> None:
    found = quantiles.order_statistic_interval(range(1, size + 1), 0.5)
    assert (found.low, found.high) == ranks


def test_a_tail_quantile_needs_enough_values_for_an_upper_end() -> None:
    needed = 368  # 0.99^n <= 0.025
    enough = quantiles.order_statistic_interval(range(needed), 0.99)
    assert math.isfinite(enough.low) and math.isfinite(enough.high)
    few = quantiles.order_statistic_interval(range(needed - 1), 0.99)
    assert few.high == math.inf and few.low < few.estimate
    alone = quantiles.order_statistic_interval([7.0], 0.5)
    assert (alone.low, alone.high) == (-math.inf, math.inf)


def test_quantile_intervals_cover_as_often_as_they_say() -> None:
    random, truth = np.random.default_rng(4), math.log(10)  # 90 % quantile of the exponential
    found = [
        quantiles.order_statistic_interval(random.exponential(size=60), 0.9) for _ in range(1500)
    ]
    covered = np.mean([interval.low <= truth <= interval.high for interval in found])
    # Ranks 49 and 59 of 60 values (binomial).
    assert covered == pytest.approx(0.9716, abs=0.015)
