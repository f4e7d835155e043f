"""A positive control: what the study says of it, what the plan runs, and what its arm is."""

import json
from pathlib import Path
from typing import Any

import pytest
from plans import study_of

from parity.benchmarks import benchmarks
from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, PLAN_VERSION, Plan, read_plan
from parity.runtimes import arms, every_arm

PLUS, NATIVE = "native-plus", ["native-a", "native-b"]
LIKWID = {"margin_percent": 2, "factors": {"kernel": ["copy"]}, "parameters": {"iterations": 25}}
STUDY: dict[str, Any] = {
    "arms": [*NATIVE, PLUS, "namespaces"],
    "positive_control": {"arm": PLUS, "work_percent": 4},
    "benchmarks": {
        "sysbench": {"margin_percent": 1},
        "hpcc": {"margin_percent": 5},
        "likwid": LIKWID,
        "startup": {"margin_percent": None, "factors": {"cache": ["warm"]}},
    },
}


def _plan(folder: Path, **changes: Any) -> Plan:
    return make_plan(study_of(folder, **STUDY | changes))


def _refused(folder: Path, **changes: Any) -> UserError:
    with pytest.raises(UserError) as refused:
        _plan(folder, **changes)
    return refused.value


def test_it_does_more_of_the_same_work_and_all_others_do_the_case_s(tmp_path) -> None:
    plan = _plan(tmp_path)
    sysbench = plan.case("sysbench")
    assert plan.case_in(sysbench, "namespaces") is sysbench
    more = plan.case_in(sysbench, PLUS)
    assert more.parameters == sysbench.parameters | {"events": 2912}
    assert plan.extra_work(sysbench, PLUS) == pytest.approx(1.04)
    assert plan.extra_work(sysbench, "native-b") == 1
    assert plan.case_in(plan.case("likwid-copy"), PLUS).parameters["iterations"] == 26


def test_it_is_run_where_work_has_a_unit_and_declared_as_absent_elsewhere(tmp_path) -> None:
    plan = _plan(tmp_path)
    for block in plan.blocks:
        run = {run.case for run in block.runs if run.arm == PLUS}
        assert run == {"sysbench", "likwid-copy"}
        assert {r.case for r in block.runs if r.arm == "namespaces"} == {c.name for c in plan.cases}
    assert {(e.arm, e.benchmark) for e in plan.not_tested} == {(PLUS, "hpcc"), (PLUS, "startup")}
    assert {c.case for c in plan.comparisons if c.arm == PLUS} == {"sysbench", "likwid-copy"}


@pytest.mark.parametrize(
    ("margin", "iterations", "reason"),
    [(4, 25, "not beyond its margin"), (2, 6, "6 iterations have no whole unit for 4 % more")],
)
def test_a_control_that_could_not_come_out_is_none(margin, iterations, reason, tmp_path) -> None:
    likwid = LIKWID | {"margin_percent": margin, "parameters": {"iterations": iterations}}
    known = {"sysbench": STUDY["benchmarks"]["sysbench"]}
    plan = _plan(tmp_path, benchmarks=known | {"likwid": likwid})
    assert [entry.benchmark for entry in plan.not_tested] == ["likwid"]
    assert reason in plan.not_tested[0].reason
    refused = _refused(tmp_path, benchmarks={"likwid": likwid})
    assert "no case can have a positive control" in refused.what and reason in refused.what


def test_what_a_study_says_of_it_wrongly_is_refused(tmp_path) -> None:
    assert "does not say how much" in _refused(tmp_path, positive_control=None).what
    other = {"arm": "namespaces", "work_percent": 4}
    assert _refused(tmp_path, positive_control=other).allowed == PLUS
    assert "arm of this study" in _refused(tmp_path, arms=[*NATIVE, "namespaces"]).what
    assert "not native" in _refused(tmp_path, aa_pair=["native-a", PLUS]).what


def test_blocks_and_figures_say_how_much_it_does_and_a_scale_may_leave_it_out(tmp_path) -> None:
    plan, other = _plan(tmp_path), {"arm": PLUS, "work_percent": 8}
    assert plan.arm_titles[PLUS] == "Native, 4 % more work"
    assert plan.blocks[0].name != _plan(tmp_path, positive_control=other).blocks[0].name
    without = _plan(tmp_path, scales={"smoke": {"blocks": 2, "arms": [*NATIVE, "namespaces"]}})
    assert without.positive_control is None and not (without.positive_arm or without.not_tested)


def test_its_arm_runs_the_bare_program_and_is_no_native_of_a_pair() -> None:
    assert [name for name, arm in every_arm().items() if arm.does_more] == [PLUS]
    plus, native = arms()[PLUS], arms()["native-a"]
    assert not plus.is_native and plus.image_format is None
    assert plus.runtime == native.runtime and plus.look != native.look
    with_work = [each for each in benchmarks().values() if each.work]
    assert {each.parameters[each.work]["type"] for each in with_work} == {"integer"}


def test_version_4_of_a_plan_has_none_and_what_names_a_case_that_is_not_there_is_refused(tmp_path):
    without = _plan(tmp_path, arms=NATIVE, positive_control=None)
    content = json.loads(canonical(without)) | {"version": 4}
    del content["positive_control"]
    (tmp_path / PLAN).write_text(json.dumps(content))
    plan = read_plan(tmp_path / PLAN)
    assert plan.version == PLAN_VERSION and plan.positive_control is None
    content = json.loads(canonical(_plan(tmp_path)))
    elsewhere = content["positive_control"] | {"parameters": {"nowhere": {"events": 2}}}
    for key, change in (
        ("positive_control", {"positive_control": elsewhere}),
        ("blocks", {"cases": []}),
    ):
        (tmp_path / PLAN).write_text(json.dumps(content | change))
        with pytest.raises(UserError) as refused:
            read_plan(tmp_path / PLAN)
        assert refused.value.where == f"{tmp_path / PLAN}: {key}"
