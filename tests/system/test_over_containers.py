"""Several ranks in each container, for real: one world of MPI over containers, and its end.

Needs: Open MPI, hpcc and NetPIPE; each runtime with its image, or the arm is a row with a reason;
root for networks.
"""

import json
import os
import subprocess

import pytest
from trials import case_of, image_of, killed, measured, parsed, runner_of, trial

from parity.measure.places import SHARED_MEMORY, WORK, processes_in
from parity.runtimes import every_arm

pytestmark = pytest.mark.system
ARMS = ("native-a", "native-b", "podman", "lxc", "charliecloud-dir", "lxc-veth", "native-unbound")
SMALL = {"n": 500, "nb": 64, "nodes": 1, "ranks": 2}
MESSAGES = {"protocol": "mpi", "upper_bound": 65536, "repetitions": 10, "port": 5002}


def placed(name: str, allocation: str, **parameters: object):
    ranks, containers = map(int, allocation.removeprefix("1x").split("/"))
    where = {"nodes": 1, "ranks": ranks, "containers_per_node": containers}
    return case_of(f"{name}-{allocation.replace('/', 'in')}", parameters | where, timeout=120)


def test_a_block_runs_over_containers_and_every_arm_is_where_it_says(tmp_path, images):
    cases = (
        placed("netpipe", "1x2/2", **MESSAGES),
        placed("hpcc", "1x2/1", **SMALL),
        placed("hpcc", "1x4/2", **SMALL),
    )
    tables = measured(trial(*cases, arms=ARMS, attempts=2), tmp_path, images)
    rows = [row for row in tables["runs"] if row["final"]]
    assert len(rows) == len(ARMS) * len(cases)
    for row in rows:
        if row["reason"] == "not-tested":
            assert not every_arm()[row["arm"]].probe().available or row["detail"]
            continue
        assert row["stage"] == "valid", row
        path = tmp_path / f"runs/{row['run']}/attempt-{row['attempt']}/record.json"
        require_its_place(json.loads(path.read_text()), row["case"], row["arm"])
    assert not SHARED_MEMORY.exists() and not list(processes_in(WORK))


def require_its_place(record: dict, case: str, arm: str) -> None:
    gates = {gate["name"]: gate for gate in record["gates"]}
    assert gates["containers"]["passed"]
    shared = "4 ranks on 2 CPUs" if "1x4" in case else None
    assert len(os.sched_getaffinity(0)) != 2 or record["evidence"].get("oversubscribed") == shared
    assert ("any of the node's CPUs" in gates["binding"]["detail"]) == (arm == "native-unbound")
    # A launcher's line is the last, after one for each container.
    containers = int(case[-1]) if every_arm()[arm].isolates else 0
    assert len(record["commands"]) == 1 + containers
    assert ("network" in gates) == (arm == "lxc-veth")


# One that hangs below the runner, as charliecloud-dir does, is killed in test_block.py.
@pytest.mark.parametrize(
    "name", ["podman", "lxc-veth", pytest.param("charliecloud-dir", marks=pytest.mark.long)]
)
def test_nothing_of_a_killed_runner_is_left(name, tmp_path, images):
    image_of(every_arm()[name], images)
    case = placed("netpipe", "1x2/2", **MESSAGES | {"repetitions": 300})
    plan = trial(case, arms=("native-a", "native-b", name), attempts=2)
    folder, command = tmp_path / plan.blocks[0].name, runner_of(plan, tmp_path, images)
    begun = folder / f"runs/{case.name}.{name}/attempt-1/stderr"
    killed(command, lambda: begun.exists() and "began=" in begun.read_text(), seconds=240)
    assert list(processes_in(WORK)), "daemons outlive their killed runner until the next start"
    subprocess.run(**command, check=True, timeout=240)
    rows = {row["attempt"]: row for row in parsed(plan, folder)["runs"] if row["arm"] == name}
    assert (rows[1]["reason"], rows[2]["stage"]) == ("interrupted", "valid"), rows
    assert not list(processes_in(WORK)) and not SHARED_MEMORY.exists()
