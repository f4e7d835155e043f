"""What clusters do to a study: each fault on a real Slurm, and the study is completed after it.

Needs: root, no other Slurm cluster on this machine, and Debian's packages for Slurm, which
are installed; sysbench, HPCC and LIKWID of `make setup`.

Most faults end the workflow with an error, and Snakemake then takes half a minute to say so.
So all faults strike first, one after the other, each in a clone of its own; then each study
is started a second time.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from cluster import (
    another_processor,
    belongs_to_a_cluster,
    filled,
    jobs,
    killed_controller,
    killed_slurmd,
    link_down,
    named,
    node_of,
    on_a_small_disk,
    paused,
    run,
    stopped,
    strays,
    the_cluster,
    wait_for,
    wait_until_idle,
    wait_until_quiet,
    wait_until_saved,
)
from disturbed import LEFT, SYSTEM, Study, Workflow
from virtual_cluster.nodes import slurmds
from virtual_cluster.processes import daemons

from parity.core.files import read_json, write_json

pytestmark = [
    pytest.mark.system,
    # It waits most of its time for Slurm's own deadlines, and none of its numbers is a time.
    pytest.mark.beside,
    pytest.mark.skipif(os.geteuid() != 0, reason="the virtual cluster needs root"),
    pytest.mark.skipif(belongs_to_a_cluster(), reason="the machine belongs to another cluster"),
]
ROOT = Path(__file__).parents[2]
# What is given here replaces all of the profile's `set-resources`.
# An allocation of two nodes has it while the others are idle.
SECOND_NODE = "n2"
SHORT = ("--set-resources", "run_batch:runtime=1", "run_batch:slurm_extra='--exclusive'")
WATCHED = "run_batch:slurm_extra='--exclusive --acctg-freq=task=1'"
SMALL = ("--set-resources", "run_batch:mem_mb=1000", WATCHED)


@dataclass(frozen=True)
class Fault:
    """A fault that ends the workflow with an error.

    Attributes:
        strike: does it to a study at work, and returns how it is mended afterwards.
        states: the states of the job that Snakemake may then show.
        before: what is done to the clone first.
    """

    title: str
    scale: str
    strike: Callable[[Study, Workflow, ExitStack], Callable[[], Any]]
    states: tuple[str, ...] = ("FAILED",)
    words: tuple[str, ...] = ()
    before: Callable[[Study, ExitStack], Any] = field(default=lambda study, stack: None)


def _cancel(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    attempt = study.wait_until_in_the_middle(workflow)
    # On a busy machine the run could be over before Slurm has told anybody.
    end_pause = stack.enter_context(paused("sysbench"))
    run("scancel", study.job_of(attempt))
    return end_pause


def _in_the_middle_of_ranks(study: Study) -> list[str]:
    """The nodes of a job, once the ranks of its first run are at work."""
    attempt = wait_for(lambda: study.attempt(1), "no run was begun")
    hosts = study.hosts_of(attempt)
    # Output begins before the ranks do, and without its slurmd a node starts none.
    wait_for(lambda: len(named("hpcc")) >= len(hosts), "the ranks of the first run do not start")
    return hosts


def _kill_node(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    return stack.enter_context(killed_slurmd(_in_the_middle_of_ranks(study)[1]))


def _stop_slurmd(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    go_on = stack.enter_context(stopped(slurmds(node_of(_in_the_middle_of_ranks(study)[1]))))
    # The run ended well otherwise, on a machine that is quicker than Slurm's patience.
    stack.enter_context(paused("hpcc"))
    return go_on


def _unplug(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    return stack.enter_context(link_down(_in_the_middle_of_ranks(study)[1]))


def _mix_processors(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    text = study.folder.with_name("cpuinfo")
    mend = stack.enter_context(another_processor(SECOND_NODE, text))
    wait_for(study.jobs, "no job is submitted")
    return mend


def _remove_image(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    moved = study.image.rename(study.image.with_name("moved"))
    wait_for(study.jobs, "no job is submitted")
    return lambda: moved.rename(study.image)


def _exceed_memory(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    wait_for(lambda: study.attempt(1), "no run was begun")
    return lambda: None


def _exceed_time(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    study.wait_until_in_the_middle(workflow)
    return stack.enter_context(paused("sysbench"))


def _fill_disk(study: Study, workflow: Workflow, stack: ExitStack) -> Callable[[], Any]:
    study.wait_until_in_the_middle(workflow)
    # On a busy machine the run would end before the last byte is taken.
    with paused("sysbench"):
        filler = filled(study.folder)
    return filler.unlink


# The runner may notice that a node is gone before Slurm does.
GONE = ("NODE_FAIL", "FAILED")
FAULTS = {
    "time": Fault("a job out of time", "one", _exceed_time, ("TIMEOUT",), words=SHORT),
    "node": Fault("the slurmd of a node killed", "nodes", _kill_node, GONE),
    "stopped": Fault("the slurmd of a node stopped", "nodes", _stop_slurmd, GONE),
    "link": Fault("the link of a node down", "nodes", _unplug, GONE),
    # The node that tells of other processors is in no allocation while another fault's is away.
    "processors": Fault(
        "other processors on one node", "nodes", _mix_processors,
        before=lambda study, stack: wait_until_idle(),
    ),
    "image": Fault("the image removed", "image", _remove_image),
    "cancel": Fault("a job cancelled with scancel", "two", _cancel, ("CANCELLED",)),
    "memory": Fault("a job out of memory", "memory", _exceed_memory, words=SMALL),
    "disk": Fault(
        "the shared file system full", "one", _fill_disk,
        before=lambda study, stack: stack.enter_context(on_a_small_disk(study.folder)),
    ),
}  # fmt: skip
# What is away for a while, by the title of its row.
AWAY = {
    "controller": ("slurmctld killed and started again", killed_controller),
    "munge": ("munge stopped for a while", lambda: stopped(daemons("munged"))),
}
_STATE = r"SLURM-job '\d+' failed[^']*'(\w+)'"
_LOCKED = r"(Error: Directory cannot be locked\.)"


@pytest.fixture(scope="module", autouse=True)
def slurm() -> Iterator[None]:
    """The virtual cluster, if nobody else uses it."""
    with the_cluster():
        if jobs():
            pytest.skip("somebody's jobs are in the queue of the virtual cluster")
        yield


@pytest.fixture(scope="module")
def stack() -> Iterator[ExitStack]:
    """What is undone at the end whatever happened."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def new_study(slurm, new_clone, stack) -> Callable[[str], Study]:
    """Makes the small study at a scale; none of its jobs outlives the tests."""

    def make(scale: str) -> Study:
        study = Study(new_clone(), scale)
        stack.callback(study.cancel_jobs)
        return study

    return make


