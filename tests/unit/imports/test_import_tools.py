"""What benchmarking tools write, as rows; files of hyperfine 1.15, pytest-benchmark 5.3, Google
Benchmark 1.7 and ReFrame 4.10 as they wrote them, shortened, and a table in JUBE's form."""

import json
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.imports.rows import Options, checked, converter_of, converters

GOLDEN = Path(__file__).parents[2] / "golden/imports/tools"
RUNTIME = Options("runtime")
TIMES = ("s", "lower")


def rows_of(file, options=RUNTIME):
    """The rows of a golden file by its name, or of any other by its path."""
    file = GOLDEN / file
    return converter_of([file]).rows(file, options)


@pytest.mark.parametrize(
    ("file", "form", "count", "block", "case", "arm", "metric", "value", "unit"),
    [
        ("hyperfine-1.json", "hyperfine", 4, "hyperfine-1", "hyperfine-n=1", "native", "time",
         0.011543429, TIMES),
        ("pytest-benchmark-1.json", "pytest-benchmark", 4, "pytest-benchmark-1",
         "test_sum-size=100", "native", "time", 7.848750101402402e-07, TIMES),
        ("native-1.json", "google-benchmark", 6, "1", "BM_sum-100", "native", "real_time",
         120.61524, ("ns", "lower")),
        ("podman-1.json", "google-benchmark", 6, "1", "BM_sum-1000", "podman", "items_per_second",
         None, ("1/s", "higher")),
        ("jube.csv", "wide", 15, "0", "tasks=2-speedup=2", "podman", "rate", 200.0,
         ("MB/s", "higher")),
        ("Sleep.log", "perflog", 4, "", "Sleep-size=2", "podman", "took", 1.25, TIMES),
    ],
)  # fmt: skip
def test_a_number_and_all_that_its_file_says(
    file, form, count, block, case, arm, metric, value, unit
):
    assert converter_of([GOLDEN / file]) is converters()[form]
    rows = rows_of(file)
    assert len(rows) == count and all(row.valid for row in rows)
    key = block, case, arm, metric
    (found,) = (row for row in rows if (row.block, row.case, row.arm, row.metric) == key)
    assert value is None or found.value == pytest.approx(value)
    assert (found.unit, found.better) == unit


def test_a_repetition_is_no_case_of_its_own(written):
    log = (GOLDEN / "Sleep.log").read_text()
    again = written("Sleep.log", log.replace("%runtime=", "%.repeat_no=1 %runtime="))
    assert {row.case for row in rows_of(again)} == {row.case for row in rows_of("Sleep.log")}


def test_a_direction_makes_a_column_a_number():
    rows = rows_of("jube.csv", Options("runtime", {"speedup": "higher"}))
    assert {row.case for row in rows} == {"tasks=1", "tasks=2"}
    assert {row.unit for row in rows if row.metric == "speedup"} == {"1"}


def test_files_are_blocks_and_what_failed_is_lost(compared):
    files = [GOLDEN / f"hyperfine-{block}.json" for block in (1, 2)]
    table = compared(*files, words=("--reference=native", "--margin=5", "--arm=runtime"))
    assert set(table["blocks"]) == {2} and set(table["metric"]) == {"time"}
    native, podman = rows_of("hyperfine-fail.json")
    # A number that JUBE's patterns did not find is lost by itself.
    jube = checked(rows_of("jube.csv"), converters()["wide"].may_lack)
    assert [row.metric for row in jube if row.value is None] == ["rate"]
    assert native.valid and (podman.valid, podman.value, podman.arm) == (False, None, "podman")


def test_a_lost_run_without_a_block_takes_the_place_of_no_good_one(written):
    file = written("w.csv", "arm,time[s]\nlxc,1.0\nlxc,\nnative,1\nnative,1.1\n")
    rows = checked(rows_of(file, Options()), converters()["wide"].may_lack)
    assert sorted((row.arm, row.valid) for row in rows) == [
        ("lxc", False), ("lxc", True), ("native", True), ("native", True),
    ]  # fmt: skip


def test_a_benchmark_that_was_skipped_took_no_time_of_zero(altered):
    def skip(report):
        report["benchmarks"] = [report["benchmarks"][0] | {"skipped": True, "real_time": 0.0}]

    assert [row.valid for row in rows_of(altered(GOLDEN / "native-1.json", skip))] == [False]


def test_the_second_version_of_hyperfine_s_export(written):
    seconds = [{"time_wall_clock": {"value": v, "unit": "second"}, "exit_code": 0} for v in (1, 3)]
    results = [{"command": "x", "name": arm, "measurements": seconds} for arm in ("native", "lxc")]
    file = written("b1.json", json.dumps({"schema_version": 2, "results": results}))
    rows = [(row.arm, row.value, row.block) for row in checked(rows_of(file))]
    assert rows == [("native", 2, "b1"), ("lxc", 2, "b1")]
    results[0]["measurements"] = [seconds[0], {"exit_code": 1}]
    written("b1.json", json.dumps({"results": results}))
    assert [row.valid for row in rows_of(file)] == [False, True]


def test_values_of_hyperfine_s_that_would_get_one_name_are_refused(written):
    results = [{"command": "x", "times": [1], "parameters": {"runtime": "native", "size": size}}
               for size in ("(1 2)", "(1,2)")]  # fmt: skip
    with pytest.raises(UserError, match="would be called hyperfine-size=-1-2") as refused:
        checked(rows_of(written("b1.json", json.dumps({"results": results}))))
    assert "size=(1 2)" in str(refused.value) and "size=(1,2)" in str(refused.value)


LOG = (GOLDEN / "Sleep.log").read_text().replace("%runtime", "%arm")
BAD = {
    "no arm": ("hyperfine.json", (GOLDEN / "hyperfine-1.json").read_text(), "has no arm"),
    "no run": ("x.json", '{"results": [{"command": "a"}]}', "no runs of a"),
    "an exit code less": (
        "x.json", '{"results": [{"command": "a", "times": [1, 2], "exit_codes": [0]}]}',
        "2 times and 1 exit codes"),
    "no unit in a log": ("Sleep.log", LOG.replace("|s|", "||"), "which way took in no unit"),
    "no arm in a test": (
        "p.json", (GOLDEN / "pytest-benchmark-1.json").read_text(), "has no arm"),
    "a name that says nothing": (
        "x.json", (GOLDEN / "native-1.json").read_text(), "does not say of which run"),
    "a benchmark without a name": (
        "a-1.json", '{"context": {}, "benchmarks": [{}]}', "a benchmark has no name"),
    "no benchmark": ("a-1.json", '{"context": {}, "benchmarks": []}', "no results of Google"),
    "JUBE's without units": ("w.csv", "jube_wp_id,nodes\n0,1\n", "no column is a number"),
    "no unit": ("w.csv", "arm,b [s]\nnative,x\n", "b is 'x', not a number"),
    "too few cells": ("w.csv", "arm,b[s]\nnative\n", "1 cells instead of 2"),
    "two of one name": ("w.csv", "b[s],b[ms]\n1,2\n", "two columns have one name"),
    "a direction that nothing tells": ("w.csv", "arm,b[Gflop]\nnative,1\n", "nothing says which"),
    "a cut line": ("Sleep.log", LOG.rpartition("|")[0], "fields, where the head has"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), BAD.values(), ids=list(BAD))
def test_a_bad_file_is_one_message(written, name, text, said):
    with pytest.raises(UserError) as refused:
        rows_of(written(name, text), Options())
    assert said in str(refused.value)
