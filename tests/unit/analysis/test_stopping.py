"""What a look stops, and what it lets go on."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from planted_truth.in_memory import Layout
from planted_truth.study import CONTAINERS, DOUBLE, REFERENCE
from scipy import stats

from parity.analysis.conclusions import Conclusion
from parity.analysis.decision import Decision, decide, outcome_of
from parity.analysis.looks import HIDDEN, LEAST_CHANCE, chance_of, stops
from parity.analysis.sequential import levels_at
from parity.plan.looks import DECIDED, HOPELESS, REPORTED, Stop
from parity.plan.plan import Plan

LOOKS = (10, 20, 40)
MOST, MARGIN = LOOKS[-1], 0.01
ARM, OTHER = CONTAINERS[:2]


def _plan(arms: tuple[str, ...] = (ARM,), margin: float | None = MARGIN) -> Plan:
    return Layout({"c": {}}, arms, (0,) * MOST, margin, looks=LOOKS).plan()


def _effects(mean: float, deviation: float, blocks: int = LOOKS[0]) -> np.ndarray:
    """Normal quantiles, moved and stretched: of exactly this mean and deviation, and even."""
    places = stats.norm.ppf((np.arange(blocks) + 0.5) / blocks)
    # In an order that has no serial correlation.
    places = np.random.default_rng(1).permutation(places)
    return mean + deviation * (places - places.mean()) / places.std(ddof=1)


def _decision(mean: float, deviation: float, blocks: int = LOOKS[0], margin=MARGIN) -> Decision:
    return decide(_effects(mean, deviation, blocks), margin, levels=levels_at(LOOKS, blocks))


def _compared(decisions: Mapping[str, Decision], metric="time") -> list[Conclusion]:
    return [
        Conclusion(
            form="arm",
            benchmark="c",
            case="c",
            metric=metric,
            factor="",
            low="",
            high="",
            arm=arm,
            reference=REFERENCE,
            references=REFERENCE,
            kind="ratio",
            unit="s",
            better="lower",
            planned_blocks=MOST,
            identity="",
            control=arm == DOUBLE,
            planned=True,
            decision=decision,
        )
        for arm, decision in decisions.items()
    ]


SAME, FAR = _decision(0, 0.002), _decision(0.05, 0.002)
# With few blocks behind it, wild scatter may still hide a difference that the rest would show.
OPEN, WILD = _decision(0, 0.015), _decision(0, 0.5, 30)
NEVER_RAN = Decision(margin=MARGIN)


def _stopped(decisions: Mapping[str, Decision], before=(), **plan) -> dict[str, Stop]:
    """The stops of one case, by arm."""
    arms = tuple(arm for arm in decisions if arm != DOUBLE)
    found = stops(_plan(arms, **plan), _compared(decisions), before, MOST)
    return {stop.arm: stop for stop in found}


def test_the_decisions_of_these_tests_are_what_they_are_called() -> None:
    outcomes = [each.outcome for each in (SAME, FAR, OPEN, WILD)]
    assert outcomes == ["equivalent", "different", "inconclusive", "inconclusive"]


@pytest.mark.parametrize("decision", [SAME, FAR])
def test_an_arm_that_is_decided_stops_and_says_what_was_found(decision: Decision) -> None:
    found = _stopped({DOUBLE: SAME, ARM: decision, OTHER: OPEN})
    assert found == {ARM: Stop("c", ARM, DECIDED, f"time {decision.outcome} after 10")}


def test_an_open_arm_goes_on_and_so_do_the_natives() -> None:
    assert _stopped({DOUBLE: SAME, ARM: OPEN}) == {}


def test_an_arm_that_scatters_too_much_is_given_up_with_its_chance() -> None:
    found = _stopped({DOUBLE: SAME, ARM: WILD, OTHER: OPEN})
    assert found.keys() == {ARM}
    assert found[ARM].reason == HOPELESS
    assert found[ARM].detail == "time has a chance of 0.00 to be decided by 40 blocks"
    assert chance_of(_decision(0, 0.5, 10), SAME, LOOKS, MOST) > LEAST_CHANCE


def test_a_pair_that_scatters_too_much_gives_up_what_only_it_could_let_be_the_same() -> None:
    assert _stopped({DOUBLE: WILD, ARM: OPEN})[ARM].reason == HOPELESS
    # A difference that is near to be shown waits for no equivalence of the pair.
    near = _decision(0.016, 0.006)
    assert near.outcome == "inconclusive"
    assert _stopped({DOUBLE: WILD, ARM: near}) == {}


def test_natives_stop_with_the_last_arm_and_with_the_weaker_reason() -> None:
    both = _stopped({DOUBLE: SAME, ARM: FAR, OTHER: SAME})
    assert both.keys() == {REFERENCE, DOUBLE, ARM, OTHER}
    assert {stop.reason for stop in both.values()} == {DECIDED}
    mixed = _stopped({DOUBLE: SAME, ARM: FAR, OTHER: WILD})
    assert {arm: stop.reason for arm, stop in mixed.items()} == {
        REFERENCE: HOPELESS, DOUBLE: HOPELESS, ARM: DECIDED, OTHER: HOPELESS,
    }  # fmt: skip
    assert mixed[DOUBLE].detail == "no other arm of the case goes on"


def test_a_case_without_a_margin_is_only_reported_and_stops_at_the_first_look() -> None:
    plain = {arm: decide(_effects(0, 0.01), None) for arm in (DOUBLE, ARM)}
    compared = _compared(plain)
    found = stops(_plan(margin=None), compared, (), MOST)
    assert {(stop.arm, stop.reason, stop.detail) for stop in found if stop.arm == ARM} == {
        (ARM, REPORTED, "nothing of it is to be decided")
    }
    assert {stop.arm for stop in found} == {REFERENCE, DOUBLE, ARM}


def test_what_was_stopped_stays_as_it_was() -> None:
    """Even if it would look otherwise now: its blocks ended then."""
    before = [Stop("c", ARM, DECIDED, "time equivalent after 5")]
    found = _stopped({DOUBLE: OPEN, ARM: OPEN, OTHER: OPEN}, before)
    assert list(found.values()) == before
    # And it counts as stopped where the natives wait for the last.
    found = _stopped({DOUBLE: SAME, ARM: OPEN, OTHER: SAME}, before)
    assert found[ARM] == before[0] and found.keys() == {REFERENCE, DOUBLE, ARM, OTHER}


def test_an_arm_that_never_ran_is_given_up() -> None:
    found = _stopped({DOUBLE: SAME, ARM: NEVER_RAN, OTHER: OPEN})
    assert {arm: stop.reason for arm, stop in found.items()} == {ARM: HOPELESS}


@pytest.mark.parametrize("decision", [OPEN, _decision(0.016, 0.006)])
def test_without_a_double_that_ran_nothing_will_be_said(decision: Decision) -> None:
    found = _stopped({DOUBLE: NEVER_RAN, ARM: decision})
    assert {stop.reason for stop in found.values()} == {HOPELESS}
    assert chance_of(decision, None, LOOKS, MOST) == 0


def test_a_pair_that_differs_gives_up_all_that_is_open() -> None:
    found = _stopped({DOUBLE: FAR, ARM: OPEN, OTHER: _decision(0.016, 0.006)})
    assert {stop.reason for stop in found.values()} == {HOPELESS}
    # By one method alone it is no claim, but no reason to trust the harness either.
    doubtful = replace(OPEN, by_t="different")
    assert chance_of(OPEN, doubtful, LOOKS, MOST) == 0


def test_a_study_of_the_pair_alone_is_stopped_by_it() -> None:
    assert _stopped({DOUBLE: OPEN}) == {}
    assert {stop.reason for stop in _stopped({DOUBLE: SAME}).values()} == {DECIDED}
    assert _stopped({DOUBLE: WILD}).keys() == {REFERENCE, DOUBLE}


def test_all_metrics_of_an_arm_have_to_be_decided() -> None:
    plan = _plan()
    compared = _compared({DOUBLE: SAME, ARM: SAME})
    open_too = _compared({DOUBLE: SAME, ARM: OPEN}, metric="rate")
    assert stops(plan, compared + open_too, (), MOST) == ()
    hopeless_too = _compared({DOUBLE: SAME, ARM: WILD}, metric="rate")
    found = {stop.arm: stop for stop in stops(plan, compared + hopeless_too, (), MOST)}
    assert found[ARM].reason == HOPELESS
    assert found[ARM].detail.startswith("time equivalent after 10; rate has a chance of 0.00")


def test_numbers_that_are_only_reported_beside_hold_nothing_up() -> None:
    """They have no margin and are not planned; nor do planned ones without a margin."""
    plan, decided = _plan(), _compared({DOUBLE: SAME, ARM: SAME})
    beside = _compared({ARM: decide(_effects(0, 1), None)}, metric="memory")
    unplanned = [replace(each, planned=False) for each in beside]
    for more in (beside, unplanned):
        assert {stop.reason for stop in stops(plan, decided + more, (), MOST)} == {DECIDED}


def test_cases_are_stopped_each_for_itself() -> None:
    plan = Layout({"c": {}, "d": {}}, (ARM,), (0,) * MOST, MARGIN, looks=LOOKS).plan()
    of_c, of_d = _compared({DOUBLE: SAME, ARM: SAME}), _compared({DOUBLE: SAME, ARM: OPEN})
    moved = [replace(each, case="d") for each in of_d]
    assert {stop.case for stop in stops(plan, of_c + moved, (), MOST)} == {"c"}


@pytest.mark.parametrize("mean", [0.0, 0.004, 0.009, 0.013, -0.009])
@pytest.mark.parametrize(("deviation", "blocks"), [(0.013, 10), (0.02, 10), (0.02, 18), (0.04, 18)])
def test_the_chance_is_that_of_a_simulation(mean: float, deviation: float, blocks: int) -> None:
    """Truths as likely as the blocks make them, the blocks that are left, and the last look."""
    now = _decision(mean, deviation, blocks)
    assert now.outcome == "inconclusive"
    random, samples, freedom = np.random.default_rng(20_261_122), 20_000, blocks - 1
    # Without any knowledge beforehand: the scatter's square is an inverse chi-square, and the
    # truth around the mean a normal, so the mean that is seen moves by Student's t.
    truly = deviation * np.sqrt(freedom / random.chisquare(freedom, samples))
    truth = random.normal(mean, truly / math.sqrt(blocks))
    left = MOST - blocks
    rest = random.normal(truth, truly / math.sqrt(left))
    in_the_end = (blocks * mean + left * rest) / MOST
    levels = levels_at(LOOKS, MOST)[:2]
    same, other = (
        deviation / math.sqrt(MOST) * stats.t.isf(level, freedom * MOST / blocks)
        for level in levels
    )
    same *= math.sqrt(freedom / stats.chi2.ppf(HIDDEN, freedom))
    bound = math.log1p(MARGIN)
    decided = [
        outcome_of((one - same, one + same), (one - other, one + other), (-bound, bound))
        for one in in_the_end
    ]
    expected = float(np.mean([outcome != "inconclusive" for outcome in decided]))
    # The interval is longer on the side to which the sample is skewed, which is here nearly none.
    assert chance_of(now, SAME, LOOKS, MOST) == pytest.approx(expected, abs=0.02)


def test_when_all_blocks_are_there_the_chance_is_what_is_seen() -> None:
    assert chance_of(_decision(0, 0.02, MOST), SAME, LOOKS, MOST) == pytest.approx(1)
    assert chance_of(_decision(0, 0.1, MOST), SAME, LOOKS, MOST) == 0
    # More than there can be is as much as there can be: the time was shorter than thought.
    assert chance_of(_decision(0, 0.1, 20), SAME, LOOKS, 15) == 0


def test_few_blocks_beside_the_margin_are_given_up_only_if_they_stay_there() -> None:
    """Six blocks whose mean lies beyond the margin by chance come back in 36."""
    six = _decision(0.012, 0.01, 6)
    assert chance_of(six, SAME, (6, 36), 36) > LEAST_CHANCE


def test_one_block_says_nothing_about_the_chance() -> None:
    assert chance_of(decide([0.5], MARGIN), SAME, LOOKS, MOST) == pytest.approx(1)
