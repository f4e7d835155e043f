"""Two lengths of a case: what is paid once, and what the work costs, told apart."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plans import study_of

from parity.analysis import conclusions, evidence, tables
from parity.analysis.analysis import analyse
from parity.analysis.contrast import Engine
from parity.analysis.dataset import Dataset, excluded_runs
from parity.analysis.looks import stops
from parity.benchmarks.own_program import COMMAND
from parity.core.errors import UserError
from parity.core.settings import load_yaml
from parity.plan.making import make_plan
from parity.plan.plan import Plan
from parity.plan.system import kind_of
from parity.preview.simulated import planned_runs
from parity.records import schema
from parity.records.parse import length_rows
from parity.report import answer

STUDY = Path(__file__).parents[3] / "config/studies/torrez2019.yaml"
OWN = {"title": "Mine", "program": ["/bin/date"], "binaries": ["/bin/date"]}
# Seconds that an arm takes before the work, and what the work costs in it.
TRUTH = {
    "native-a": (0.01, 1.0), "native-b": (0.01, 1.0), "podman": (0.24, 1.0),
    "apptainer": (0.1, 1.05), "native-plus": (0.01, 1.05),
}  # fmt: skip
BLOCKS, SECONDS, SHARE = 20, 2.0, 0.2


def _plan(folder: Path, short: dict[str, float], command: dict[str, Any] | None = None) -> Plan:
    document = load_yaml(STUDY)
    document["arms"] = [*TRUTH]
    document["positive_control"] = {"arm": "native-plus", "work_percent": 5}
    document["benchmarks"]["own"] = {"margin_percent": 2, "command": OWN | (command or {})}
    scale = {"blocks": BLOCKS, "benchmarks": [*short], "short": short}
    return make_plan(study_of(folder, **document | {"scales": {"tiny": scale}}))


def test_every_block_runs_a_case_at_both_lengths_and_compares_what_they_tell(tmp_path) -> None:
    plan = _plan(tmp_path, {"sysbench": SHARE, "own": 0})
    case, own = plan.cases
    assert case.primary == ("time", "work_seconds", "fixed_seconds")
    assert case.differences == ("fixed_seconds",)
    shorter, nothing = plan.shorter
    assert (shorter.of, shorter.share) == (case.name, SHARE)
    assert shorter.case.parameters == case.parameters | {"events": case.parameters["events"] / 5}
    assert shorter.case.primary == () and nothing.case.parameters[COMMAND]["program"] == []
    for block in plan.blocks:
        assert {run.case for run in block.runs} == {each.name for each in plan.run_cases}
    assert {each.case for each in plan.comparisons} == {case.name, own.name}
    # The control does more work in both; a program without a unit of work has none.
    assert plan.positive_control.parameters.keys() == {case.name, shorter.case.name}
    assert [q.metric for q in plan.quantities(own)] == ["time", "work_seconds", "fixed_seconds"]


@pytest.mark.parametrize(("short", "command", "said"), [
    ({"startup": 0.1}, {}, "the work of startup-cold has no unit"),
    ({"hpcc": 0.1}, {}, "the work of hpcc has no unit"),
    ({"sysbench": 0.99999}, {}, "cannot be run with 0.99999 of its work"),
    ({"own": 0.1}, {}, "cannot be run with 0.1 of its work"),
    ({"own": 0}, {"shorter": ["/bin/date", "-u"]}, "cannot be run with 0 of its work"),
    ({"sysbench": 1}, {}, "1"), ({"sysbench": -0.1}, {}, "-0.1"), ({"likwidd": 0.1}, {}, "likwidd"),
])  # fmt: skip
def test_what_has_no_shorter_run_is_refused_with_its_key(tmp_path, short, command, said) -> None:
    with pytest.raises(UserError, match=said) as refused:
        _plan(tmp_path, short, command)
    assert "scales.tiny" in refused.value.where


def _left(plan: Plan, scatter: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs of a plan with what TRUTH makes of them, and all their numbers."""
    runs, random = planned_runs(plan), np.random.default_rng(7)
    shares = {shorter.case.name: shorter.share for shorter in plan.shorter}
    share = runs["case"].map(lambda name: shares.get(name, 1.0))
    fixed, cost = (runs["arm"].map(lambda arm, i=i: TRUTH[arm][i]) for i in (0, 1))
    work = SECONDS * share * cost * np.exp(scatter * random.standard_normal(len(runs)))
    runs = runs.assign(wall_seconds=fixed + work, started="2026-01-01T10:00:00+00:00")
    rows: list[dict[str, Any]] = []

    def untold(run: dict[str, Any]) -> float:
        return TRUTH[run["arm"]][0] if run["benchmark"] == "sysbench" else 0.0

    for _, of_block in runs.groupby("block", sort=False):
        timed = [
            run | {"metric": "time", "value": run["wall_seconds"] - untold(run), "unit": "s",
                   "better": "lower", "clock": "internal", "primary": False, "valid": True}
            for run in of_block.to_dict("records")
        ]  # fmt: skip
        rows += [*timed, *length_rows(plan, of_block.to_dict("records"), timed)]
    return runs, pd.DataFrame(rows)


