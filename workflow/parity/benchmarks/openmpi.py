"""Ranks of MPI: where they are put, how they are started, and what Open MPI says of their world.

A rank that a container hides the launcher from quietly becomes a world of its own and ends well,
so a program's world is read from inside, from what MPI prints itself.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, product
from pathlib import Path

import msgspec

from parity.benchmarks.model import Asked, NodeFacts, Outputs, Program
from parity.benchmarks.reading import Refused
from parity.core.commands import output_of
from parity.core.errors import UserError


def placed(program: Program, parameters: Asked, node: NodeFacts, where: str) -> Program:
    """A program with the ranks of its allocation, and the CPUs that those of a node are bound to.

    In containers that share a node rank r of R has the CPU at ⌊r·C/R⌋ of C, in the equal part of
    its container; there may be more ranks than CPUs. Elsewhere each rank has one of its own. Raises
    UserError: a node would get more ranks than it has CPUs, or several have containers.
    """
    nodes, ranks = parameters["nodes"], parameters["ranks"]
    containers, cpus = parameters.get("containers_per_node", 0), node.cpus
    if containers and nodes > 1:
        problem = "containers that hold several ranks are started on one node only"
        raise UserError(problem, where=where, allowed=f"1x{ranks // nodes}/{containers}")
    if containers:
        cpus = tuple(cpus[rank * len(cpus) // ranks] for rank in range(ranks))
    else:
        node.first_cpus(ranks // nodes, where)
    return replace(program, cpus=cpus, ranks=ranks, nodes=nodes, containers=containers)


def part_of(cpus: Sequence[int], number: int, parts: int) -> tuple[int, ...]:
    """One of equal parts of a node's CPUs; parts that CPUs do not divide into share some."""
    first, last = number * len(cpus) // parts, -(-(number + 1) * len(cpus) // parts)
    return tuple(cpus[first:last])


LAUNCHER, SHARED_MEMORY, NETWORK, _HOSTS = "/usr/bin/mpirun", "vader", "tcp", "--host"
# Lines grow with the square of the ranks: in a larger world nobody is named (openmpi.yaml, too).
LARGEST_WORLD = 1024
_FILE = Path(__file__).with_suffix(".yaml")
_VARIABLES = msgspec.yaml.decode(_FILE.read_bytes(), type=dict[str, dict[str, str]])
INSIDE: Mapping[str, str] = _VARIABLES["inside"]
# [node:pid] mca: bml: Using tcp btl for send to [[job family,job],rank] on node name
_REACHED = re.compile(
    r"(?m)mca: bml: Using (\w+) btl for send to \[\[([0-9]+,[0-9]+)\],([0-9]{1,9})\] on node \S+$"
)


def environment(ranks: int) -> dict[str, str]:
    """Variables of a program whose `ranks` processes the site's launcher starts."""
    described = {} if ranks > LARGEST_WORLD else _VARIABLES["described"]
    return _VARIABLES["one_stack"] | described


def launch_words(argv: Sequence[str], cpus: Sequence[int]) -> tuple[str, ...]:
    """The launcher with one rank of a program on each of `cpus`, bound by `taskset`.

    mpirun's own binding goes by the topology that it finds, which is not the same in all
    runtimes, and wants to set a memory policy, which some forbid.
    """
    ranks = [(":", "-n", "1", "/usr/bin/taskset", "-c", str(cpu), *argv) for cpu in cpus]
    return (LAUNCHER, "--bind-to", "none", *tuple(chain.from_iterable(ranks))[1:])


def program(
    argv: Sequence[str], parameters: Asked, node: NodeFacts, name: str,
    variables: Mapping[str, str], collect: tuple[str, ...] = (),
) -> Program:  # fmt: skip
    """The ranks of an allocation: started by the site or, where it has no launcher, inside.

    `name`: of the benchmark, for messages. Raises UserError: more ranks on a node than CPUs, or
    several nodes without a launcher.
    """
    where = f"{name}: allocations, ranks of one node"
    if node.launcher or "containers_per_node" in parameters:
        alone = Program(tuple(argv), (), variables, collect=collect)
        return in_one_world(alone, parameters, node, where)
    if (nodes := parameters["nodes"]) > 1:
        problem = f"{nodes} nodes are asked for, and the system's file names no MPI launcher"
        action = "name the launcher in the system's file, or ask for one node"
        raise UserError(problem, where=where, action=action)
    cpus = node.first_cpus(parameters["ranks"], where)
    variables = {**environment(len(cpus)), **variables, **INSIDE}
    return Program(launch_words(argv, cpus), cpus, variables, {}, collect)


