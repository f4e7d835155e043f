"""Containers that hold several ranks: the agent, the launcher's words, CPUs, and their gate."""

import subprocess
from types import SimpleNamespace

import pytest
from benchmark_help import NODE
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from trials import case_of, trial

from parity.benchmarks import benchmarks, openmpi
from parity.benchmarks.model import NodeFacts, Outputs, Program
from parity.benchmarks.openmpi import part_of, placed
from parity.core.errors import UserError
from parity.extensions.networks.measure import containers as module
from parity.extensions.networks.measure.containers import agent_text, containers
from parity.extensions.networks.measure.network import NetworkState, Place
from parity.measure.inner_command import FILL_IN, RANK
from parity.measure.places import WORK
from parity.runtimes import every_arm
from parity.runtimes.model import Image, Launch

TWO = {"nodes": 1, "ranks": 4, "containers_per_node": 2}
SHAPES = st.tuples(st.integers(1, 96), st.integers(1, 8), st.integers(1, 8))


def test_the_agent_starts_a_daemon_by_the_name_of_its_container(tmp_path):
    """What it is given after the name comes as one word, and its own words are as they were."""
    agent = tmp_path / "agent"
    agent.write_text(
        agent_text({"one": ["printf", "%s|"], "two": ["printf", "$HOME '%s'|", "a b"]})
    )
    said = [
        subprocess.run(
            ["/bin/sh", agent, name, "", "orted", "-mca", 'ess "env"'],
            env={"TMPDIR": "/nowhere"}, capture_output=True, text=True,
        )
        for name in ("one", "two", "three")
    ]  # fmt: skip
    daemon = ' orted -mca ess "env"'
    assert [done.stdout for done in said] == [f"{daemon}|", f"$HOME 'a b'|$HOME '{daemon}'|", ""]
    assert [done.returncode for done in said] == [0, 0, 1]


