"""Pairs at once on one CPU, for real: natively, in Podman, and in groups that are not equal.

Needs: sysbench, gcc, root; Podman with its image, or the arm is skipped with the reason.
"""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from trials import ANYWHERE, case_of, parsed, trial

from parity.measure import side_by_side
from parity.measure.block import run_block
from parity.measure.places import WORK, processes_in
from parity.plan.plan import Plan
from parity.runtimes.limits import CONTROL_GROUPS

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="control groups of our own are root's here"),
]
SHORT = {"prime": 10_000, "events": 2000, "threads": 1}


def _plan(*others: str, **parameters: int) -> Plan:
    case = replace(case_of("sysbench", SHORT | parameters), primary=("cpu_seconds",))
    # On a busy machine one of a short pair may be alone for too long.
    design = {"design": "side-by-side", "attempts": 5}
    return trial(case, arms=("native-a", "native-b", *others), **design)


def _measured(plan: Plan, arm: str, folder: Path, images) -> dict:
    block = next(each for each in plan.blocks if arm in {run.arm for run in each.runs})
    run_block(plan, block.name, images, {}, ANYWHERE, folder)
    return parsed(plan, folder)


@pytest.mark.parametrize("arm", ["native-b", "podman"])
def test_both_of_a_pair_are_valid_and_tell_their_cpu_time(arm, tmp_path, images) -> None:
    tables = _measured(_plan("podman"), arm, tmp_path, images)
    rows = {row["arm"]: row for row in tables["runs"] if row["final"]}
    if rows[arm]["reason"] == "not-tested":
        pytest.skip(rows[arm]["detail"])
    assert {name: row["stage"] for name, row in rows.items()} == {"native-a": "valid", arm: "valid"}
    told = {(row["arm"], row["metric"]): row["value"] for row in tables["metrics"] if row["valid"]}
    for name, row in rows.items():
        # Beside another on its CPU it takes twice as long as it computes.
        assert 0 < told[name, "cpu_seconds"] < row["wall_seconds"]
    assert not list(CONTROL_GROUPS.glob("*/parity"))


def test_where_the_groups_are_unequal_neither_is_let_go(tmp_path, monkeypatch) -> None:
    levels = {"parity/0": [{"cpu.shares": "1024"}], "parity/1": [{"cpu.shares": "512"}]}
    monkeypatch.setattr(side_by_side, "standing", levels.__getitem__)
    tables = _measured(_plan(events=10**9), "native-b", tmp_path, {})
    for row in tables["runs"]:
        assert (row["reason"], row["wall_seconds"]) == ("not-started", None)
        assert "cpu.shares is 1024 and 512" in row["detail"]
    assert not list(processes_in(WORK)) and not list(CONTROL_GROUPS.glob("*/parity"))
