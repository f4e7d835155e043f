"""The whole analysis on synthetic datasets with planted effects and failures."""

import filecmp
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from parity.analysis import analysis, dataset, decision, outcomes, tables
from parity.core.errors import UserError

Analyse = Callable[..., analysis.Analysis]
EXCLUSION = {
    "dataset": "live/synthetic-smoke", "block": "synthetic-smoke-b0003-00000000",
    "run": "hpcc.podman", "reason": "a test", "who": "me", "date": "2026-01-01",
}  # fmt: skip


@pytest.fixture
def analyse(tmp_path: Path) -> Analyse:
    """Analyse a synthetic dataset with the plants given."""

    def run(
        blocks: int = 6,
        arms: tuple[str, ...] = tuple(synthetic.RUNTIMES),
        excluded: tuple[dict[str, Any], ...] = (),
        change: Callable[[dict[str, Any]], None] = lambda rows: None,
        **plants: Any,
    ) -> analysis.Analysis:
        plan = synthetic.plan(blocks, arms)
        rows = synthetic.records(plan, **plants)
        change(rows)
        folder = synthetic.write(tmp_path / "live/synthetic-smoke", plan, rows)
        return analysis.analyse(dataset.load(folder), excluded)

    return run


def row(done: analysis.Analysis, case: str, arm: str) -> Any:
    """The comparison by the first metric of a case."""
    found = done.comparisons
    found = found[(found["case"] == case) & (found["arm"] == arm) & found["planned"]]
    return next(found.itertuples())


def test_a_slower_arm_costs_more_in_time_in_rate_and_in_seconds(analyse: Analyse) -> None:
    done = analyse(30, effects={("sysbench", "docker"): 1.05, ("hpcc", "docker"): 1.2})
    assert row(done, "sysbench", "docker").estimate == pytest.approx(1.05, rel=0.01)
    assert row(done, "hpcc", "docker").estimate == pytest.approx(1.2, rel=0.02)
    assert row(done, "hpcc", "docker").outcome == outcomes.DIFFERENT
    assert row(done, "sysbench", "podman").outcome == outcomes.EQUIVALENT
    # A difference is in the unit of its metric, and claims nothing.
    warm = row(done, "startup-warm", "docker")
    assert (warm.kind, warm.outcome) == ("difference", outcomes.REPORTED)
    assert warm.estimate == pytest.approx(0.002 * 209, rel=0.05)
    spread = done.dispersion.set_index(["case", "metric", "arm"])["cv"]
    assert spread["sysbench", "time", "native-a"] == pytest.approx(0.004, rel=0.4)
    assert spread["memory", "process_private", "native-a"] == pytest.approx(0)


def test_cpu_time_in_turn_is_a_ratio_with_the_case_s_margin_that_nothing_planned(analyse) -> None:
    def told(rows: dict[str, Any]) -> None:
        of_time = [one for one in rows["metrics"] if one["metric"] == "time"]
        rows["metrics"] += [o | {"metric": "cpu_seconds", "primary": False} for o in of_time]

    table = analyse(30, change=told).comparisons.set_index(["case", "arm", "metric"])
    wall, cpu = (table.loc[("sysbench", "docker", name), :] for name in ("time", "cpu_seconds"))
    assert (cpu.kind, cpu.margin, cpu.estimate) == ("ratio", wall.margin, wall.estimate)
    assert wall.planned and not cpu.planned


@pytest.mark.parametrize(("native", "docker", "pair", "outcome", "reason"), [
    # No equivalence without an equivalent control, and no difference if it differs.
    (1.008, 1.004, outcomes.INCONCLUSIVE, outcomes.INCONCLUSIVE, decision.CONTROL_FAILED),
    (1.05, 1.05, outcomes.DIFFERENT, outcomes.INCONCLUSIVE, decision.CONTROL_DIFFERS),
    # One that decides nothing lets a difference stand.
    (1.01, 1.05, outcomes.INCONCLUSIVE, outcomes.DIFFERENT, ""),
])  # fmt: skip
def test_the_control_is_compared_like_an_arm_and_gates(
    analyse, native, docker, pair, outcome, reason
) -> None:
    done = analyse(30, effects={("sysbench", "native-b"): native, ("sysbench", "docker"): docker})
    control, found = (row(done, "sysbench", arm) for arm in ("native-b", "docker"))
    assert control.control and control.outcome == pair
    assert (found.outcome, found.reason) == (outcome, reason)


