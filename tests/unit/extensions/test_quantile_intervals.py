"""Order-statistic intervals against the literature and planted truths."""

import math

import numpy as np
import pytest

from parity.extensions.noise.analysis.durations import ranks_of_interval


@pytest.mark.parametrize(
    ("size", "ranks"),
    # The usual table of intervals of the median (Conover 1999; Hollander & Wolfe 1999).
    [(1, (None, None)), (6, (1, 6)), (10, (2, 9)), (20, (6, 15))],
)
def test_intervals_of_the_median(size: int, ranks: tuple[int | None, int | None]) -> None:
    assert ranks_of_interval(size, 0.5) == ranks


def test_a_tail_quantile_needs_enough_values_for_an_upper_end() -> None:
    needed = 368  # 0.99^n <= 0.025
    assert None not in ranks_of_interval(needed, 0.99)
    low, high = ranks_of_interval(needed - 1, 0.99)
    assert low is not None and high is None


def test_quantile_intervals_cover_as_often_as_they_say() -> None:
    random, truth = np.random.default_rng(4), math.log(10)  # 90 % quantile of the exponential
    low, high = ranks_of_interval(60, 0.9)
    assert (low, high) == (49, 59)  # of 60 values (binomial)
    drawn = np.sort(random.exponential(size=(1500, 60)), axis=1)
    covered = ((drawn[:, low - 1] <= truth) & (truth <= drawn[:, high - 1])).mean()
    assert covered == pytest.approx(0.9716, abs=0.015)