@given(SHAPES)
def test_a_rank_s_cpu_lies_in_the_part_of_its_container(shape):
    count, per, each = shape
    node, ranks = NodeFacts(tuple(range(count)), 0, 0), per * each
    asked = {"nodes": 1, "ranks": ranks, "containers_per_node": per}
    cpus = placed(Program(("x",), ()), asked, node, "x").cpus
    assert len(cpus) == ranks
    for rank, cpu in enumerate(cpus):
        assert cpu in part_of(node.cpus, rank // each, per)
    # However many containers there are, a rank stays where it was, and no CPU has two too many.
    assert cpus == placed(Program(("x",), ()), asked | {"containers_per_node": 1}, node, "x").cpus
    assert max(map(cpus.count, cpus)) == -(-ranks // count)


def test_parts_of_a_node_are_equal_and_all_of_it_and_several_nodes_refused():
    assert [part_of(range(8), n, 4) for n in range(4)] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [part_of((3, 5), n, 4) for n in range(4)] == [(3,), (3,), (5,), (5,)]
    with pytest.raises(UserError, match="on one node only"):
        benchmarks()["hpcc"].program({"n": 500, "nb": 64, **TWO, "nodes": 2}, NODE)


def test_a_program_has_its_containers_and_yields_cpus_that_ranks_share():
    program = benchmarks()["hpcc"].program({"n": 500, "nb": 64, **TWO}, NODE)
    assert (program.cpus, program.ranks, program.containers) == ((0, 0, 1, 1), 4, 2)
    assert program.environment["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert not [name for name in program.environment if "tcp_if" in name]
    alone = benchmarks()["hpcc"].program({"n": 500, "nb": 64, **TWO, "ranks": 2}, NODE)
    assert "OMPI_MCA_mpi_yield_when_idle" not in alone.environment


def order(arm: str) -> SimpleNamespace:
    program = benchmarks()["hpcc"].program({"n": 500, "nb": 64, **TWO}, NODE)
    session = SimpleNamespace(node=NODE)
    return SimpleNamespace(arm=every_arm()[arm], program=program, session=session, hosts=("n1",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FOLDER", tmp_path / "containers")
    monkeypatch.setattr(module, "AGENT", tmp_path / "containers/agent")
    monkeypatch.setattr(module, "SHARED_MEMORY", tmp_path / "shm")
    return tmp_path


def test_native_ranks_are_started_by_one_plain_launcher(folder):
    with containers(order("native-a"), None, NetworkState(())) as (command, lines):
        assert command(["/usr/bin/hpcc"]) == [
            *("/usr/bin/env", f"TMPDIR={folder}/containers", "/usr/bin/mpirun", "--noprefix"),
            *("--allow-run-as-root", "--bind-to", "none", "--map-by", "slot"),
            *("--leave-session-attached", "--mca", "orte_do_not_resolve", "1"),
            *("--mca", "plm", "isolated", "--mca", "oob_tcp_if_include", "lo"),
            *("--host", "localhost:4", "-n", "4", "/bin/sh", "-c", FILL_IN, "fill-in", "0 0 1 1"),
            "|".join(module.VARIABLES),
            *("PMIX_RANK", "/usr/bin/hpcc"),
        ]
        assert not lines


@pytest.mark.parametrize("address", ["", "10.213.0."])
def test_each_container_has_its_place_its_cpus_and_a_daemon(folder, address):
    words = ("nsenter", "--net=/x") if address else ()
    places = tuple(Place(f"place-{n}", address and f"{address}{n}", words) for n in range(2))
    net = NetworkState(places, words)
    launch = Launch(f"run-{RANK}", Image("directory", "/image", ""), folder, folder)
    with containers(order("charliecloud-dir"), launch, net) as (command, lines):
        line = command(["/usr/bin/hpcc"])
        assert line[: len(words)] == list(words)
        assert line[line.index("--host") + 1] == "place-0:2,place-1:2"
        agent = line.index("plm_rsh_agent")
        assert line[agent + 1] == f"/bin/sh {folder}/containers/agent"
        assert ("oob_tcp_if_include" in line) == (not address)
        first, second = lines.values()
        include = "exclude" if address else "include"
        assert second == [
            *(*words, "ch-run", f"--bind={folder}:{folder}", "/image", "--"),
            *("/usr/bin/taskset", "-c", "1"), *("/usr/bin/env", "-i", f"--chdir={WORK}"),
            f"HOME={WORK}", "LC_ALL=C",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            f"TMPDIR={folder}/containers/1", *("PARITY_NODE=n1", "PARITY_CONTAINER=place-1"),
            f"PARITY_ADDRESSES={address and '10.213.0.0,10.213.0.1'}",
            f"OMPI_MCA_btl_vader_backing_directory={folder}/shm/1",
            f"OMPI_MCA_btl_tcp_if_{include}=127.0.0.1/8",
            *("/bin/sh", "-c", module.DAEMON, "daemon", openmpi.release()),
        ]  # fmt: skip
        assert first[first.index("-c") + 1] == "0" and (folder / "shm/0").is_dir()
        assert "exec " in (folder / "containers/agent").read_text()
    assert not (folder / "shm").exists()


def test_a_daemon_of_another_release_is_not_started():
    words = ["/bin/sh", "-c", module.DAEMON, "daemon"]
    other = subprocess.run([*words, "mpirun 5", "echo no"], capture_output=True, text=True)
    assert other.returncode == 1 and "no launcher of the host's release: mpirun 5" in other.stderr
    ours = [*words, openmpi.release(), ' echo "a  b"']
    assert subprocess.run(ours, capture_output=True, text=True).stdout == "a  b\n"


def test_a_world_is_judged_by_the_machines_that_it_was_started_on():
    line = "[n:1] mca: bml: Using {} btl for send to [[1,1],{}] on node n\n"
    apart = "".join(line.format(*of) for of in [("self", 0), ("tcp", 1), ("self", 1), ("tcp", 0)])
    command = openmpi.over_containers(("a", "b"), 2, "agent", False)
    assert openmpi.machines(command, 1) == 2 and openmpi.machines(("srun",), 3) == 3
    asked = {"nodes": 1, "ranks": 2}
    openmpi.require_one_world(Outputs(stderr=apart, command=command, parameters=asked))
    with pytest.raises(Exception, match="vader by 0 instead of 1"):
        openmpi.require_one_world(Outputs(stderr=apart, command=("srun",), parameters=asked))


def said(*of_ranks: tuple[str, str]) -> dict[int, dict[str, str]]:
    return {
        rank: {"container": name, "namespace.mnt": inode, "namespace.user": inode}
        for rank, (name, inode) in enumerate(of_ranks)
    }


@pytest.mark.parametrize(("ranks", "holds"), [
    (said(("a", "1"), ("a", "1"), ("b", "2"), ("b", "2")), True),
    (said(("a", "1"), ("a", "3"), ("b", "2"), ("b", "2")), False),
    (said(("a", "1"), ("a", "1"), ("b", "1"), ("b", "1")), False),
    (said(("a", "1"), ("b", "2"), ("a", "1"), ("b", "2")), False),
    (said(("a", "1"), ("b", "1"), ("b", "2"), ("b", "2")), False),
])  # fmt: skip
def test_ranks_share_namespaces_with_those_of_their_container_only(ranks, holds):
    program = Program(("x",), (), ranks=4, containers=2)
    gate = module.containers_gate(every_arm()["charliecloud-dir"], program, ranks)
    assert gate.passed == holds
    assert holds or "expected 2 containers of 2 ranks, saw mnt" in gate.detail


def test_packed_ranks_are_on_one_node_of_those_that_their_case_has():
    case = replace(case_of("hpcc", {"nodes": 4, "ranks": 4}, margin=None), name="x", primary=())
    plan = trial(case, arms=("native-a", "native-b", "native-packed", "native-spread"))
    assert plan.case_in(case, "native-packed").parameters == {"nodes": 1, "ranks": 4}
    assert plan.case_in(case, "native-spread") == plan.case_in(case, "native-a") == case