def test_without_scatter_both_parts_are_what_was_put_in(tmp_path) -> None:
    # By the program's own time, and by the wall clock with a run that does nothing.
    plan = _plan(tmp_path, {"sysbench": SHARE, "own": 0})
    _, metrics = _left(plan, 0.0)
    told = metrics.groupby(["case", "arm", "metric"])["value"]
    for case in plan.cases:
        for arm in plan.arms_of(case.name):
            fixed, cost = TRUTH[arm]
            work, once = (
                told.get_group((case.name, arm, name)) for name in ("work_seconds", "fixed_seconds")
            )
            assert len(work) == len(once) == BLOCKS
            assert work.to_numpy() == pytest.approx(SECONDS * cost)
            assert once.to_numpy() == pytest.approx(fixed)


def _dataset(plan: Plan, scatter: float = 0.003) -> tuple[Dataset, pd.DataFrame]:
    runs, metrics = _left(plan, scatter)
    nodes, images = (tables.frame(table, []) for table in (schema.NODES, schema.IMAGES))
    return Dataset("live/x", plan, "", kind_of(["vm"]), runs, metrics, nodes, images), metrics


def test_the_work_alone_is_concluded_on_and_what_is_paid_once_is_told(tmp_path) -> None:
    plan = _plan(tmp_path, {"sysbench": SHARE})
    dataset, metrics = _dataset(plan)
    numbers = evidence.numbers(evidence.counted_values(metrics, metrics.iloc[:0]))
    compared = [row for row, _ in conclusions.comparisons(Engine(dataset, numbers))]
    assert {row.case for row in compared} == {"sysbench"}
    made = {(row.metric, row.arm): row.columns() for row in compared}
    for arm, (fixed, cost) in TRUTH.items():
        if arm != plan.reference:
            work, once = made["work_seconds", arm], made["fixed_seconds", arm]
            assert work["low95"] < cost < work["high95"] < work["low95"] * 1.01
            assert once["low95"] < fixed - TRUTH[plan.reference][0] < once["high95"]
            assert work["outcome"] == ("equivalent" if cost == 1 else "different")
    # All is decided, so neither length is run any more.
    ended = {(stop.case, stop.arm) for stop in stops(plan, compared, ())}
    assert ended == {(case.name, arm) for case in plan.run_cases for arm in plan.arms}


def test_the_work_alone_is_counted_also_where_its_ratio_is_that_of_the_whole_run(tmp_path) -> None:
    plan = _plan(tmp_path, {"sysbench": SHARE})
    dataset, _ = _dataset(plan, 1e-5)
    compared = (plan, analyse(dataset).comparisons)
    counted = {(one.row.metric, one.row.arm) for one in answer.counted(compared)}
    assert counted == {("work_seconds", "podman"), ("work_seconds", "apptainer")}
    start = answer.starts(compared)["sysbench", "podman"]
    assert start.startswith("+230") and "ms to start" in start


def test_who_excludes_a_shorter_run_excludes_what_it_tells_of_the_longer(tmp_path) -> None:
    plan = _plan(tmp_path, {"sysbench": SHARE})
    dataset, metrics = _dataset(plan)
    block = plan.blocks[3].name
    entry = dict.fromkeys(("reason", "who", "date"), "x") | {"dataset": "live/x", "block": block}
    left_out = excluded_runs([entry | {"run": "sysbench-short.podman"}], dataset)
    assert left_out["run"].tolist() == ["sysbench-short.podman", "sysbench.podman"]
    counted = evidence.numbers(evidence.counted_values(metrics, left_out))
    assert block not in counted["sysbench", "work_seconds"].of("podman")
    assert block in counted["sysbench", "work_seconds"].of("apptainer")