def in_one_world(program: Program, parameters: Asked, node: NodeFacts, where: str) -> Program:
    """A program with the ranks of its allocation in one world of MPI; raises as `placed` does."""
    program = placed(program, parameters, node, where)
    variables = {**environment(program.ranks), **program.environment}
    if program.containers:
        # Each container is told its own.
        del variables["OMPI_MCA_btl_tcp_if_exclude"]
        if program.ranks > len(set(program.cpus)):
            # No daemon knows of ranks on the same CPU in other containers: all arms are told.
            variables["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return replace(program, environment=variables)


def over_containers(
    names: Sequence[str], ranks: int, agent: str, own_network: bool
) -> tuple[str, ...]:
    """The launcher on the host, with a daemon and as many ranks in each container.

    Args:
        names: of the containers; they are no names of hosts.
        agent: program that starts `sh -c` with all its words but the first, which is a name, in
            the container of that name; empty to start all ranks on the host, of one name.
        own_network: whether theirs is not the host's, whose interfaces may come and go.
    """
    hosts = ",".join(f"{name}:{ranks // len(names)}" for name in names)
    daemons = ("rsh", "--mca", "plm_rsh_agent", agent, "--mca", "plm_rsh_no_tree_spawn", "1")
    return (
        *(LAUNCHER, "--noprefix", "--allow-run-as-root", "--bind-to", "none", "--map-by", "slot"),
        # A container ends with its daemon, which must not go to the background.
        *("--leave-session-attached", "--mca", "orte_do_not_resolve", "1"),
        *("--mca", "plm", *(daemons if agent else ("isolated",))),
        *(() if own_network else ("--mca", "oob_tcp_if_include", "lo")),
        *(_HOSTS, hosts, "-n", str(ranks)),
    )


@cache
def release() -> str:
    """What the host's launcher says of its release; raises UserError."""
    return output_of([LAUNCHER, "--version"]).splitlines()[0]


def machines(command: Sequence[str], nodes: int) -> int:
    """Over how many nodes the ranks of a command line are: containers, after `over_containers`."""
    return len(command[command.index(_HOSTS) + 1].split(",")) if _HOSTS in command else nodes


def read_world(stderr: str) -> tuple[frozenset[str], Counter[tuple[int, str]]]:
    """The ranks' MPI jobs by their names, and how many reach a rank by (rank, transport).

    There is a single job if the ranks form one world; over `self` a rank reaches itself. Lines that
    are cut or of something else are passed over.
    """
    # Each rank names each other one: half a million lines of 720 ranks.
    lines = Counter(line.groups() for line in _REACHED.finditer(stderr))
    reached = Counter[tuple[int, str]]()
    for (transport, _, rank), times in lines.items():
        reached[int(rank), transport] += times
    return frozenset(job for _, job, _ in lines), reached


def require_one_world(outputs: Outputs) -> None:
    """Refuse a run whose ranks are not one world where they were started (`require_world`)."""
    nodes = machines(outputs.command, outputs.parameters["nodes"])
    require_world(outputs.stderr, nodes, outputs.parameters["ranks"])


def require_world(stderr: str, nodes: int, ranks: int) -> None:
    """Refuse a run whose ranks are not one world on these nodes, equally many on each.

    Who shares a node (or container) with whom follows from the transport: shared memory ends there
    and is always preferred, so everyone else is reached over the network. Raises Refused: every
    process is alone (`singletons`), ranks are missing or too many (`world-size`), or one is reached
    otherwise than its place demands (`transport`).
    """
    if ranks > LARGEST_WORLD:
        return
    jobs, reached = read_world(stderr)
    alone, named = max(len(jobs), reached[0, "self"]), {rank for rank, _ in reached}
    if ranks > 1 and alone > 1:
        raise Refused("singletons", f"{alone} worlds of MPI instead of one with {ranks} ranks")
    if named != set(range(ranks)):
        raise Refused("world-size", f"asked for {ranks} ranks, MPI names {len(named)}")
    neighbours = ranks // nodes - 1
    over = {"self": 1, SHARED_MEMORY: neighbours, NETWORK: ranks - 1 - neighbours}
    for rank, (transport, others) in product(range(ranks), over.items()):
        seen = reached[rank, transport]
        # Over the network once over each interface.
        over_each = transport == NETWORK and 0 < others < seen and seen % others == 0
        if seen != others and not over_each:
            said = f"rank {rank} is reached over {transport} by {seen} instead of {others}"
            raise Refused("transport", said)