def test_no_conclusion_without_any_control(analyse: Analyse) -> None:
    done = analyse(30, arms=("native-a", "docker", "lxc"), effects={("sysbench", "lxc"): 1.05})
    for arm in ("docker", "lxc"):
        found = row(done, "sysbench", arm)
        assert (found.outcome, found.reason) == (outcomes.INCONCLUSIVE, decision.NO_CONTROL)


def test_what_a_block_has_in_common_cancels_and_a_missing_side_drops_the_block(analyse) -> None:
    # Blocks differ by half their size; each arm in them by less than half a per cent.
    failures = {(2, "sysbench.docker"): ("ran", "timeout")}
    docker = row(analyse(20, block_spread=0.5, failures=failures), "sysbench", "docker")
    assert docker.blocks == 19
    assert 1 / 1.01 < docker.low95 < docker.high95 < 1.01
    assert docker.outcome == outcomes.EQUIVALENT
    done = analyse(6, failures=failures | {(3, "sysbench.native-a"): ("parsed", "truncated")})
    docker = row(done, "sysbench", "docker")
    assert (docker.planned_blocks, docker.blocks) == (6, 4)
    assert row(done, "sysbench", "podman").blocks == 5


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_a_number_without_a_logarithm_makes_no_pair(analyse: Analyse, value: float) -> None:
    def spoil(rows: dict[str, Any]) -> None:
        next(m for m in rows["metrics"] if m["run"] == "sysbench.docker")["value"] = value

    assert row(analyse(6, change=spoil), "sysbench", "docker").blocks == 5


def test_differing_libraries_confound_and_nothing_else_changes(analyse: Analyse) -> None:
    done = analyse(6, confounded=(("hpcc", "apptainer"),))
    assert row(done, "hpcc", "apptainer").identity == "libraries differ"
    assert row(done, "hpcc", "docker").identity == "same"
    assert row(done, "hpcc", "apptainer").blocks == 6


def test_what_could_not_be_tested_is_a_row_with_its_reason(analyse: Analyse) -> None:
    done, away = analyse(6, absent={"lxc": "needs root"}), "not packaged for this system"
    for arm, reason in (("lxc", "needs root"), ("shifter", away)):
        found = row(done, "sysbench", arm)
        assert (found.outcome, found.reason) == (outcomes.NOT_TESTED, reason)


def test_the_ledger_counts_every_planned_run_once(analyse: Analyse) -> None:
    def lose(rows: dict[str, Any]) -> None:
        lost = rows["runs"].pop()
        rows["metrics"] = [m for m in rows["metrics"] if m["run"] != lost["run"]]

    failures, absent = {(2, "sysbench.docker"): ("ran", "timeout")}, {"lxc": "needs root"}
    done = analyse(6, absent=absent, failures=failures, excluded=(EXCLUSION,), change=lose)
    lost = done.losses["runs"].sum()
    assert done.ledger["planned"].sum() == 6 * 9 * len(synthetic.CASES)
    assert done.ledger["planned"].sum() == done.ledger["analysed"].sum() + lost
    stages = ["planned", "ran", "parsed", "valid", "analysed"]
    assert (np.diff(done.ledger[stages].to_numpy()) <= 0).all()
    reasons = {"timeout", "not-run", "excluded: a test", "not-tested: needs root"}
    assert reasons <= set(done.losses["reason"])


def test_a_run_is_not_analysed_by_a_number_that_is_only_reported(analyse: Analyse) -> None:
    def spoil(rows: dict[str, Any]) -> None:
        found = (m for m in rows["metrics"] if (m["run"], m["metric"]) == ("hpcc.docker", "hpl"))
        next(found)["value"] = 0.0

    done = analyse(6, change=spoil)
    lost = done.losses[(done.losses["arm"] == "docker") & (done.losses["case"] == "hpcc")]
    assert list(lost[["stage", "reason", "runs"]].itertuples(index=False, name=None)) == [
        ("valid", "no-pair", 1)
    ]


