"""Where the time of a block's job went, from what the block left; nothing is timed here."""

import json
from pathlib import Path

import bench
import bench_slurm
import numpy as np
import pandas as pd
import pytest
import validate
from plans import run_record_of

from parity.measure.documents import RECORD


def test_no_time_decides_nothing_and_enough_time_decides_numbers_that_never_vary() -> None:
    arms = ("podman", "docker")
    layout = bench.Layout({"memory": {}}, arms, (0,) * 9, 0.01, looks=(8, 9))
    constant = np.ones((9, 1, 4))
    runs = pd.MultiIndex.from_product([["memory"], layout.all_arms], names=["case", "arm"])
    campaign = bench.Planted(layout, constant, pd.Series(1.0, runs), 0.0)
    # Eight blocks of four runs of a second.
    assert [bench.decided_in(campaign, seconds / 60) for seconds in (4, 32)] == [0, 2]


def test_the_bench_makes_what_its_lines_say(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = bench.short_plan().blocks
    assert len(block.runs) == bench.RUNS
    windows, replay = bench.recorded(runs=2, seconds=1), bench.replay
    by_step = [replay.replay(windows, replay.delays(windows, step)) for step in replay.STEPS]
    assert sum(1 for rows in by_step for _ in rows) == 21 * 5 * 2
    monkeypatch.setenv("PATH", "/nonexistent")
    (line,) = bench_slurm.lines()
    assert "not measured" in line and "sbatch" in line


def test_a_scenario_that_is_made_anew_stands_in_its_place() -> None:
    def report(seen: int, *names: str) -> dict:
        rows = [{"scenario": name, "seen": seen} for name in names for _ in range(2)]
        return {"seed": seen, "scenarios": rows[::2], "results": rows}

    found = validate.renewed(report(1, "a", "b", "gone"), report(2, "b", "new"), ["a", "b", "new"])
    assert found["seed"] == 2
    for part, each in (("scenarios", 1), ("results", 2)):
        said = [(row["scenario"], row["seen"]) for row in found[part]]
        assert said == [("a", 1)] * each + [("b", 2)] * each + [("new", 2)] * each


def test_the_parts_of_a_job_add_up_to_all_of_its_time(tmp_path: Path) -> None:
    def at(second: float) -> str:
        return f"1970-01-01T00:01:{second:06.3f}+00:00"

    run = tmp_path / "runs/hpcc.native-a/attempt-1"
    run.mkdir(parents=True)
    RECORD.write_in(run, run_record_of(wall_seconds=7.5))
    tally = {"started": at(2), "updated": at(12)}
    (tmp_path / "progress.json").write_text(json.dumps(tally))
    session = {"started": at(4), "arms": {"native-a": {}}, "other_nodes": [{}, {}, {}]}
    (tmp_path / "session-1-start.json").write_text(json.dumps(session))
    nodes, said = bench_slurm.job_line([tmp_path], started=60.0, ended=73.0)
    assert nodes == 4 and "each of 1 blocks  5.50 s" in said and "1 arms" in said
    assert "starts 2.00, looking at the nodes 2.00, around programs 0.50, ending 1.00" in said
    assert said.endswith("programs 7.5)")


def test_linear_growth_is_told_apart_from_the_start_of_snakemake() -> None:
    linear = [1.5 + blocks / 100 for blocks in bench_slurm.REPETITIONS]
    first, second = bench_slurm.planning_lines(linear)
    assert "2.0 s  (bound 10)" in first and "2.00 times" in second
    quadratic = [1.5 + blocks**2 / 10000 for blocks in bench_slurm.REPETITIONS]
    assert "4.00 times" in [*bench_slurm.planning_lines(quadratic)][1]
