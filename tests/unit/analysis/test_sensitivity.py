"""The methods beside the typical effect: closed forms, and what each shows of planted trouble."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import synthetic
from scipy import stats

from parity.analysis import analysis, dataset, outcomes
from parity.analysis import sensitivity as by
from parity.plan.making import arm_order
from parity.plan.plan import Plan

ARMS = ("native-a", "native-b", "docker", "podman", "lxc")
CASE, METRIC = "sysbench", "time"
Rows = dict[str, list[dict[str, Any]]]


def squared(plan: Plan) -> Plan:
    """The plan with the arms of each case in the order of Williams squares."""
    blocks = []
    for block in plan.blocks:
        runs = {(run.case, run.arm): run for run in block.runs}
        order = [
            runs[case, arm]
            for case in dict.fromkeys(run.case for run in block.runs)
            for arm in arm_order(plan.arms, case, block.number)
        ]
        blocks.append(msgspec.structs.replace(block, runs=tuple(order)))
    return msgspec.structs.replace(plan, blocks=tuple(blocks))


def analysed(
    folder: Path, blocks: int, change: Callable[[Plan, Rows], None] = lambda *_: None, **plants: Any
) -> analysis.Analysis:
    """A synthetic dataset with the plants given, analysed with all methods."""
    plan = squared(synthetic.plan(blocks, ARMS))
    rows = synthetic.records(plan, **plants)
    change(plan, rows)
    loaded = dataset.load(synthetic.write(folder / "live/synthetic-smoke", plan, rows))
    return by.asked(loaded, analysis.analyse(loaded))


def of(done: analysis.Analysis, arm: str) -> dict[str, Any]:
    """The rows of one ratio by method."""
    table = done.sensitivity
    rows = table[(table["case"] == CASE) & (table["arm"] == arm)]
    return {row.method: row for row in rows.itertuples()}


def test_five_blocks_that_are_the_same_are_so_by_ranks(tmp_path: Path) -> None:
    """An interval of 95 % is the whole line there, and was taken for none of 90 % either."""

    def alike(_: Plan, rows: Rows) -> None:
        for row in rows["metrics"]:
            row["value"] += 1e4

    done = analysed(tmp_path, 5, alike)
    compared = done.comparisons.set_index(["case", "arm", "metric"])["outcome"]
    assert compared[CASE, "docker", METRIC] == outcomes.EQUIVALENT
    assert of(done, "docker")["ranks"].outcome == outcomes.EQUIVALENT


def test_every_planned_ratio_has_a_row_for_every_method(tmp_path: Path) -> None:
    done = analysed(tmp_path, 10)
    planned = done.comparisons[done.comparisons["planned"] & (done.comparisons["kind"] == "ratio")]
    planned = planned[planned["outcome"] != outcomes.NOT_TESTED]  # Shifter is declared as that
    keys = ["case", "metric", "arm"]
    counts = done.sensitivity.groupby(keys)["method"].agg(set)
    assert set(counts.index) == set(planned[keys].itertuples(index=False, name=None))
    assert len(done.sensitivity) == len(planned) * len(by.METHODS)
    assert all(methods == set(by.METHODS) for methods in counts)
    again = analysis.analyse(dataset.load(tmp_path / "live/synthetic-smoke"))
    assert again.comparisons.equals(done.comparisons) and not len(again.sensitivity)


def test_each_method_is_what_it_says(tmp_path: Path) -> None:
    done = analysed(tmp_path, 10, effects={(CASE, "docker"): 1.004})
    rows, of_arm = of(done, "docker"), done.pairs.groupby(["case", "metric", "arm"])["effect"]
    effects = of_arm.get_group((CASE, METRIC, "docker")).to_numpy()
    (compared,) = done.comparisons[
        (done.comparisons["case"] == CASE) & (done.comparisons["arm"] == "docker")
    ].itertuples()
    for name in ("estimate", "low90", "high90", "low95", "high95"):
        assert getattr(rows[by.RANKS], name) == pytest.approx(getattr(compared, name))
    assert math.log(rows[by.PAIRED].estimate) == pytest.approx(effects.mean())
    # Tukey & McLaughlin: winsorised deviation over (1 - 2 g / n) sqrt(n), n - 2 g - 1 degrees.
    middle = np.sort(effects)[1:-1]
    winsorised = np.array([middle[0], *middle, middle[-1]])
    half = stats.t.ppf(0.975, 7) * winsorised.std(ddof=1) / (0.8 * math.sqrt(10))
    assert math.log(rows[by.TRIMMED].estimate) == pytest.approx(middle.mean())
    assert math.log(rows[by.TRIMMED].high95) == pytest.approx(middle.mean() + half)
    assert rows[by.TRIMMED].blocks == 8


def test_one_slow_run_changes_the_mean_and_not_the_ranks(tmp_path: Path) -> None:
    def spike(plan: Plan, rows: Rows) -> None:
        for row in rows["metrics"]:
            if (row["case"], row["arm"], row["block_number"]) == (CASE, "docker", 3):
                row["value"] *= 2

    rows = of(analysed(tmp_path, 30, spike), "docker")
    found = {method: row.outcome for method, row in rows.items()}
    assert found[by.PAIRED] == found[by.MIXED] == outcomes.INCONCLUSIVE
    assert found[by.RANKS] == found[by.TRIMMED] == outcomes.EQUIVALENT


def test_a_drift_over_the_positions_is_taken_out_by_the_model(tmp_path: Path) -> None:
    def drift(plan: Plan, rows: Rows) -> None:
        place = {
            (block.name, run.name): number % len(ARMS)
            for block in plan.blocks
            for number, run in enumerate(block.runs)
        }
        for row in rows["metrics"]:
            row["value"] *= math.exp(0.015 * place[row["block"], row["run"]])

    rows = of(analysed(tmp_path, 10, drift), "docker")
    assert rows[by.PAIRED].outcome == outcomes.INCONCLUSIVE
    assert rows[by.MIXED].outcome == outcomes.EQUIVALENT
    # The squares are balanced, so the estimate is that of the pairs; the interval is not.
    assert rows[by.MIXED].estimate == pytest.approx(rows[by.PAIRED].estimate, abs=1e-5)


def test_what_gives_no_estimate_says_why(tmp_path: Path) -> None:
    def fixed(plan: Plan, rows: Rows) -> None:
        for row in rows["metrics"]:
            row["value"] = 2.0 if row["case"] == CASE else row["value"]

    rows = of(analysed(tmp_path / "fixed", 6, fixed), "docker")
    assert rows[by.PAIRED].outcome == outcomes.EQUIVALENT
    notes = {method: row.note for method, row in rows.items() if row.outcome == by.NO_ESTIMATE}
    assert notes == {by.MIXED: "all values are the same"}
    one = of(analysed(tmp_path / "one", 1), "docker")
    assert {row.outcome for row in one.values()} == {by.NO_ESTIMATE}
    assert all(row.note and math.isnan(row.estimate) for row in one.values())
    done = analysed(tmp_path / "three", 3, absent={"lxc": "needs root"})
    assert not of(done, "lxc")
    three = of(done, "docker")
    assert three[by.TRIMMED].note == "too few blocks"
    assert three[by.RANKS].outcome == by.NO_ESTIMATE