def test_an_exclusion_is_about_one_dataset(tmp_path: Path) -> None:
    plan = synthetic.plan(6)
    rows, done = synthetic.records(plan), {}
    for source in ("live", "other"):
        folder = synthetic.write(tmp_path / source / "synthetic-smoke", plan, rows)
        done[source] = analysis.analyse(dataset.load(folder), [EXCLUSION])
    live, other = (row(done[source], "hpcc", "podman") for source in ("live", "other"))
    assert (live.blocks, other.blocks) == (5, 6)
    assert live.estimate != other.estimate
    assert (len(done["live"].exclusions), len(done["other"].exclusions)) == (1, 0)


def test_attempts_are_counted_beside_the_runs(analyse: Analyse) -> None:
    def repeat(rows: dict[str, Any]) -> None:
        first = dict(rows["runs"][0], final=False, stage="ran", reason="exit-status")
        rows["runs"][0] = dict(rows["runs"][0], attempt=2)
        rows["metrics"] = [
            dict(m, attempt=2) if (m["block"], m["run"]) == (first["block"], first["run"]) else m
            for m in rows["metrics"]
        ]
        rows["runs"].append(first)

    done = analyse(6, change=repeat)
    ledger = done.ledger.set_index(["case", "arm"]).loc[("sysbench", "native-a")]
    assert (ledger["analysed"], ledger["attempts"]) == (6, 7)


def test_written_tables_are_read_back_and_have_the_same_bytes(analyse: Analyse, tmp_path: Path):
    done = analyse(3)
    for folder in ("one", "two"):
        analysis.write(done, tmp_path / folder)
    again = analysis.read(tmp_path / "one")
    assert again.comparisons.equals(done.comparisons)
    for name in tables.TABLES:
        one, two = (tmp_path / folder / f"{name}.parquet" for folder in ("one", "two"))
        assert filecmp.cmp(one, two, shallow=False)


def test_an_archive_that_was_changed_is_refused_by_its_reader(tmp_path: Path) -> None:
    root = Path(__file__).parents[3] / "results/archive"
    folder = tmp_path / "archive/copy"
    kept = shutil.ignore_patterns("analysis", "claims", "figures", "tables", "logs")
    shutil.copytree(root / "machine-libaio-2026-11-21", folder, ignore=kept)
    assert dataset.load(folder).name == "archive/copy"
    images = folder / "images.json"
    images.write_text(images.read_text() + " ")
    with pytest.raises(UserError, match=r"archive was changed: images\.json"):
        dataset.load(folder)
    shutil.copy(root / "machine-libaio-2026-11-21/images.json", tmp_path)
    images.unlink()
    images.symlink_to(tmp_path / "images.json")
    (folder / "records/more.parquet").touch()
    with pytest.raises(UserError, match=r"changed: records/more\.parquet, images\.json"):
        dataset.load(folder)
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="no checksums"):
        dataset.load(folder)


def test_records_of_another_plan_are_refused(tmp_path: Path) -> None:
    plan = synthetic.plan(2)
    rows = synthetic.records(synthetic.plan(3))
    with pytest.raises(UserError, match="not in the plan"):
        dataset.load(synthetic.write(tmp_path, plan, rows))


@pytest.mark.parametrize("entry", ["{}", "[{run: x}]", "[{who: 1}]"])
def test_a_bad_exclusion_is_refused_with_its_file(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "exclusions.yaml"
    path.write_text(f"exclusions: {entry}\n")
    with pytest.raises(UserError, match=r"exclusions\.yaml"):
        dataset.load_exclusions(path)
    assert dataset.load_exclusions(Path(__file__).parents[3] / "config/exclusions.yaml") == []


def test_virtual_nodes_of_one_kernel_are_one_place_and_a_node_that_tells_none_is_itself() -> None:
    made = dataset.load(Path(__file__).parents[3] / "results/archive/slurm-2026-11-21")
    (boot,) = set(made.nodes.loc[made.nodes["fact"] == "boot_id", "value"])
    assert {place.nodes for place in made.places.values()} == {boot}
    kept = made.nodes[(made.nodes["fact"] != "boot_id") | (made.nodes["node"] != "node1")]
    nodes = {place.nodes for place in replace(made, nodes=kept).places.values()}
    assert nodes == {boot, "node1", f"{boot} node1"}
