"""Programs in a study's file: what is taken, and what is refused before anything is measured."""

from pathlib import Path
from typing import Any

import pytest
from plans import study_of

from parity.benchmarks.model import NodeFacts
from parity.benchmarks.own_program import said
from parity.core.errors import UserError
from parity.core.files import digest
from parity.core.private import Private
from parity.plan.making import make_plan
from parity.plan.plan import plan_digest, read_plan, write_plan
from parity.plan.study import Study

METRIC = {"name": "loop", "pattern": r"^Loop ([\d.]+) s", "unit": "s", "better": "lower"}


def entry_of(**command: Any) -> dict[str, Any]:
    return {
        "margin_percent": 5,
        "factors": {"mode": ["cold", "warm"]},
        "parameters": {"steps": [10, 20]},
        "command": {
            "title": "Melt", "program": ["/usr/bin/melt", "{steps}", "{mode}"],
            "binaries": ["/usr/bin/melt"], "metrics": [METRIC], **command,
        },
    }  # fmt: skip


def load(folder: Path, name: str = "melt", entry: Any = None, **study: Any) -> Study:
    arms = study.pop("arms", ["native-a", "native-b", "podman"])
    return study_of(folder, arms=arms, benchmarks={name: entry or entry_of()}, **study)


def test_a_program_has_cases_as_any_benchmark_and_the_plan_alone_knows_it(tmp_path: Path) -> None:
    study = load(tmp_path)
    names = ["melt-cold-steps_10", "melt-cold-steps_20", "melt-warm-steps_10", "melt-warm-steps_20"]
    assert [case.name for case in study.cases] == names
    assert {case.primary for case in study.cases} == {("loop",)}
    assert study.cases[0].parameters["steps"] == 10
    scale = {"tiny": {"blocks": 2, "parameters": {"melt": {"steps": 7}}}}
    assert {case.parameters["steps"] for case in load(tmp_path, scales=scale).cases} == {7}
    write_plan(tmp_path / "plan.json", make_plan(study))
    plan = read_plan(tmp_path / "plan.json")
    assert plan.benchmark_titles == {"melt": "Melt"}
    made, planned = (each.definitions["melt"] for each in (study, plan))
    assert (made.metrics, made.title) == (planned.metrics, planned.title)
    # The number of ranks stands in words of a program on allocations.
    entry = entry_of(program=["/melt", "{steps}", "{mode}", "{ranks}"])
    placed = load(tmp_path, entry=entry | {"allocations": ["1x2"]}).cases[0]
    assert placed.name == "melt-1x2-cold-steps_10" and placed.is_placed


def test_a_plan_without_the_machine_s_folders_is_read_and_registered_as_before(tmp_path: Path):
    path = tmp_path / "plan.json"
    words = ["/home/me/melt", "{steps}", "{mode}", "--in=/root/in.dat"]
    write_plan(path, make_plan(load(tmp_path, entry=entry_of(program=words))))
    text, registered = path.read_text(), plan_digest(path)
    path.write_text(Private().left_out(text))
    assert path.read_text() != text and plan_digest(path) == registered
    plan = read_plan(path)
    assert plan.definitions["melt"].title == "Melt"
    assert said(plan.cases[0].parameters)["command"] == "{home}/melt 10 cold --in={home}/in.dat"


def test_another_content_of_what_it_needs_is_another_block(tmp_path: Path) -> None:
    given = tmp_path / "in.dat"
    given.write_text("1")
    entry = entry_of(needs=[str(given)])
    before = make_plan(load(tmp_path, entry=entry))
    assert before.needs == {str(given): digest(given)}
    given.write_text("2")
    after = make_plan(load(tmp_path, entry=entry))
    assert {b.name for b in before.blocks}.isdisjoint(b.name for b in after.blocks)
    other_title = entry_of(needs=[str(given)], title="Other", valid="x")
    same = make_plan(load(tmp_path, entry=other_title))
    assert [b.name for b in same.blocks] == [b.name for b in after.blocks]


