"""A benchmark from data alone: its words, its numbers, what a block is named by, its patterns.

A pattern has one group, and never so many ways that a parser hangs.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmark_help import golden, values

from parity.benchmarks import benchmark_of, benchmarks, openmpi
from parity.benchmarks.model import NodeFacts, Outputs
from parity.benchmarks.own_program import (
    LONGEST_LINE,
    OwnMetric,
    _number,
    check_pattern,
    compiled,
    filled_in,
    matches,
    said,
    what_runs,
)
from parity.benchmarks.reading import Refused
from parity.core.errors import UserError

NODE = NodeFacts((0, 1, 2, 3), 1 << 20, 1 << 30, ("n1",))
COMMAND: dict[str, Any] = {
    "title": "Melt", "binaries": ["/usr/bin/melt"], "packages": ["melt"], "cpus": 2,
    "program": ["/usr/bin/melt", "-n", "{steps}", "--{mode}", "{{x}}", "on={cpus}"],
    "environment": {"THREADS": "{cpus}"}, "files": {"in.melt": "units lj\nrun ${n}\n"},
    "metrics": [
        {"name": "loop", "pattern": r"^Loop ([\d.]+) s", "unit": "s", "better": "lower"},
        {"name": "rate", "pattern": r"(\S+) tau/day", "unit": "tau/day", "better": "higher",
         "title": "simulated time"},
    ],
    "valid": "^all well$", "work": "steps", "note": "Made up.",
}  # fmt: skip
PARAMETERS = {"command": COMMAND, "steps": 100, "mode": "cold"}
GOOD = "Loop 2.5 s\n1,234.5 tau/day\nall well\n"


def parse(stdout: str, command: dict[str, Any] = COMMAND, **left: Any) -> Any:
    parameters = PARAMETERS | {"command": command}
    outputs = Outputs(stdout=stdout, parameters=parameters, **left)
    return benchmark_of("melt", parameters).parse(outputs)


def test_the_words_are_those_of_the_study_and_without_cpus_it_has_all_of_the_node() -> None:
    program = benchmark_of("melt", PARAMETERS).program(PARAMETERS, NODE)
    assert program.argv == ("/usr/bin/melt", "-n", "100", "--cold", "{x}", "on=2")
    assert program.environment == {"THREADS": "2"} and program.cpus == (0, 1)
    assert program.files == COMMAND["files"] and program.ranks == 0
    parameters = PARAMETERS | {"command": {k: v for k, v in COMMAND.items() if k != "cpus"}}
    assert benchmark_of("melt", parameters).program(parameters, NODE).cpus == (0, 1, 2, 3)


def test_ranks_are_started_as_those_of_any_other_program_and_have_to_be_a_world() -> None:
    parameters = PARAMETERS | {"nodes": 1, "ranks": 2}
    program = benchmark_of("melt", parameters).program(parameters, NODE)
    assert (program.ranks, program.nodes, program.cpus) == (2, 1, (0, 1, 2, 3))
    assert openmpi.environment(2).items() <= program.environment.items()
    inside = NodeFacts((0, 1), 1, 1, ("n1",), launcher=False)
    words = benchmark_of("melt", parameters).program(parameters, inside).argv
    assert words[0] == openmpi.LAUNCHER and words.count("/usr/bin/melt") == 2
    found = benchmark_of("melt", parameters).parse(Outputs(stdout=GOOD, parameters=parameters))
    assert (found.valid, found.reason) == (False, "world-size")


def test_its_numbers() -> None:
    found = parse(GOOD)
    assert found.valid
    assert [(m.name, m.value, m.unit, m.better) for m in found.metrics] == [
        ("loop", 2.5, "s", "lower"), ("rate", 1234.5, "tau/day", "higher"),
    ]  # fmt: skip
    on_both = parse("Loop 2.5 s\nall well\n", stderr="7 tau/day\n")
    assert [m.value for m in on_both.metrics] == [2.5, 7]


@pytest.mark.parametrize(("stdout", "reason", "detail"), [
    (GOOD + "Loop 3 s\n", "unparsable", "loop: 2 lines match"),
    (GOOD.replace("Loop", "loop"), "unparsable", "loop: 0 lines match"),
    (GOOD.replace("1,234.5", "many"), "unparsable", "rate is 'many'"),
    (GOOD.replace("1,234.5", "nan"), "unparsable", "rate is 'nan'"),
    (GOOD.replace("all well", "not all well"), "check-failed", "all well"),
    (GOOD + "x\n" * (1 << 20), "unparsable", "characters"),
    ("", "check-failed", "all well"),
])  # fmt: skip
def test_what_is_not_printed_once_and_well_is_refused(stdout: str, reason: str, detail: str):
    found = parse(stdout)
    assert (found.valid, found.reason, found.metrics) == (False, reason, ())
    assert detail in found.detail


def test_without_a_pattern_the_wall_clock_counts_and_it_is_said() -> None:
    command = {k: v for k, v in COMMAND.items() if k not in ("metrics", "valid")}
    (metric,) = parse("anything", command, wall_seconds=(1.5,)).metrics
    assert (metric.name, metric.value, metric.unit, metric.clock) == ("time", 1.5, "s", "external")
    assert parse("anything", command).reason == "unparsable"
    known = benchmark_of("melt", PARAMETERS | {"command": command})
    assert known.primary == ("time",) and "wall clock" in known.note
    assert known.timed_seconds(Outputs(wall_seconds=(1.5,), parameters=PARAMETERS)) == 1.5


def test_a_plan_that_was_written_and_read_makes_the_same_program() -> None:
    assert benchmark_of("sysbench", {"events": 1}) is benchmarks()["sysbench"]
    again = benchmark_of("melt", json.loads(json.dumps(PARAMETERS)))
    assert again is benchmark_of("melt", PARAMETERS)
    assert [q.label for q in again.metrics] == ["loop", "simulated time"]
    assert (again.title, again.work, again.packages) == ("Melt", "steps", ("melt",))


def test_a_run_is_named_by_what_it_does_and_not_by_how_it_is_read() -> None:
    other = COMMAND | {"title": "X", "metrics": [], "valid": "x", "note": "x", "work": ""}
    assert what_runs(PARAMETERS) == what_runs(PARAMETERS | {"command": other})
    for key, value in (("program", ["/x"]), ("files", {}), ("cpus", 1), ("needs", {"/x": "1"})):
        changed = PARAMETERS | {"command": COMMAND | {key: value}}
        assert what_runs(changed) != what_runs(PARAMETERS)
    assert what_runs({"events": 1}) == {"events": 1}


def test_people_read_its_words() -> None:
    assert said(PARAMETERS)["command"] == "/usr/bin/melt -n 100 --cold {x} on={cpus}"
    assert filled_in("{a}{b}", {"a": True, "b": 0.5}) == "true0.5"


def test_it_is_there_if_its_files_are(tmp_path: Any) -> None:
    program, script = tmp_path / "run", tmp_path / "script"
    command = COMMAND | {"program": [str(program)], "binaries": [str(program), str(script)]}
    known = benchmark_of("melt", {"command": command})
    script.touch()
    assert known.probe().reason == f"not there, or not to be run: {program}"
    assert known.probe().remedy == "apt-get install melt"
    program.touch(mode=0o755)
    assert known.probe().available and os.access(program, os.X_OK)


SOLVED = COMMAND | {
    "metrics": [COMMAND["metrics"][0] | {"name": "time", "pattern": r"solved in ([\d.,]+) s"}],
    "valid": "converged",
}


@pytest.mark.parametrize(("printed", "value"), [
    ("12.5", 12.5), ("12,5", 12.5), ("0,75", 0.75), ("0,750", 0.75), ("1234,567", 1234.567),
    ("1.234,5", 1234.5), ("1,234.5", 1234.5), ("1,234,567", 1234567), ("1.234.567,8", 1234567.8),
    # Either sign, or none of both.
    ("1,234", None), ("12,345", None), ("1,23,4", None), ("1.23,45,6", None), (",", None),
    ("1.234.567", None), ("1,234.5,6", None),
])  # fmt: skip
def test_a_decimal_comma_is_read_where_it_can_be_nothing_else(printed, value) -> None:
    parsed = parse(f"solved in {printed} s\nconverged\n", SOLVED)
    assert [metric.value for metric in parsed.metrics] == ([value] if value else [])
    assert parsed.valid is (value is not None)
    assert parsed.reason == ("" if parsed.valid else "unparsable")


def test_a_pattern_that_takes_a_part_of_a_number_is_refused() -> None:
    """Of 12,5 this pattern takes 12."""
    whole = SOLVED["metrics"][0] | {"pattern": r"solved in (\d+)"}
    command = SOLVED | {"metrics": [whole]}
    assert parse("solved in 12 s\nconverged\n", command).valid
    for text in ("12,5", "12.5"):
        assert parse(f"solved in {text} s\nconverged\n", command).reason == "unparsable"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_a_dying_program_printed_is_no_result(stream) -> None:
    said = {"stdout": GOOD, "stderr": ""}
    said[stream] += "srun: error: n1: task 0: Killed\n"
    parsed = parse(said["stdout"], stderr=said["stderr"])
    assert (parsed.valid, parsed.reason) == (False, "died")
    assert parsed.detail == "the output says: srun: error: n1: task 0: Killed"


def test_the_rate_of_later_lammps_is_read() -> None:
    study = Path(__file__).parents[3] / "config/studies/applications.yaml"
    command = yaml.safe_load(study.read_text())["benchmarks"]["lammps"]["command"]
    found = values(parse(golden("lammps/performance-line.txt"), command))
    assert found == {"loop_time": 10.5, "step_rate": 1.392}


@pytest.mark.parametrize("pattern", [
    r"Loop time of ([\d.]+) on \d+ procs", r"^(?:a|b): (\d+)", r"(\d{1,3})?x", r"(x|y)",
    "(?i)T (.)", r"(a+)+", r"((?:a|ab)*)", r".*.*.*.*(x)",
])  # fmt: skip
def test_what_people_write_is_taken(pattern: str) -> None:
    check_pattern(pattern, 1, "here")


@pytest.mark.parametrize(("pattern", "why"), [
    *((pattern, "no regular expression") for pattern in (
        r"(a)\1", r"(?=a+)(a)", r"(?>a+(b)*)+", r"(?:(a*)b){2000}", r"(a", r"[z-a]",
    )),
    (r"time", "has 0 groups"), (r"(a) (b)", "has 2 groups"),
])  # fmt: skip
def test_what_is_no_pattern_of_a_number_is_refused_in_a_plan_of_others_too(pattern, why) -> None:
    with pytest.raises(UserError, match=why) as error:
        check_pattern(pattern, 1, "here")
    assert "allowed:" in str(error.value) and "where:" in str(error.value)
    metric = {"name": "time", "pattern": pattern, "unit": "s", "better": "lower"}
    with pytest.raises(UserError, match=why):
        benchmark_of("melt", {"command": COMMAND | {"metrics": [metric]}})


def test_a_long_pattern_is_refused() -> None:
    with pytest.raises(UserError, match="502 characters"):
        check_pattern("(" + "a" * 500 + ")", 1, "here")


@pytest.mark.parametrize(("pattern", "line"), [
    (r"\s*\s*\s*(\d)x", " "), (r"a*a*a*(b)", "a"), (r"(a+)+$", "a"), (r"((?:a|aa)+)b", "a"),
    (r"(?:.*,)*.*,(\d)", ","),
])  # fmt: skip
def test_no_pattern_hangs(pattern: str, line: str) -> None:
    began = time.process_time()
    assert compiled(pattern, 1, "here").search(line * 1_000_000 + "!") is None
    assert time.process_time() - began < 30  # each takes hours of tries one after the other


def test_each_line_is_looked_at_by_itself_and_to_its_limit() -> None:
    found = matches(compiled(r"^t=(\d)", 1, ""), "t=1\nx t=2\nt=3 t=4\r\nt=5")
    assert [match[1] for match in found] == ["1", "3", "5"]
    assert matches(compiled("(z)", 1, ""), " " * LONGEST_LINE + "z") == []


def test_a_number_that_is_cut_with_its_line_is_refused() -> None:
    metric = OwnMetric("t", r"t=([\d.]+)", "s", "lower")
    whole = " " * (LONGEST_LINE - 8) + "t=12.75"
    assert _number("melt", metric, whole).value == 12.75
    with pytest.raises(Refused, match="the number goes on"):
        _number("melt", metric, f"   {whole}")
