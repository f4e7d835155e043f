"""A look through the whole way: raw logs of the blocks so far, gathered, parsed and analysed."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace
from planted_truth.logs import Planted, plant
from planted_truth.study import (
    CONTAINERS,
    DOUBLE,
    PROCESSOR,
    REFERENCE,
    Campaign,
    Noise,
)
from planted_truth.trials import collect

from parity.analysis import conclusions, evidence
from parity.analysis.contrast import Engine
from parity.analysis.dataset import load
from parity.analysis.looks import look_at, share_left, stops_in_time
from parity.core.errors import UserError
from parity.plan.looks import DECIDED, HOPELESS, Look, Stop

EQUAL, COSTLY = CONTAINERS[:2]
LOOKS = (12, 16)


def _planted(folder: Path, noise: float, double: float = 1.0) -> Planted:
    """Three cases in 16 blocks, of which the first 12 are measured."""
    ratios = {DOUBLE: double, EQUAL: 1.0, COSTLY: 1.1}
    campaign = Campaign("looked", PROCESSOR, 3, LOOKS[-1], 0.01, Noise(run=noise), ratios)
    planted = plant(campaign, folder / "blocks", seed=1)
    plan = replace(planted.plan, looks=LOOKS)
    return dataclasses.replace(planted, plan=plan, folders=planted.folders[: LOOKS[0]])


def _collected(folder: Path, planted: Planted) -> Path:
    dataset = folder / "live" / planted.plan.campaign
    collect(planted, dataset)
    return dataset


def _look(folder: Path, planted: Planted, before: tuple[Stop, ...] = ()) -> Look:
    return look_at(_collected(folder, planted), 1, before, [], lambda _: LOOKS[-1])


def test_what_is_decided_by_a_look_stops_with_the_natives(tmp_path: Path) -> None:
    planted = _planted(tmp_path, noise=0.002)
    found = _look(tmp_path, planted)
    assert (found.number, found.blocks, found.seen) == (1, 12, 12)
    assert found.campaign == planted.plan.campaign
    for case in planted.plan.cases:
        reasons = {arm: found.by_run[case.name, arm].reason for arm in planted.plan.arms}
        assert reasons == dict.fromkeys((REFERENCE, DOUBLE, EQUAL, COSTLY), DECIDED)
        assert found.by_run[case.name, EQUAL].detail == "time equivalent after 12"
        assert found.by_run[case.name, COSTLY].detail == "time different after 12"


def test_a_pair_that_differs_gives_all_up(tmp_path: Path) -> None:
    found = _look(tmp_path, _planted(tmp_path, noise=0.002, double=1.05))
    assert {stop.reason for stop in found.stops} == {HOPELESS}
    assert len(found.stops) == 3 * 4


def test_what_earlier_looks_stopped_is_kept(tmp_path: Path) -> None:
    planted = _planted(tmp_path, noise=0.002)
    before = Stop(planted.plan.cases[0].name, EQUAL, HOPELESS, "as it was")
    assert before in _look(tmp_path, planted, (before,)).stops


def test_runs_that_are_excluded_decide_nothing(tmp_path: Path) -> None:
    planted = _planted(tmp_path, noise=0.002)
    dataset = _collected(tmp_path, planted)
    case = planted.plan.cases[0].name
    said = {"run": f"{case}.{EQUAL}", "reason": "made up", "who": "nobody", "date": "2026-01-01"}
    name = f"live/{planted.plan.campaign}"
    excluded = [{"dataset": name, "block": each.name, **said} for each in planted.folders]
    found = look_at(dataset, 1, (), excluded, lambda _: LOOKS[-1])
    assert found.by_run[case, EQUAL].reason == HOPELESS
    assert found.by_run[case, COSTLY].reason == DECIDED


def test_a_dataset_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        look_at(tmp_path / "live" / "nothing", 1, (), [], lambda _: LOOKS[-1])


def test_what_is_stopped_leaves_its_time_to_the_others() -> None:
    seconds = pd.Series({("a", "x"): 2.0, ("a", "y"): 2.0, ("b", "x"): 4.0})
    assert share_left(seconds, (), ()) == 1
    assert share_left(seconds, (), {("b", "x"), ("b", "y")}) == 0.5
    assert share_left(seconds, {("b", "x")}, {("a", "y")}) == 0.5
    assert share_left(seconds, (), set(seconds.index)) == 0


def test_of_what_has_no_chance_the_longest_case_leaves_its_time_first(tmp_path: Path) -> None:
    """All cases are alike and open; there is time for many blocks of two of them."""
    planted = _planted(tmp_path, noise=0.02)
    seen = load(_collected(tmp_path, planted))
    engine = Engine(seen, evidence.numbers(seen.metrics))
    compared = [each for each, _ in conclusions.comparisons(engine)]
    cases = [case.name for case in planted.plan.cases]
    seconds = pd.Series(
        {(case, arm): 9.0 if case == cases[1] else 1.0 for case in cases for arm in seen.plan.arms}
    ).rename_axis(["case", "arm"])
    found = stops_in_time(
        seen.plan, compared, (), seconds, lambda share: LOOKS[0] if share > 0.5 else 10_000
    )
    assert {stop.case for stop in found if stop.reason == HOPELESS} == {cases[1]}


def test_what_would_be_hopeless_goes_on_where_others_leave_it_their_time(tmp_path: Path) -> None:
    """Half of the arms are decided, so that there can be more blocks of the others."""
    planted = _planted(tmp_path, noise=0.02)
    dataset = _collected(tmp_path, planted)
    asked: list[float] = []

    def most(share: float) -> int:
        asked.append(share)
        return LOOKS[0] if share == 1 else 10_000

    found = look_at(dataset, 1, (), [], most)
    assert asked[0] == 1 and 0 < asked[1] < 1
    assert {stop.reason for stop in found.stops} == {DECIDED}