@pytest.mark.parametrize(("change", "said"), [
    ({"program": ["/usr/bin/melt", "{step}", "{mode}"]}, "unknown place: step"),
    ({"program": ["/usr/bin/melt", "{steps}"]}, "no word holds {mode}"),
    ({"program": ["/melt", "{steps}", "{mode}", "{ranks}"]}, "unknown place: ranks"),
    ({"program": ["melt", "{steps}", "{mode}"]}, "melt is no absolute path"),
    ({"program": ["/melt", "a\nb"]}, "is not a safe name"),
    ({"program": []}, "program"),
    ({"binaries": ["bin/melt"]}, "is not a safe name"),
    ({"needs": ["data"]}, "is not a safe name"),
    ({"needs": ["/nowhere/in.dat"]}, "/nowhere/in.dat cannot be read"),
    ({"metrics": [METRIC, METRIC | {"unit": "ms"}]}, "loop is a metric already"),
    ({"metrics": [METRIC | {"name": "time"}]}, "time is a metric already"),
    ({"metrics": [METRIC | {"name": "tcp_timeouts"}]}, "tcp_timeouts is a metric already"),
    ({"metrics": [METRIC | {"pattern": "Loop"}]}, "has 0 groups"),
    ({"metrics": [METRIC | {"pattern": "((a+)+)"}]}, "melt.command.metrics.loop.pattern"),
    ({"metrics": [METRIC | {"better": "faster"}]}, "faster"),
    ({"valid": "(well)"}, "has 1 groups"),
    ({"work": "mode"}, "unknown parameter in whole units: mode"),
    ({"files": {"../x": ""}}, "files"),
    ({"environment": {"A": "{x}"}}, "unknown place: x"),
    ({"cpus": 0}, "cpus"),
])  # fmt: skip
def test_what_does_not_fit_together_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    with pytest.raises(UserError) as error:
        load(tmp_path, entry=entry_of(**change))
    assert said in str(error.value) and "benchmarks.melt.command" in str(error.value)


def test_a_step_runs_the_line_that_the_study_gives_it(tmp_path: Path) -> None:
    arms = ["native-a", "native-b", "step-1"]
    lines = {arm: {"title": arm.upper(), "words": ["/melt", f"{{{arm}}}\n"]} for arm in arms}
    entry = {"margin_percent": 5, "command": entry_of(as_given=lines)["command"]}
    entry["command"]["program"] = ["/melt"]
    study = load(tmp_path, entry=entry, arms=arms)
    plan, node = make_plan(study), NodeFacts((0, 1), 0, 0)
    assert plan.arm_titles["step-1"] == "STEP-1" and plan.arm_runtimes["step-1"] == "ladder"
    case = plan.case_in(plan.cases[0], "step-1")
    program = case.definition.program(case.parameters, node)
    assert program.argv == ("/melt", "{step-1}\n") and program.as_given
    with pytest.raises(UserError, match="unknown arm with a given line: step-2"):
        load(tmp_path, entry=entry, arms=[*arms, "step-2"])
    with pytest.raises(UserError, match="unknown arm of this study: step-1"):
        load(tmp_path, entry=entry, arms=arms[:2])


def test_names_of_something_else_are_refused(tmp_path: Path) -> None:
    for kind, name in (("factors", "ranks"), ("factors", "steps"), ("parameters", "command")):
        change = {kind: {name: ["one"] if kind == "factors" else 1}}
        with pytest.raises(UserError, match=f"{name} is the name of something else"):
            load(tmp_path, entry=entry_of() | change)
    with pytest.raises(UserError, match="sysbench is a benchmark of Parity"):
        load(tmp_path, "sysbench", entry_of())
    with pytest.raises(UserError, match="unknown benchmark: melt"):
        load(tmp_path, entry={"margin_percent": 5})
    scale = {"tiny": {"blocks": 2, "parameters": {"melt": {"command": "x"}}}}
    with pytest.raises(UserError, match="'x' is not of the right type"):
        load(tmp_path, scales=scale)
