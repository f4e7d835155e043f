"""Spread: closed forms, definitions and planted truths."""

import math

import numpy as np
import pytest
from scipy import stats

from parity.analysis.statistics import spread


def test_paired_variance_ratio_is_the_test_of_sum_and_difference() -> None:
    random = np.random.default_rng(1)
    shared = random.normal(0, 1, 15)
    a, b = shared + random.normal(0, 0.5, 15), shared + random.normal(0, 1, 15)
    found = spread.paired_variance_ratio(a, b)
    morgan = stats.pearsonr(a + b, a - b, alternative="less").pvalue
    assert found.p_less == pytest.approx(morgan)
    # At either end of the interval that test, two-sided, has p = 0.05.
    for end in (found.low, found.high):
        scaled = a / math.sqrt(end)
        assert stats.pearsonr(scaled + b, scaled - b).pvalue == pytest.approx(0.05)


def test_paired_variance_ratio_covers_a_planted_truth() -> None:
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(800):
        pairs = random.multivariate_normal([0, 0], [[4, 1.2], [1.2, 1]], 12)
        found = spread.paired_variance_ratio(pairs[:, 0], pairs[:, 1])
        covered += found.low <= 4 <= found.high
    assert 0.93 < covered / 800 < 0.97


def test_arms_that_move_together_exactly() -> None:
    found = spread.paired_variance_ratio([0.0, 1.0, 3.0], [0.0, 2.0, 6.0])
    assert (found.low, found.ratio, found.high, found.p_less) == pytest.approx((0.25,) * 3 + (0,))


def test_cv_bound_holds_in_95_per_cent() -> None:
    random, truth = np.random.default_rng(3), 0.05
    deviation = math.sqrt(math.log1p(truth**2))
    held = [
        spread.cv_upper_bound(np.exp(random.normal(3, deviation, 8))) >= truth for _ in range(1500)
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_cv_bound_by_hand() -> None:
    # Logs -1, 0, 1: variance 1; chi-square(0.05, 2) = 0.102587.
    values = np.exp([-1.0, 0.0, 1.0])
    bound = math.sqrt(math.expm1(2 / 0.1025866))
    assert spread.cv_upper_bound(values) == pytest.approx(bound, rel=1e-4)
    assert spread.cv_upper_bound([3.0, 3.0]) == 0


def test_brown_forsythe_is_an_analysis_of_variance_of_deviations() -> None:
    samples = [np.array([1.0, 2, 4, 9]), np.array([1.0, 1, 2, 2, 3]), np.array([0.0, 5, 9, 20])]
    deviations = [np.abs(sample - np.median(sample)) for sample in samples]
    found, by_hand = spread.brown_forsythe(samples), stats.f_oneway(*deviations)
    assert (found.statistic, found.p) == pytest.approx((by_hand.statistic, by_hand.pvalue))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: spread.paired_variance_ratio([1, 2], [1, 2]),
        lambda: spread.cv_upper_bound([1.0, 0.0]),
        lambda: spread.cv_upper_bound([1.0]),
        lambda: spread.brown_forsythe([[1, 2]]),
        lambda: spread.brown_forsythe([[1, 1], [2, 2]]),
        lambda: spread.brown_forsythe([[1, 2], [1, math.nan]]),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(ValueError):
        wrong()
