"""A look through the whole way: raw logs of the blocks so far, gathered, parsed and analysed."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from planted_truth.logs import Planted, plant
from planted_truth.study import CONTAINERS, DOUBLE, PROCESSOR, REFERENCE, Campaign, Noise
from planted_truth.trials import collect

from parity.analysis.analysis import analysed
from parity.analysis.looks import look_at
from parity.core.errors import UserError
from parity.plan.looks import DECIDED, HOPELESS, WAITING, Look, Stop

EQUAL, COSTLY = CONTAINERS[:2]
LOOKS = (12, 16)


def _planted(folder: Path, noise: float, double: float = 1.0) -> Planted:
    """Three cases in 16 blocks, of which the first 12 are measured."""
    ratios = {DOUBLE: double, EQUAL: 1.0, COSTLY: 1.1}
    campaign = Campaign("looked", PROCESSOR, 3, LOOKS[-1], 0.01, Noise(run=noise), ratios)
    planted = plant(campaign, folder / "blocks", seed=1)
    plan = replace(planted.plan, looks=LOOKS)
    return planted._replace(plan=plan, folders=planted.folders[: LOOKS[0]])


def _collected(folder: Path, planted: Planted) -> Path:
    dataset = folder / "live" / planted.plan.campaign
    collect(planted, dataset)
    return dataset


def _look(folder: Path, planted: Planted, before: tuple[Stop, ...] = ()) -> Look:
    return look_at(analysed(_collected(folder, planted)), 1, before)


def test_what_finds_no_time_waits_until_the_next_look(tmp_path: Path) -> None:
    planted = _planted(tmp_path, noise=0.05)
    seen = analysed(_collected(tmp_path, planted))
    found = look_at(seen, 1, (), (1000.0, 1.0)).stops
    waits = {stop.case for stop in found if stop.reason == WAITING}
    assert len(waits) == len(planted.plan.cases) - 1
    assert not [s for s in look_at(seen, 1, (), (1000.0, 1e9)).stops if s.reason == WAITING]


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


def test_what_a_pair_that_differs_leaves_open_goes_on_and_what_was_stopped_is_kept(tmp_path):
    planted = _planted(tmp_path, noise=0.002, double=1.05)
    before = Stop(planted.plan.cases[0].name, EQUAL, HOPELESS, "as it was")
    assert _look(tmp_path, planted, (before,)).stops == (before,)


def test_runs_that_are_excluded_decide_nothing(tmp_path: Path) -> None:
    planted = _planted(tmp_path, noise=0.002)
    dataset = _collected(tmp_path, planted)
    case = planted.plan.cases[0].name
    said = {"run": f"{case}.{EQUAL}", "reason": "made up", "who": "nobody", "date": "2026-01-01"}
    name = f"live/{planted.plan.campaign}"
    excluded = [{"dataset": name, "block": each.name, **said} for each in planted.folders]
    found = look_at(analysed(dataset, excluded), 1, ())
    assert (case, EQUAL) not in found.by_run
    assert found.by_run[case, COSTLY].reason == DECIDED


def test_a_dataset_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        analysed(tmp_path / "live" / "nothing")
