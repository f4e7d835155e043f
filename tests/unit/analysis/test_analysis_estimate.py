"""Estimates against closed forms, the literature's definition and planted truths."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from parity.analysis import decision, estimate, outcomes


def _outcome(logs, margin: float) -> str:
    return decision.decide(logs, margin).outcome


def test_t_interval_of_a_worked_example() -> None:
    # Mean 2, standard deviation 1, n = 3: half width t(0.975, 2) / sqrt(3).
    low, high = estimate.student([1.0, 2.0, 3.0]).interval(0.95)
    half = 4.302652729911275 / math.sqrt(3)
    assert (low, high) == pytest.approx((2 - half, 2 + half))


def test_equivalence_p_is_that_of_two_one_sided_t_tests() -> None:
    logs = np.array([0.004, -0.002, 0.001, 0.003, -0.001])
    margin, error = math.log(1.01), logs.std(ddof=1) / math.sqrt(5)
    by_hand = max(
        stats.t.sf((logs.mean() + margin) / error, 4),
        stats.t.cdf((logs.mean() - margin) / error, 4),
    )
    assert estimate.student(logs).p_within(math.log(1.01)) == pytest.approx(by_hand)


def test_equivalence_p_is_that_of_the_paired_test_on_raw_values() -> None:
    random = np.random.default_rng(1)
    reference = np.exp(random.normal(0, 0.05, 20))
    arm = reference * np.exp(random.normal(0.002, 0.01, 20))
    paired = ttost_paired(arm, reference, 1 / 1.02, 1.02, transform=np.log)[0]
    ours = estimate.student(np.log(arm / reference)).p_within(math.log(1.02))
    assert ours == pytest.approx(paired)


def test_smallest_margin_is_the_edge_of_equivalence() -> None:
    logs = np.random.default_rng(2).normal(0.003, 0.01, 12)
    smallest = decision.decide(logs, 0.01).smallest_margin
    assert _outcome(logs, smallest * 1.0001) == outcomes.EQUIVALENT
    assert _outcome(logs, smallest * 0.9999) == outcomes.INCONCLUSIVE


@pytest.mark.parametrize(
    ("log_ratio", "expected"),
    [(0.0, outcomes.EQUIVALENT), (0.03, outcomes.DIFFERENT), (-0.03, outcomes.DIFFERENT)],
)
def test_planted_effects_are_found(log_ratio: float, expected: str) -> None:
    logs = np.random.default_rng(3).normal(log_ratio, 0.004, 30)
    assert _outcome(logs, 0.01) == expected


def test_noise_is_inconclusive_not_equal() -> None:
    logs = np.random.default_rng(4).normal(0, 0.1, 5)
    assert _outcome(logs, 0.01) == outcomes.INCONCLUSIVE


def test_gain_and_cost_are_held_to_the_same_standard() -> None:
    logs = np.random.default_rng(5).normal(0.004, 0.01, 10)
    cost, gain = decision.decide(logs, 0.02), decision.decide(-logs, 0.02)
    assert cost.p_equivalence == pytest.approx(gain.p_equivalence)
    assert cost.smallest_margin == pytest.approx(gain.smallest_margin)


def test_equivalence_is_claimed_wrongly_in_at_most_five_per_cent_at_the_margin() -> None:
    random = np.random.default_rng(6)
    draws = random.normal(math.log(1.02), 0.01, (1000, 30))
    wrong = sum(_outcome(logs, 0.02) == outcomes.EQUIVALENT for logs in draws)
    assert 0.015 < wrong / 1000 < 0.065


@pytest.mark.parametrize("values", [[], [0.1]])
def test_fewer_than_two_blocks_decide_nothing(values: list[float]) -> None:
    decided = decision.decide(values, 0.01)
    assert (decided.outcome, decided.blocks) == (outcomes.TOO_FEW_BLOCKS, len(values))
    assert math.isnan(decided.interval95[0]) and math.isnan(decided.p_equivalence)


@pytest.mark.parametrize(
    ("log_ratio", "expected"), [(0.0, outcomes.EQUIVALENT), (0.5, outcomes.DIFFERENT)]
)
def test_identical_ratios(log_ratio: float, expected: str) -> None:
    assert estimate.mean_of([log_ratio] * 6).interval(0.95) == (log_ratio, log_ratio)
    assert estimate.rank_interval([log_ratio] * 6, 0.95) == (log_ratio, log_ratio)
    assert _outcome([log_ratio] * 6, 0.01) == expected


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        decision.decide([0.1, math.nan], 0.01)


def test_equivalence_is_decided_by_the_90_and_difference_by_the_95_per_cent_interval() -> None:
    bound, steps = math.log1p(0.01), np.linspace(-1, 1, 6)
    inside = 1.02 * bound * steps
    assert max(estimate.mean_of(inside).interval(0.90)) < bound
    assert _outcome(inside * 0.95, 0.01) == outcomes.EQUIVALENT
    # The 90 % interval lies outside, the 95 % one does not.
    outside = bound + 0.01 * (0.7 + steps)
    assert (
        min(estimate.mean_of(outside).interval(0.95))
        < bound
        < min(estimate.mean_of(outside).interval(0.90))
    )
    assert _outcome(outside, 0.01) == outcomes.INCONCLUSIVE


def test_the_intervals_decide_as_the_two_one_sided_tests_do() -> None:
    random = np.random.default_rng(7)
    for logs in random.normal(0.004, 0.006, (300, 6)):
        found = decision.decide(logs, 0.01)
        both = found.p_equivalence < estimate.ALPHA and found.robust_outcome == outcomes.EQUIVALENT
        assert (found.outcome == outcomes.EQUIVALENT) == both


def test_a_difference_is_decided_in_its_own_unit() -> None:
    seconds = [4.0, 4.5, 5.0, 5.5, 6.0]
    decided = decision.decide(seconds, 8.0, ratio=False)
    assert (decided.estimate, decided.outcome) == (5.0, outcomes.EQUIVALENT)
    assert (decided.robust_estimate, decided.robust_interval90) == (5.0, (4.0, 6.0))
    assert decided.smallest_margin == 6.0
    assert decision.decide(seconds, None, ratio=False).outcome == outcomes.REPORTED


def test_a_bound_on_one_side() -> None:
    below = (-math.inf, 1.0)
    for ends, expected in (
        ((0.2, 0.9), outcomes.EQUIVALENT),
        ((1.1, 1.2), outcomes.DIFFERENT),
        ((0.9, 1.1), outcomes.INCONCLUSIVE),
    ):
        assert decision.outcome_of(ends, ends, below) == expected


@pytest.mark.parametrize(
    ("control", "says_same", "objection"),
    [
        (outcomes.EQUIVALENT, True, ""),
        (outcomes.EQUIVALENT, False, ""),
        (outcomes.INCONCLUSIVE, True, decision.CONTROL_FAILED),
        (outcomes.INCONCLUSIVE, False, ""),
        (outcomes.DIFFERENT, True, decision.CONTROL_DIFFERS),
        (outcomes.DIFFERENT, False, decision.CONTROL_DIFFERS),
        (decision.NONE, True, decision.NO_CONTROL),
        (decision.NONE, False, decision.NO_CONTROL),
    ],
)
def test_what_the_pair_lets_be_said(control: str, says_same: bool, objection: str) -> None:
    assert decision.objection_of(control, says_same) == objection
    outcome = outcomes.EQUIVALENT if says_same else outcomes.DIFFERENT
    after = decision.Decision(5, 1.0, outcome=outcome).gated(control)
    assert (after.gate, after.reason) == (control, objection)
    assert after.outcome == (outcomes.INCONCLUSIVE if objection else outcome)


def test_rank_interval_of_a_worked_example() -> None:
    # Hamilton's depression scores (Hollander, Wolfe & Chicken 2014, table 3.1 and example 3.3):
    # nine changes, centre -0.46, and the Walsh averages 6 and 40 of 45 hold 96.1 %.
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    changes = np.subtract(after, before)
    assert estimate.rank_estimate(changes) == pytest.approx(-0.46)
    assert estimate.rank_interval(changes, 0.95) == pytest.approx((-0.786, -0.010))


@pytest.mark.parametrize(("blocks", "confidence"), [(6, 0.95), (5, 0.90), (13, 0.95), (30, 0.90)])
def test_the_rank_interval_holds_what_scipy_s_exact_test_does_not_reject(
    blocks: int, confidence: float
) -> None:
    effects = np.random.default_rng(blocks).normal(0.1, 1, blocks)
    low, high = estimate.rank_interval(effects, confidence)

    def p(centre: float) -> float:
        return float(stats.wilcoxon(effects - centre, method="exact").pvalue)

    assert p(low - 1e-9) <= 1 - confidence < p(low + 1e-9)
    assert p(high + 1e-9) <= 1 - confidence < p(high - 1e-9)


@pytest.mark.parametrize("confidence", [0.90, 0.95, 0.99])
def test_many_sums_of_ranks_are_as_normal_as_if_they_were_counted(
    confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects = np.random.default_rng(1).normal(0.1, 1, 1000)
    counted = estimate.rank_interval(effects, confidence)
    monkeypatch.setattr(estimate, "MOST_COUNTED", 999)
    estimate._averages_left_out.cache_clear()
    assert estimate.rank_interval(effects, confidence) == pytest.approx(counted, abs=1e-4)


@pytest.mark.parametrize(("blocks", "confidence"), [(5, 0.95), (4, 0.90), (2, 0.90)])
def test_so_few_effects_have_no_rank_interval(blocks: int, confidence: float) -> None:
    assert estimate.rank_interval([1.0] * blocks, confidence) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("blocks", "log_ratio", "expected"),
    [
        (3, 0.5, decision.FEW),
        (5, 0.5, decision.FEW),
        (6, 0.5, ""),
        (4, 0.0, decision.FEW_FOR_EQUIVALENCE),
        (5, 0.0, ""),
    ],
)
def test_few_blocks_conclude_nothing(blocks: int, log_ratio: float, expected: str) -> None:
    """Native once differed from itself by 18 % at three blocks, and was printed so."""
    found = decision.decide(log_ratio + 1e-4 * np.arange(blocks), 0.01)
    assert found.reason == expected
    assert (found.outcome == outcomes.INCONCLUSIVE) == bool(expected)
    assert np.isfinite(found.smallest_margin) == (blocks >= 5)
    assert not any(abs(each) == math.inf for each in found.columns().values() if each == each
                   and isinstance(each, float))  # fmt: skip


def test_a_conclusion_that_the_rank_test_does_not_draw_hangs_on_the_method() -> None:
    # One block of twelve is far off: t is too wide to say anything, ranks are not.
    found = decision.decide([*np.linspace(-1e-3, 1e-3, 11), 0.5], 0.01)
    assert found.outcome == outcomes.INCONCLUSIVE
    assert found.robust_outcome == outcomes.EQUIVALENT
    assert found.reason == f"{decision.METHOD} {outcomes.EQUIVALENT}"


def test_what_is_skewed_is_given_the_longer_interval_on_that_side() -> None:
    effects = [1, -1, 0.8, -0.8, 0.6, 12.0, -0.6, 0.4, -0.4, 0.2, -0.2, 0]
    plain, found = (of(effects).interval(0.95) for of in (estimate.student, estimate.mean_of))
    assert found[0] == pytest.approx(plain[0]) and found[1] > plain[1] + 1
    mirrored = estimate.mean_of(-np.array(effects)).interval(0.95)
    assert mirrored == pytest.approx((-found[1], -found[0]))


@pytest.mark.parametrize("seed", range(5))
def test_p_and_interval_agree(seed: int) -> None:
    """Wherever they come from: skewed effects, effects in a row, and few of either."""
    random = np.random.default_rng(seed)
    mean = estimate.mean_of(np.cumsum(random.exponential(1, 12 + seed)) % 5)
    for confidence in (0.90, 0.95):
        low, high = mean.interval(confidence)
        assert mean.p_above(low) == pytest.approx((1 - confidence) / 2)
        assert mean.p_below(high) == pytest.approx((1 - confidence) / 2)


def test_effects_in_a_row_count_for_fewer() -> None:
    # r = 0.2 + 1/20 leaves 20 (1 - 0.25) / (1 + 0.25) = 12 of 20.
    values = np.random.default_rng(4).normal(0, 1, 20)
    around = values - values.mean()
    lag1 = float(around[1:] @ around[:-1] / (around @ around)) + 1 / 20
    found, plain = estimate.mean_of(values), estimate.student(values)
    left = 20 * (1 - max(lag1, 0)) / (1 + max(lag1, 0))
    assert found.freedom == pytest.approx(left - 1)
    assert found.error == pytest.approx(plain.error * math.sqrt(20 / left))
    # Never more than there are, and two at least.
    assert estimate.mean_of(np.tile([1.0, -1.0], 10)).freedom == 19
    assert estimate.mean_of(np.arange(20.0)).freedom >= 1
