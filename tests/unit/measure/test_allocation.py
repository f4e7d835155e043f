"""What scontrol says of a job, and what is refused before anything starts."""

import platform

import pytest

from parity.core.errors import UserError
from parity.measure.allocation import job_facts, this_allocation
from parity.plan.system import MpiLauncher, System

SAID = (
    "JobId=5 JobName=parity_0 UserId=root(0) JobState=RUNNING Reason=None Requeue=0 "
    "TimeLimit=01:27:00 StartTime=2026-11-21T01:15:10 Partition=virtual NodeList=n[2-3] "
    "BatchHost=n2 NumNodes=2 NumCPUs=4 NumTasks=2 TRES=cpu=4,mem=48210M,node=2,billing=4 "
    "OverSubscribe=NO Command=(null) WorkDir=/home/somebody/parity"
)
LAUNCHER = MpiLauncher(("run", "{nodes}", "{ranks}"), ("run", "{nodes}"), "RANK", ())


def _system(batch_system: str = "", launcher: MpiLauncher | None = None) -> System:
    return System("s", "slurm", "bootstrap", 1, 0, 1, batch_system, launcher)


def test_facts_of_the_job_without_names_of_people_and_places() -> None:
    facts = job_facts(SAID)
    assert facts["NodeList"] == "n[2-3]" and facts["OverSubscribe"] == "NO"
    assert facts["TRES"] == "cpu=4,mem=48210M,node=2,billing=4"
    assert not {"UserId", "WorkDir", "Command", "JobName"} & facts.keys()


def test_without_a_batch_system_the_allocation_is_this_machine() -> None:
    assert this_allocation(_system(), 1).hosts == (platform.node(),)


def test_a_block_of_two_nodes_is_refused_on_one() -> None:
    with pytest.raises(UserError, match="needs 2 nodes, and the allocation has 1"):
        this_allocation(_system(launcher=LAUNCHER), 2)


def test_outside_of_any_job_a_block_of_a_batch_system_is_refused(monkeypatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UserError, match="not a Slurm job"):
        this_allocation(_system("slurm"), 1)
