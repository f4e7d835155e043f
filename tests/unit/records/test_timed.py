"""Where a campaign's time went: of an archive, from its raw outputs."""

from pathlib import Path

import pandas as pd
import pytest

from parity.records.timed import case_times, session_seconds

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
    pairs = ARCHIVE.with_name("epyc4-pairs-2026-11-26")
    runs = pd.read_parquet(pairs / "records/runs.parquet")
    found = {each.case: each for each in case_times(pairs)}["sysbench"]
    walls = runs.loc[runs["case"] == "sysbench", "wall_seconds"]
    assert found.running == pytest.approx(walls.sum() / 2)


def test_sessions_lasted_longer_than_their_runs() -> None:
    running = sum(each.running for each in case_times(ARCHIVE))
    assert running < session_seconds(ARCHIVE) < 1.1 * running
