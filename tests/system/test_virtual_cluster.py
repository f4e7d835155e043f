"""A real Slurm on this machine, and nothing of it afterwards.

Needs: root, no other Slurm cluster on this machine, and Debian's packages for Slurm, which
are installed.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import end_a_dead_one
from virtual_cluster import install, layout, network, processes
from virtual_cluster.traces import traces

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.system,
    # It looks for what a cluster leaves anywhere on the machine.
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces, links and mounts need root"),
    pytest.mark.skipif(
        layout.STATE.exists() or os.path.lexists(layout.SYSTEM_CONFIGURATION),
        reason="a cluster is up on this machine, or the machine belongs to one",
    ),
]

TOOL = [sys.executable, str(ROOT / "tools" / "virtual_cluster")]
LONGEST_SECONDS = 60


def _run(*argv: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(argv, capture_output=True, text=True, timeout=180, **options)


def _cluster(*words: str) -> subprocess.CompletedProcess:
    return _run(*TOOL, *words)


@pytest.fixture(name="before")
def fixture_before() -> Iterator[dict[str, object]]:
    """What there was before; and whatever a test did, no cluster is left after it."""
    install.install(accounting=False)
    yield traces()
    _cluster("down")


def _states() -> set[str]:
    return set(_run("sinfo", "--noheader", "--Node", "--format=%T").stdout.split())


def _wait_for_states(wanted: set[str]) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while _states() != wanted:
        assert time.monotonic() < deadline, f"{_states()} instead of {wanted}"
        time.sleep(0.5)


def test_up_runs_jobs_and_down_leaves_nothing(before) -> None:
    up = _cluster("up", "--nodes", "2")
    assert up.returncode == 0, up.stderr
    assert up.stdout.count("idle") == 2
    step = _run("srun", "--mpi=pmix", "--nodes=2", "--ntasks=4", "sh", "-c", "hostname; env")
    assert {"n1", "n2.virtual.example"} <= set(step.stdout.split("\n")), step.stderr
    assert step.stdout.count("PMIX_RANK=") == 4
    # A job that is still running must not survive, nor what it started in the background.
    # Open MPI's ranks leave such a file when they are killed.
    script = "touch /dev/shm/vader_segment.$(hostname).0.x; setsid sleep 600 & sleep 600"
    assert _run("sbatch", "--nodes=2", "--output=/dev/null", "--wrap", script).returncode == 0
    _wait_for_states({"mixed"})
    down = _cluster("down")
    assert down.returncode == 0, down.stderr
    assert traces() == before
    assert _cluster("down").returncode == 0


def test_up_again_says_that_it_is_up(before) -> None:
    assert _cluster("up", "--nodes", "1").returncode == 0
    again = _cluster("up", "--nodes", "1")
    assert again.returncode == 0
    assert "up already" in again.stdout
    other = _cluster("up", "--nodes", "2")
    assert other.returncode == 1
    assert "cluster-down" in other.stderr


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.15, 0.3, 0.45, 0.6])
def test_down_ends_half_an_up(before, seconds: float) -> None:
    with subprocess.Popen([*TOOL, "up", "--nodes", "2"], stdout=subprocess.DEVNULL) as up:
        time.sleep(seconds)
        up.kill()
    down = _cluster("down")
    assert down.returncode == 0, down.stderr
    assert traces() == before


def test_down_ends_an_up_that_left_both_ends_of_a_pair_in_the_switch(before) -> None:
    folder = network.folder_state()
    in_switch = ["ip", "-netns", layout.SWITCH]
    pair = ["link", "add", "port254", "type", "veth", "peer", "name", "peer"]
    for command in (["ip", "netns", "add", layout.SWITCH], [*in_switch, *pair]):
        assert _run(*command).returncode == 0
    down = _cluster("down")
    assert down.returncode == 0, down.stderr
    network.restore_folder(folder)
    assert traces() == before


def test_a_dead_cluster_is_ended_and_a_living_one_is_not(before) -> None:
    assert _cluster("up", "--nodes", "1").returncode == 0
    end_a_dead_one()
    assert _states() == {"idle"}
    processes.end_all(processes.on_nodes)
    processes.end_all(processes.daemons)
    assert _cluster("up", "--nodes", "1").returncode == 1
    end_a_dead_one()
    assert traces() == before


def test_a_dead_node_is_noticed_and_comes_back(before) -> None:
    assert _cluster("up", "--nodes", "1").returncode == 0
    assert _cluster("kill-node", "n1", "--everything").returncode == 0
    _wait_for_states({"down*"})  # The star: it does not answer.
    assert _cluster("start-node", "n1").returncode == 0
    _wait_for_states({"idle"})
    assert _cluster("restart-controller").returncode == 0
    _wait_for_states({"idle"})


def test_a_configuration_of_another_cluster_is_not_touched(before) -> None:
    layout.SYSTEM_CONFIGURATION.write_text("ClusterName=theirs\n")
    try:
        up = _cluster("up")
        assert up.returncode == 1
        assert "already belongs to a Slurm cluster" in up.stderr
        assert _cluster("down").returncode == 0
        assert layout.SYSTEM_CONFIGURATION.read_text() == "ClusterName=theirs\n"
    finally:
        layout.SYSTEM_CONFIGURATION.unlink()
