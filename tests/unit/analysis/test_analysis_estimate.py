"""Estimates against closed forms, the literature's definition and planted truths."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from parity.analysis import estimate, outcomes


def test_t_interval_of_a_worked_example() -> None:
    # Mean 2, standard deviation 1, n = 3: half width t(0.975, 2) / sqrt(3).
    low, high = estimate.t_interval([1.0, 2.0, 3.0], 0.95)
    half = 4.302652729911275 / math.sqrt(3)
    assert (low, high) == pytest.approx((2 - half, 2 + half))


def test_equivalence_p_is_that_of_two_one_sided_t_tests() -> None:
    logs = np.array([0.004, -0.002, 0.001, 0.003, -0.001])
    margin, error = math.log(1.01), logs.std(ddof=1) / math.sqrt(5)
    by_hand = max(
        stats.t.sf((logs.mean() + margin) / error, 4),
        stats.t.cdf((logs.mean() - margin) / error, 4),
    )
    assert estimate.equivalence_p(logs, 0.01) == pytest.approx(by_hand)


def test_equivalence_p_is_that_of_the_paired_test_on_raw_values() -> None:
    random = np.random.default_rng(1)
    reference = np.exp(random.normal(0, 0.05, 20))
    arm = reference * np.exp(random.normal(0.002, 0.01, 20))
    paired = ttost_paired(arm, reference, 1 / 1.02, 1.02, transform=np.log)[0]
    assert estimate.equivalence_p(np.log(arm / reference), 0.02) == pytest.approx(paired)


def test_smallest_margin_is_the_edge_of_equivalence() -> None:
    logs = np.random.default_rng(2).normal(0.003, 0.01, 12)
    smallest = estimate.smallest_margin(estimate.estimate(logs).interval90)
    assert estimate.outcome(logs, smallest * 1.0001) == outcomes.EQUIVALENT
    assert estimate.outcome(logs, smallest * 0.9999) == outcomes.INCONCLUSIVE


@pytest.mark.parametrize(
    ("log_ratio", "expected"),
    [(0.0, outcomes.EQUIVALENT), (0.03, outcomes.DIFFERENT), (-0.03, outcomes.DIFFERENT)],
)
def test_planted_effects_are_found(log_ratio: float, expected: str) -> None:
    logs = np.random.default_rng(3).normal(log_ratio, 0.004, 30)
    assert estimate.outcome(logs, 0.01) == expected


def test_noise_is_inconclusive_not_equal() -> None:
    logs = np.random.default_rng(4).normal(0, 0.1, 5)
    assert estimate.outcome(logs, 0.01) == outcomes.INCONCLUSIVE


def test_gain_and_cost_are_held_to_the_same_standard() -> None:
    logs = np.random.default_rng(5).normal(0.004, 0.01, 10)
    assert estimate.equivalence_p(logs, 0.02) == pytest.approx(estimate.equivalence_p(-logs, 0.02))


def test_equivalence_is_claimed_wrongly_in_five_per_cent_at_the_margin() -> None:
    random = np.random.default_rng(6)
    draws = random.normal(math.log(1.02), 0.01, (2000, 10))
    wrong = sum(estimate.outcome(logs, 0.02) == outcomes.EQUIVALENT for logs in draws)
    assert 0.035 < wrong / 2000 < 0.065


@pytest.mark.parametrize("values", [[], [0.1]])
def test_fewer_than_two_blocks_decide_nothing(values: list[float]) -> None:
    assert estimate.estimate(values).interval95 is None
    assert estimate.outcome(values, 0.01) == outcomes.TOO_FEW_BLOCKS


@pytest.mark.parametrize(
    ("log_ratio", "expected"), [(0.0, outcomes.EQUIVALENT), (0.5, outcomes.DIFFERENT)]
)
def test_identical_ratios(log_ratio: float, expected: str) -> None:
    assert estimate.t_interval([log_ratio] * 3, 0.95) == (log_ratio, log_ratio)
    assert estimate.outcome([log_ratio] * 3, 0.01) == expected


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        estimate.estimate([0.1, math.nan])


def test_equivalence_is_decided_by_the_90_and_difference_by_the_95_per_cent_interval() -> None:
    # Three effects mean + spread * (-1, 0, 1): half widths 1.69 and 2.48 spreads.
    bound = math.log1p(0.01)
    inside = [0.5 * bound * step for step in (-1, 0, 1)]
    assert max(estimate.t_interval(inside, 0.90)) < bound < max(estimate.t_interval(inside, 0.95))
    assert estimate.outcome(inside, 0.01) == outcomes.EQUIVALENT
    outside = [bound + 0.002 * (2 + step) for step in (-1, 0, 1)]
    assert min(estimate.t_interval(outside, 0.95)) < bound < min(estimate.t_interval(outside, 0.90))
    assert estimate.outcome(outside, 0.01) == outcomes.INCONCLUSIVE
