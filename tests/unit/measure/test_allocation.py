"""What batch systems say of a job, and what is refused before anything starts."""

import platform
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.measure.session import this_allocation
from parity.plan.system import BATCH_SYSTEMS, MpiLauncher, System, job_facts

SAID = (
    "JobId=5 JobName=parity_0 UserId=root(0) JobState=RUNNING Reason=None Requeue=0 "
    "TimeLimit=01:27:00 StartTime=2026-11-21T01:15:10 Partition=virtual NodeList=n[2-3] "
    "BatchHost=n2 NumNodes=2 NumCPUs=4 NumTasks=2 TRES=cpu=4,mem=48210M,node=2,billing=4 "
    "OverSubscribe=NO Command=(null) WorkDir=/home/somebody/parity"
)
LAUNCHER = MpiLauncher(("run", "{nodes}", "{ranks}"), ("run", "{nodes}"), "RANK", ())


def _system(batch_system: str = "", launcher: MpiLauncher | None = None) -> System:
    return System("s", "cluster", "bootstrap", 1, 0, 1, batch_system, launcher)


def test_facts_of_the_job_without_names_of_people_and_places() -> None:
    facts = job_facts(SAID)
    assert facts["NodeList"] == "n[2-3]" and facts["OverSubscribe"] == "NO"
    assert facts["TRES"] == "cpu=4,mem=48210M,node=2,billing=4"
    assert not {"UserId", "WorkDir", "Command", "JobName"} & facts.keys()


def test_without_a_batch_system_the_allocation_is_this_machine() -> None:
    assert this_allocation(_system(), 1).hosts == (platform.node().partition(".")[0],)
    with pytest.raises(UserError, match="needs 2 nodes, and the allocation has 1"):
        this_allocation(_system(launcher=LAUNCHER), 2)


@pytest.mark.parametrize("name", BATCH_SYSTEMS)
def test_outside_of_any_job_a_block_is_refused_with_the_profile_of_its_system(monkeypatch, name):
    around = BATCH_SYSTEMS[name]
    monkeypatch.delenv(around.job_variable, raising=False)
    with pytest.raises(UserError, match=f"not a {around.title} job") as caught:
        this_allocation(_system(name), 1)
    assert f"--profile {around.profile} all" in str(caught.value)
    assert name == "slurm" or "slurm" not in str(caught.value).lower()


def _clients(folder: Path, monkeypatch, **scripts: str) -> None:
    """Programs that say what a batch system's own would."""
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.fixture
def in_a_job(tmp_path: Path, monkeypatch) -> dict[str, str]:
    """The number of a job on n1 and n2 under each batch system; we are on n2."""
    here = tmp_path / "nodes"
    here.write_text("n1.example\nn1.example\nn2.example\nn2.example\n")
    _clients(
        tmp_path,
        monkeypatch,
        scontrol=f'case $2 in job) echo "{SAID}" ;; hostnames) printf "n1\\nn2\\n" ;; esac',
        squeue="echo queued",
        flux='case "$1 $2" in "resource list") echo "n[1-2]" ;; "getattr jobid") echo f7 ;;'
        ' hostlist*) [ "$4" = "n[1-2]" ] && echo n1 n2 ;; esac',
    )
    monkeypatch.setenv("SLURMD_NODENAME", "n2")
    variables = {
        "SLURM_JOB_ID": "5", "PBS_JOBID": "8.server", "PBS_NODEFILE": str(here),
        "LSB_JOBID": "6", "LSB_HOSTS": "n1 n1 n2 n2", "FLUX_URI": "local:///x",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return {"slurm": "5", "pbs": "8.server", "lsf": "6", "flux": "f7"}


def test_a_task_of_an_array_has_its_own_nodes(in_a_job, tmp_path: Path, monkeypatch) -> None:
    """One task has the array's number; asked for it, Slurm tells of all, and the last one won."""
    task = SAID.replace("JobId=5 ", "JobId=6 ArrayJobId=5 ").replace("n[2-3]", "n[8-9]")
    hosts = '[ "$3" = "n[2-3]" ] && printf "n1\\nn2\\n"'
    script = f'case $2 in job) echo "{SAID}"; echo "{task}" ;; hostnames) {hosts} ;; esac'
    _clients(tmp_path, monkeypatch, scontrol=script, squeue="echo queued")
    assert this_allocation(_system("slurm", LAUNCHER), 2).hosts == ("n2", "n1")


@pytest.mark.parametrize("name", BATCH_SYSTEMS)
def test_each_batch_system_names_the_nodes_of_its_job_ours_first(in_a_job, name: str) -> None:
    allocation = this_allocation(_system(name, LAUNCHER), 2)
    assert (allocation.hosts, allocation.job) == (("n2", "n1"), in_a_job[name])
    assert allocation.facts["allocation.hosts"] == "n2,n1"


def test_a_node_that_its_job_calls_otherwise_is_refused_before_anything_runs(in_a_job, monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n2-ib")
    with pytest.raises(UserError, match="calls itself n2-ib, and is none of the job's nodes"):
        this_allocation(_system("pbs", LAUNCHER), 2)


def test_hosts_that_are_too_many_for_one_variable_and_a_file_that_is_gone(in_a_job, monkeypatch):
    monkeypatch.delenv("LSB_HOSTS")
    monkeypatch.setenv("LSB_MCPU_HOSTS", "n1 16 n2 16")
    assert this_allocation(_system("lsf"), 2).hosts == ("n2", "n1")
    monkeypatch.setenv("PBS_NODEFILE", "/nowhere/8.server")
    with pytest.raises(UserError, match="PBS's file of nodes cannot be read"):
        this_allocation(_system("pbs"), 2)
