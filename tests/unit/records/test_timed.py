"""Where a campaign's time went, and how large its work was where the node decided that."""

import json
from pathlib import Path

import pandas as pd
import pytest

from parity.records.timed import case_times, recorded_sizes, session_seconds

ARCHIVE = Path(__file__).parents[3] / "results/archive/machine-2026-11-20"


def test_what_was_timed_is_what_programs_told() -> None:
    metrics = pd.read_parquet(ARCHIVE / "records/metrics.parquet")
    runs = pd.read_parquet(ARCHIVE / "records/runs.parquet")
    found = {each.case: each for each in case_times(ARCHIVE)}
    assert set(found) == set(runs["case"])
    for case, metric in (("sysbench", "time"), ("likwid-copy", "time")):
        of_case = metrics[(metrics["case"] == case) & (metrics["metric"] == metric)]
        assert found[case].timed == pytest.approx(of_case["value"].sum())
        of_case = runs[runs["case"] == case]
        assert found[case].running == pytest.approx(of_case["wall_seconds"].sum())
        assert found[case].runs == len(of_case)
    # hpcc tells HPL's time; a start-up is timed as a whole.
    assert 0 < found["hpcc"].timed < 0.2 * found["hpcc"].running
    assert found["startup-warm"].timed == found["startup-warm"].running


def test_each_of_a_pair_ran_half_of_the_time() -> None:
    pairs = ARCHIVE.with_name("epyc9-pairs-2026-11-29")
    runs = pd.read_parquet(pairs / "records/runs.parquet")
    found = {each.case: each for each in case_times(pairs)}["sysbench"]
    walls = runs.loc[runs["case"] == "sysbench", "wall_seconds"]
    assert found.running == pytest.approx(walls.sum() / 2)


def test_sessions_lasted_longer_than_their_runs() -> None:
    running = sum(each.running for each in case_times(ARCHIVE))
    assert running < session_seconds(ARCHIVE) < 1.1 * running


def _sizes(*rows: tuple[str, str, list[str]], stage: str = "valid") -> dict[str, str]:
    made = [(benchmark, case, json.dumps(words), True, stage) for benchmark, case, words in rows]
    columns = ["benchmark", "case", "command", "final", "stage"]
    return recorded_sizes(pd.DataFrame(made, columns=columns))


def test_benchmarks_that_size_themselves_tell_how_large_their_work_was() -> None:
    likwid = ["docker", "run", "-w", "/tmp", "likwid-bench", "-t", "copy", "-w", "N:134208kB:1"]
    stream = ["/opt/parity/debian12/view/stream-160000000/bin/stream_c.exe"]
    rows = (("likwid", "likwid-copy", likwid), ("stream", "stream", stream))
    assert _sizes(*rows, ("sysbench", "sysbench", [])) == {
        "likwid-copy": "working set of 134.208 MB", "stream": "160,000,000 elements",
        "sysbench": "",
    }  # fmt: skip


def test_nodes_that_differ_have_several_sizes_and_failed_runs_none() -> None:
    commands = [["likwid-bench", "-w", f"N:{size}kB:1"] for size in (96, 48)]
    runs = [("likwid", "likwid-copy", command) for command in commands]
    assert _sizes(*runs) == {"likwid-copy": "working set of 0.048 MB and working set of 0.096 MB"}
    assert _sizes(*runs, stage="ran") == {}
    assert _sizes(("likwid", "likwid-copy", ["likwid-bench"])) == {"likwid-copy": ""}


def test_the_archive_tells_its_sizes() -> None:
    found = recorded_sizes(pd.read_parquet(ARCHIVE / "records/runs.parquet"))
    assert found["likwid-copy"] == found["memory"] == "working set of 1090.51 MB"
    assert found["hpcc"] == found["startup-cold"] == ""
