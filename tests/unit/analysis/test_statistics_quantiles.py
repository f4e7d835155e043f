"""Bootstrap and order-statistic intervals against the literature and planted truths."""

import math

import numpy as np
import pytest

from parity.analysis.statistics import bootstrap, quantiles

# Efron & Tibshirani, An Introduction to the Bootstrap, 1993, table 14.1: spatial test, A.
SPATIAL = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24,
           26, 30, 41]  # fmt: skip


def test_bca_of_the_spatial_test_data() -> None:
    # Their section 14.3: variance 171.5, central 90 % BCa interval (115.8, 259.6).
    found = bootstrap.bca_interval(SPATIAL, np.var, 0.90)
    assert found.estimate == pytest.approx(171.5, abs=0.05)
    assert (found.low, found.high) == pytest.approx((115.8, 259.6), rel=0.02)
    assert found.method == "BCa"


def test_the_same_seed_gives_the_same_interval() -> None:
    first, again = (bootstrap.bca_interval(SPATIAL, np.median, seed=3) for _ in range(2))
    assert first == again


def test_paired_bootstrap_keeps_blocks_together() -> None:
    blocks = np.exp(np.random.default_rng(1).normal(0, 0.5, 20))
    found = bootstrap.paired_bca(1.05 * blocks, blocks, bootstrap.ratio_of_medians)
    # Every block has the ratio 1.05, however much blocks differ.
    assert (found.low, found.estimate, found.high) == pytest.approx((1.05, 1.05, 1.05))


def test_identical_values_have_no_width() -> None:
    found = bootstrap.bca_interval([2.0, 2.0, 2.0], np.median)
    assert (found.low, found.high) == (2.0, 2.0)


def test_two_values_still_give_an_interval_that_names_its_method() -> None:
    found = bootstrap.bca_interval([1.0, 2.0], np.median)
    assert 1.0 <= found.low <= found.high <= 2.0
    assert found.method in ("BCa", "percentile")


def test_quantile_as_a_statistic() -> None:
    found = bootstrap.bca_interval(range(101), bootstrap.quantile_of(0.9))
    assert found.estimate == 90 and found.low < 90 < found.high


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bootstrap.bca_interval([1.0], np.median),
        lambda: bootstrap.bca_interval([1.0, math.nan], np.median),
        lambda: bootstrap.bca_interval([1.0, 2.0], np.median, confidence=95),
        lambda: bootstrap.paired_bca([1.0, 2.0], [1.0], bootstrap.ratio_of_medians),
        lambda: quantiles.order_statistic_interval([], 0.5),
        lambda: quantiles.order_statistic_interval([1.0], 1.0),
        lambda: quantiles.order_statistic_interval([math.inf], 0.5),
        lambda: quantiles.quantile_ratio_interval([1.0, -1.0], [1.0, 2.0], 0.5),
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
    needed = quantiles.values_needed(0.99)
    assert needed == 368  # 0.99^n <= 0.025
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


def test_ratio_of_quantiles_is_conservative() -> None:
    random = np.random.default_rng(5)
    found = [
        quantiles.quantile_ratio_interval(
            1.2 * random.exponential(size=80), random.exponential(size=80), 0.9
        )
        for _ in range(400)
    ]
    assert np.mean([interval.low <= 1.2 <= interval.high for interval in found]) >= 0.95
    short = quantiles.quantile_ratio_interval([1.0, 2.0], [1.0, 2.0], 0.9)
    assert (short.low, short.high) == (0.0, math.inf)
