"""A real Slurm on this machine, and nothing of it afterwards.

Needs: root, no other Slurm cluster on this machine, and Debian's packages for Slurm, which
are installed.
"""

import subprocess
import time
from collections.abc import Iterator

import pytest
from cluster import TOOL, cluster, end_a_dead_one, of_a_cluster_of_their_own, run, wait_for
from virtual_cluster import daemons, layout, network, processes
from virtual_cluster.processes import traces

pytestmark = [pytest.mark.system, *of_a_cluster_of_their_own()]


@pytest.fixture(name="before")
def fixture_before() -> Iterator[dict[str, object]]:
    """What there was before; and whatever a test did, no cluster is left after it."""
    daemons.install(accounting=False)
    yield traces()
    cluster("down")


def _refused(*words: str) -> str:
    done = subprocess.run([*TOOL, *words], capture_output=True, text=True, timeout=180)
    assert done.returncode == 1, done
    return done.stderr


def _states() -> set[str]:
    return set(run("sinfo", "--noheader", "--Node", "--format=%T").split())


def _wait_for_state(wanted: str) -> None:
    wait_for(lambda: _states() == {wanted}, f"nodes are not {wanted}", seconds=60)


def test_up_runs_jobs_and_down_leaves_nothing(before) -> None:
    assert cluster("up", "--nodes", "2").count("idle") == 2
    step = run("srun", "--mpi=pmix", "--nodes=2", "--ntasks=4", "sh", "-c", "hostname; env")
    assert {"n1", "n2.virtual.example"} <= set(step.split("\n"))
    assert step.count("PMIX_RANK=") == 4
    # A job that is still running must not survive, nor what it started in the background.
    # Open MPI's ranks leave such a file when they are killed.
    script = "touch /dev/shm/vader_segment.$(hostname).0.x; setsid sleep 600 & sleep 600"
    run("sbatch", "--nodes=2", "--output=/dev/null", "--wrap", script)
    _wait_for_state("mixed")
    cluster("down")
    assert traces() == before
    cluster("down")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.15, 0.3, 0.45, 0.6])
def test_down_ends_half_an_up(before, seconds: float) -> None:
    with subprocess.Popen([*TOOL, "up", "--nodes", "2"], stdout=subprocess.DEVNULL) as up:
        time.sleep(seconds)
        up.kill()
    cluster("down")
    assert traces() == before


def test_down_ends_an_up_that_left_both_ends_of_a_pair_in_the_switch(before) -> None:
    folder = network.folder_state()
    run("ip", "netns", "add", layout.SWITCH)
    pair = ("link", "add", "port254", "type", "veth", "peer", "name", "peer")
    run("ip", "-netns", layout.SWITCH, *pair)
    cluster("down")
    network.restore_folder(folder)
    assert traces() == before


def test_one_that_is_up_is_kept_a_dead_node_comes_back_and_a_dead_one_is_ended(before) -> None:
    cluster("up", "--nodes", "1")
    assert "up already" in cluster("up", "--nodes", "1")
    assert "cluster-down" in _refused("up", "--nodes", "2")
    end_a_dead_one()
    assert _states() == {"idle"}

    cluster("kill-node", "n1", "--everything")
    _wait_for_state("down*")  # The star: it does not answer.
    cluster("start-node", "n1")
    _wait_for_state("idle")
    cluster("restart-controller")
    _wait_for_state("idle")

    processes.end_all(processes.on_nodes)
    processes.end_all(processes.daemons)
    _refused("up", "--nodes", "1")
    end_a_dead_one()
    assert traces() == before


def test_a_configuration_of_another_cluster_is_not_touched(before) -> None:
    layout.SYSTEM_CONFIGURATION.write_text("ClusterName=theirs\n")
    try:
        assert "already belongs to a Slurm cluster" in _refused("up")
        cluster("down")
        assert layout.SYSTEM_CONFIGURATION.read_text() == "ClusterName=theirs\n"
    finally:
        layout.SYSTEM_CONFIGURATION.unlink()