@pytest.fixture(scope="module")
def begun() -> dict[str, tuple[Study, Workflow, dict[str, str]]]:
    """Studies that were started and disturbed, each with what its attempts left."""
    return {}


def _compare(
    name: str, title: str, seen: str, study: Study, before: int | None = None,
    evidence: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Keep what was seen, and hold the documentation to it; `before`: attempts at the fault."""
    made = 0 if before is None else study.attempts() - before
    row = {"fault": title, "seen": seen, "second start": made, **study.accounts(evidence or {})}
    assert (row["lost"], row["doubled"]) == (0, 0)
    # `make faults` makes the documentation of them.
    folder = ROOT / "results/faults"
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{name}.json", row)
    assert row == read_json(ROOT / "docs/faults.json").get(name), "other than in docs/faults.md"


# One of each kind for every day; all of them make the table of docs/faults.md.
OFTEN = ("cancel", "image")
EACH = [pytest.param(x, marks=() if x in OFTEN else pytest.mark.long) for x in FAULTS]


@pytest.mark.parametrize("name", EACH)
def test_a_fault_strikes(name: str, new_study, begun, stack, request) -> None:
    fault = FAULTS[name]
    study = new_study(fault.scale)
    if fault.scale == "image":
        study.take_image(request.getfixturevalue("images"))
    fault.before(study, stack)
    workflow = stack.enter_context(study.started(*fault.words))
    mend = fault.strike(study, workflow, stack)
    wait_for(lambda: not study.jobs(), "the job does not end")
    mend()
    # Steps of a node whose slurmd was dead end half a minute after it is back.
    wait_until_quiet()
    begun[name] = study, workflow, study.evidence()


@pytest.mark.parametrize("name", EACH)
def test_a_second_start_completes_the_study(name: str, begun) -> None:
    if name not in begun:
        pytest.skip("the fault did not strike")
    (study, workflow, evidence), fault = begun[name], FAULTS[name]
    ended = workflow.ended()
    assert ended.status == 1, ended.said
    assert ended.found(_STATE) in fault.states
    attempts = study.attempts()
    second = study.complete()
    assert second.status == 0, second.said
    assert not strays()
    seen = f"exit status 1; SLURM status {' or '.join(fault.states)}"
    _compare(name, fault.title, seen, study, attempts, evidence)


@pytest.mark.long
def test_a_killed_workflow_is_started_again_while_its_job_runs(new_study) -> None:
    study = new_study("one")
    with study.started() as first:
        attempt = study.wait_until_in_the_middle(first)
        with paused("sysbench") as end_pause:
            first.kill()
            so_far = study.attempts(), study.evidence(at_work=attempt)
            refused = study.complete()
            assert refused.status == 1
            assert study.complete("--unlock").status == 0
            with study.started(target="all") as second:
                study.wait_until_a_job_waits()
                end_pause()
                ended = second.ended()
    assert ended.status == 0, ended.said
    assert not strays() and not study.jobs()
    seen = f"without `--unlock`, exit status 1; `{refused.found(_LOCKED)}`"
    _compare("sigkill", "the workflow killed with SIGKILL", seen, study, *so_far)


@pytest.mark.long
def test_a_second_workflow_in_the_same_folder_changes_nothing(new_study) -> None:
    study = new_study("one")
    with study.started() as first:
        attempt = study.wait_until_in_the_middle(first)
        with paused("sysbench") as end_pause:
            so_far = study.attempts(), study.evidence(at_work=attempt)
            refused = study.complete()
            assert refused.status == 1
            # And a user who insists. Without its lock Snakemake removes a table that the other
            # workflow is reading, so both make theirs one after the other.
            with study.started("--nolock") as second:
                study.wait_until_a_job_waits()
                with stopped([psutil.Process(first.process.pid)]):
                    end_pause()
                    assert second.ended().status == 0, second.said()
                assert first.ended().status == 0, first.said()
    assert not strays() and not study.jobs()
    seen = f"of the second, exit status 1; `{refused.found(_LOCKED)}`"
    _compare("two", "two workflows in the same folder", seen, study, *so_far)


@pytest.mark.long
@pytest.mark.parametrize("name", AWAY)
def test_what_the_queue_needs_is_away_when_it_is_asked(name: str, new_study) -> None:
    title, away = AWAY[name]
    study = new_study("one")
    with study.started("--verbose") as workflow:
        attempt = study.wait_until_in_the_middle(workflow)
        with paused("sysbench"):
            so_far = study.attempts(), study.evidence(at_work=attempt)
            wait_until_saved(study.job_of(attempt))
            with away():
                # Snakemake has asked, and asked again, and nobody answered.
                wait_for(lambda: "(final attempt)" in workflow.said(), "no check is made")
        ended = workflow.ended()
    assert ended.status == 0, ended.said
    assert "Nothing to be done" in study.complete().said
    _compare(name, title, "nothing", study, *so_far)


@pytest.mark.long
def test_a_cluster_that_is_gone_ends_the_workflow_with_a_message(new_study) -> None:
    study = new_study("one")
    system = study.folder / SYSTEM
    system.write_text(system.read_text() + "\npatience_minutes: 0.1\n")
    with study.started() as workflow:
        attempt = study.wait_until_in_the_middle(workflow)
        with paused("sysbench"):
            so_far = study.attempts(), study.evidence(at_work=attempt)
            wait_until_saved(study.job_of(attempt))
            with killed_controller():
                ended = workflow.ended()
    assert ended.status == 1 and "Traceback" not in ended.said, ended.said
    wait_until_idle()
    assert study.complete().status == 0
    seen = f"exit status 1; `{ended.found('(Slurm has not answered for 0.1 minutes)')}`"
    _compare("gone", "Slurm gone for longer than our patience", seen, study, *so_far)


@pytest.mark.long
def test_a_workflow_that_is_told_to_end_takes_its_jobs_along(new_study) -> None:
    study = new_study("one")
    with study.started() as workflow:
        attempt = study.wait_until_in_the_middle(workflow)
        so_far = study.attempts(), study.evidence(at_work=attempt)
        workflow.process.send_signal(signal.SIGTERM)
        ended = workflow.ended()
    assert ended.status == 1 and "Traceback" not in ended.said, ended.said
    wait_for(lambda: not study.jobs(), "its job is still in the queue")
    assert study.complete().status == 0
    seen = f"exit status 1; `{ended.found('(Terminating processes on user request)')}`"
    _compare("sigterm", "SIGTERM to the workflow", seen, study, *so_far)


@pytest.mark.long
def test_a_node_that_calls_itself_by_its_domain_is_a_node(new_study) -> None:
    study = new_study("nodes")
    ended = study.complete()
    assert ended.status == 0, ended.said
    hosts = study.hosts_of(study.attempt(1))
    assert SECOND_NODE in hosts and node_of(SECOND_NODE).host_name.startswith(f"{SECOND_NODE}.")
    _compare("domain", "a node that calls itself by its domain", "nothing", study)


def test_what_a_program_leaves_behind_is_ended_and_noted(new_study) -> None:
    study = new_study("one")
    study.take_a_program_that_leaves_another()
    ended = study.complete()
    assert ended.status == 0, ended.said
    records = [read_json(path) for path in study.blocks.glob("*/runs/*/attempt-1/record.json")]
    assert len(records) == 2
    for record in records:
        (gate,) = [gate for gate in record["gates"] if gate["name"] == "left"]
        assert gate["passed"] and gate["detail"].startswith(f"left {LEFT}, which took 0"), gate
    assert not named(LEFT) and not strays()
    seen = f"the record of each run names `{LEFT}`"
    _compare("left", "a program that leaves a process behind", seen, study)
