"""Claims about programs at scale are judged by the runs whose events they were simulated with."""

from pathlib import Path

import claims_data as data
import numpy as np
import pytest

from parity.analysis import tables
from parity.claims.cells import JudgingData
from parity.claims.register import declared
from parity.claims.verdicts import judge
from parity.extensions.noise.analysis import study
from parity.extensions.noise.claims.replayed import SHORT, with_events

BLOCKS = 20
CELLS = {
    "benchmark": "selfish-replay", "metric": "slowdown", "arms": ["box"],
    "parameters": {"mode": "detours", "step_seconds": 0.001},
}  # fmt: skip
AT_MOST = data.test_of("non-inferiority", CELLS, margin_percent=1)
RISES = data.test_of("trend", CELLS, along="ranks", expect="rising", smallest_effect_percent=1)
PARAMETERS = {"mode": "detours", "seconds": 30}
CASE = {"case": "selfish-detours", "benchmark": "selfish", "parameters": PARAMETERS}


def judging(
    ratios: dict[int, float], silent: tuple[str, int] = ("", 0), injected: int = 0
) -> JudgingData:
    """A dataset of selfish with the slowdown of `box` over that of native at each number of ranks.

    Args:
        silent: an arm without any number for so many ranks.
        injected: so long are the events, in µs, that native meets besides, instead of `box`; or 0.
    """
    runs = data.quiet("selfish-detours", blocks=BLOCKS)
    made, analysis = data.dataset(runs, [CASE], metric="noise_share")
    rows = []
    for ranks, ratio in ratios.items():
        name = study.replay_case("selfish-detours", ranks, 1e-3)
        if injected:
            name = study.injected_case("selfish-detours", ranks, 1e-3, injected)
        metric, unit = study.STEP_TIME if injected else study.SLOWDOWN
        for (_, arm), values in data.quiet(name, box=ratio, blocks=BLOCKS, spread=0.002).items():
            if (arm, ranks) == silent:
                continue
            rows += [
                {"case": name, "metric": metric, "block": block.name,
                 "arm": study.INJECTED if injected and arm == "box" else arm,
                 "run": f"selfish-detours.{arm}", "value": 2 * value, "unit": unit,
                 "better": "lower"}
                for block, value in zip(made.plan.blocks, values, strict=True)
            ]  # fmt: skip
    values = tables.frame(study.VALUES["event_values"], rows)
    return with_events(JudgingData(made, analysis), values)


def verdict(folder: Path, test: dict, seen: JudgingData):
    return data.row(judge(data.register(folder, data.claim(test)), [seen], ()))


@pytest.mark.parametrize(("ratio", "ended"), [(1.0, "supported"), (1.05, "contradicted")])
def test_a_planted_slowdown_is_judged_as_any_cost_is(tmp_path: Path, ratio: float, ended: str):
    found = verdict(tmp_path, AT_MOST, judging({1: 1.0, 32: 1.0, 1024: ratio}))
    assert found.verdict == ended, found.reason
    assert found.blocks == BLOCKS


def test_a_quota_that_hurts_the_more_the_larger_the_program_is_a_trend(tmp_path: Path) -> None:
    rising = judging({1: 1.01, 32: 1.1, 1024: 1.5})
    assert verdict(tmp_path, RISES, rising).verdict == "supported"
    level = verdict(tmp_path, RISES, judging({1: 1.2, 32: 1.2, 1024: 1.2}))
    assert level.verdict == "inconclusive"


@pytest.mark.parametrize(("ratio", "ended"), [(1.0, "supported"), (1.05, "contradicted")])
def test_events_of_a_told_length_are_an_arm_beside_both_natives(tmp_path, ratio, ended) -> None:
    cells = {"benchmark": "noise-replay", "metric": "time", "arms": [study.INJECTED],
             "parameters": {"events_per_second": 1, "duration_us": 100}}  # fmt: skip
    test = data.test_of("non-inferiority", cells, margin_percent=1)
    seen = judging({1024: ratio}, injected=100)
    found = verdict(tmp_path, test, seen)
    assert found.verdict == ended, found.reason
    assert found.blocks == BLOCKS and study.INJECTED in seen.plan.arms
    # No container is in it, and the arm is in no other case.
    case = study.injected_case("selfish-detours", 1024, 1e-3, 100)
    of_arm = {(run.case, run.arm) for block in seen.plan.blocks for run in block.runs}
    assert {arm for name, arm in of_arm if name == case} == {"native-a", "native-b", study.INJECTED}
    assert {name for name, arm in of_arm if arm == study.INJECTED} == {case}


def test_what_runs_are_too_short_for_is_said(tmp_path: Path) -> None:
    found = verdict(tmp_path, AT_MOST, judging({1024: 1.0}, silent=("box", 1024)))
    assert found.verdict == "not-tested" and SHORT in found.reason
    none = verdict(tmp_path, AT_MOST, judging({}))
    assert none.reason == "the dataset holds no case of selfish-replay"


def test_cases_and_numbers_of_the_runs_stay_what_they_were() -> None:
    seen, plain = judging({1: 1.0}), judging({})
    case, metric = "selfish-detours", "noise_share"
    one, other = (each.cell(case, metric, "box", "native-a") for each in (seen, plain))
    assert np.array_equal(one.effects(), other.effects())
    assert one.evidence().objection == other.evidence().objection
    replayed = seen.plan.case(study.replay_case(case, 1, 1e-3)).parameters
    assert replayed == PARAMETERS | {"ranks": 1, "step_seconds": 0.001}
    # A dataset without events is as it was.
    plain = JudgingData(*data.dataset(data.quiet()))
    nothing = tables.frame(study.VALUES["event_values"], [])
    again = with_events(plain, nothing)
    assert again.plan == plain.plan and again.dataset.runs is plain.dataset.runs
    assert again.analysis.values is plain.analysis.values


def test_what_follows_from_events_may_stand_in_a_claim() -> None:
    known = declared().benchmarks
    added = [quantity.metric for quantity in known["selfish"].metrics[-2:]]
    assert added == ["duration_return_level", "millisecond_detours_per_second"]
    assert [metric.metric for metric in known["selfish-replay"].metrics] == ["slowdown"]
    assert known["selfish-replay"].parameters["ranks"] == {"enum": [1, 32, 1024, 32768, 2**20]}
    of_events = {name for name in known if name.endswith("-replay")}
    assert {name for name in of_events if not name.startswith("selfish")} == {"noise-replay"}
    assert declared().simulated == {study.INJECTED}
