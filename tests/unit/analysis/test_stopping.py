"""What a look stops, and what it lets go on."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from planted_truth.in_memory import Layout
from planted_truth.study import CONTAINERS, DOUBLE, REFERENCE
from scipy import stats

from parity.analysis.conclusions import Conclusion
from parity.analysis.decision import Decision, decide
from parity.analysis.looks import _blocks_to_go, stops, waiting
from parity.analysis.sequential import levels_at
from parity.plan.looks import DECIDED, REPORTED, WAITING, Stop
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
    empty = dict.fromkeys(("factor", "low", "high", "identity"), "")
    named = {"form": "arm", "benchmark": "c", "case": "c", "metric": metric, "unit": "s"}
    named |= {"reference": REFERENCE, "references": REFERENCE, "kind": "ratio", "better": "lower"}
    planned = {"planned_blocks": MOST, "planned": True}
    return [
        Conclusion(arm=arm, control=arm == DOUBLE, decision=decision, **empty | named | planned)
        for arm, decision in decisions.items()
    ]


SAME, FAR = _decision(0, 0.002), _decision(0.05, 0.002)
# With few blocks behind it, wild scatter may still hide a difference that the rest would show.
OPEN, WILD = _decision(0, 0.015), _decision(0, 0.5, 30)
NEVER_RAN = Decision(margin=MARGIN)


def _stopped(decisions: Mapping[str, Decision], before=(), **plan) -> dict[str, Stop]:
    """The stops of one case, by arm."""
    arms = tuple(arm for arm in decisions if arm != DOUBLE)
    found = stops(_plan(arms, **plan), _compared(decisions), before)
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
    # A study of the pair alone is stopped by it.
    assert _stopped({DOUBLE: OPEN}) == _stopped({DOUBLE: WILD}) == {}
    assert {stop.reason for stop in _stopped({DOUBLE: SAME}).values()} == {DECIDED}


@pytest.mark.parametrize("pair", ["SAME", "WILD", "FAR", "NEVER_RAN"])
def test_what_the_time_may_not_decide_goes_on_for_its_bound(pair: str) -> None:
    """Arms were given up at block 13 "by 48 blocks", and half of the time stayed unused."""
    found = _stopped({DOUBLE: globals()[pair], ARM: WILD, OTHER: NEVER_RAN})
    assert found == {}


def test_natives_stop_with_the_last_arm_and_each_case_for_itself() -> None:
    both = _stopped({DOUBLE: SAME, ARM: FAR, OTHER: SAME})
    assert both.keys() == {REFERENCE, DOUBLE, ARM, OTHER}
    assert {stop.reason for stop in both.values()} == {DECIDED}
    assert both[DOUBLE].detail == "no other arm of the case goes on"
    assert _stopped({DOUBLE: SAME, ARM: FAR, OTHER: WILD}).keys() == {ARM}
    plan = Layout({"c": {}, "d": {}}, (ARM,), (0,) * MOST, MARGIN, looks=LOOKS).plan()
    of_c, of_d = _compared({DOUBLE: SAME, ARM: SAME}), _compared({DOUBLE: SAME, ARM: OPEN})
    moved = [replace(each, case="d") for each in of_d]
    assert {stop.case for stop in stops(plan, of_c + moved, ())} == {"c"}


def test_what_is_only_reported_stops_at_the_first_look_and_holds_nothing_up() -> None:
    plain = {arm: decide(_effects(0, 0.01), None) for arm in (DOUBLE, ARM)}
    found = {stop.arm: stop for stop in stops(_plan(margin=None), _compared(plain), ())}
    assert found[ARM] == Stop("c", ARM, REPORTED, "nothing of it is to be decided")
    assert found.keys() == {REFERENCE, DOUBLE, ARM}
    # They have no margin and are not planned; nor do planned ones without a margin.
    plan, decided = _plan(), _compared({DOUBLE: SAME, ARM: SAME})
    beside = _compared({ARM: decide(_effects(0, 1), None)}, metric="memory")
    unplanned = [replace(each, planned=False) for each in beside]
    for more in (beside, unplanned):
        assert {stop.reason for stop in stops(plan, decided + more, ())} == {DECIDED}


@pytest.mark.parametrize(("left", "late"), [
    # In seconds of runs, where a block of a case takes three and a stage ten blocks.
    (90, set()), (60, {"far"}), (40, {"wide", "far"}), (10, {"near", "far"}),
])  # fmt: skip
def test_cases_race_for_the_time_that_is_left(left: float, late: set[str]) -> None:
    """What is nearest to its decision first, then the widest bound; one goes on in any case."""
    deviations = {"wide": 0.5, "far": 0.2, "near": 0.015}
    parameters = {case: {} for case in deviations}
    plan = Layout(parameters, (ARM,), (0,) * MOST, MARGIN, looks=LOOKS).plan()
    compared = [
        replace(each, case=case)
        for case, deviation in deviations.items()
        for each in _compared({DOUBLE: OPEN, ARM: _decision(0, deviation)})
    ]
    seconds = {(case, arm): 1.0 for case in deviations for arm in (REFERENCE, DOUBLE, ARM)}
    found = waiting(plan, 10, compared, (), seconds, left)
    assert {(stop.case, stop.arm) for stop in found} == {run for run in seconds if run[0] in late}
    assert {stop.reason for stop in found} <= {WAITING}
    # What is stopped takes no time, and waits for nothing.
    ended = [Stop(case, arm, DECIDED, "") for case, arm in seconds if case == "near"]
    assert not {stop.case for stop in waiting(plan, 10, compared, ended, seconds, 60)}


def test_what_lies_near_an_end_of_its_margin_is_far_from_its_decision() -> None:
    """It took all of the time, because its interval was far from nothing."""
    at_the_end, even = _decision(0.009, 0.0045), _decision(0.0, 0.018)
    assert _blocks_to_go(at_the_end)[0] > 2 * _blocks_to_go(even)[0]


def test_what_was_stopped_stays_as_it_was() -> None:
    """Even if it would look otherwise now: its blocks ended then."""
    before = [Stop("c", ARM, DECIDED, "time equivalent after 5")]
    found = _stopped({DOUBLE: OPEN, ARM: OPEN, OTHER: OPEN}, before)
    assert list(found.values()) == before
    # And it counts as stopped where the natives wait for the last.
    found = _stopped({DOUBLE: SAME, ARM: OPEN, OTHER: SAME}, before)
    assert found[ARM] == before[0] and found.keys() == {REFERENCE, DOUBLE, ARM, OTHER}


def test_all_metrics_of_an_arm_have_to_be_decided() -> None:
    plan = _plan()
    compared = _compared({DOUBLE: SAME, ARM: SAME})
    open_too = _compared({DOUBLE: SAME, ARM: OPEN}, metric="rate")
    assert stops(plan, compared + open_too, ()) == ()
