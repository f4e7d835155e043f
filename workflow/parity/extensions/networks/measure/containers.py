"""Containers that are like machines: each holds several ranks, and a daemon that starts them.

Where a case says how many containers share a node, the host's own mpirun, outside of all of them
and the same for all arms, starts a daemon in each by an agent of ours, which it takes for a
remote shell. So the ranks of a container share its memory, and those of two talk over a network,
in every runtime alike. mpirun's time is nobody's: the ranks tell theirs.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from parity.benchmarks import openmpi
from parity.benchmarks.model import Program
from parity.core.errors import UserError
from parity.extensions.networks.measure.network import NetworkState, Place, network
from parity.measure import gates, inner_command
from parity.measure.attempt import Attempt, Line, NotStarted, Order
from parity.measure.documents import Gate
from parity.measure.places import SHARED_MEMORY, WORK, private_folder, remove_own
from parity.plan.system import MpiLauncher
from parity.runtimes.model import Arm, Launch

FOLDER = WORK / "containers"  # what daemons and launcher leave, and the agent: no program's
AGENT = FOLDER / "agent"
DAEMON = Path(__file__).with_name("daemon.sh").read_text(encoding="utf-8")
_BACKING = "OMPI_MCA_btl_vader_backing_directory"
# Ranks talk over all but loopback in networks of their own, on the host's over loopback alone.
_INTERFACE, _LOOPBACK = "OMPI_MCA_btl_tcp_if_", "127.0.0.1/8"
# By these a rank finds its peers, and netpipe's rank 0 the address of rank 1.
VARIABLES = ("PMIX_", "OMPI_MCA_ess", "OMPI_MCA_orte_", _BACKING, _INTERFACE, "PARITY_ADDRESSES")


@contextmanager
def containers(
    order: Order, launch: Launch, net: NetworkState
) -> Iterator[tuple[Line, Mapping[str, Sequence[str]]]]:
    """Prepare the containers of an attempt, which mpirun starts, each in its place of a network.

    An arm that isolates nothing has none: its ranks are started on the same CPUs. Yields what makes
    the command line that starts the program's witnessed words once for each rank; and by the
    container's name the words that start its daemon, whose command is to follow.
    """
    lines: dict[str, list[str]] = {}

    def command(words: Sequence[str]) -> list[str]:
        agent, own_network = f"/bin/sh {AGENT}" * bool(lines), any(it.address for it in net.places)
        names, begin = tuple(lines) or ("localhost",), ("/usr/bin/env", f"TMPDIR={FOLDER}")
        over = openmpi.over_containers(names, order.program.ranks, agent, own_network)
        launcher = MpiLauncher((*net.hub, *begin, *over), (), "PMIX_RANK", VARIABLES)
        return inner_command.launched(launcher, order.program, words)

    FOLDER.mkdir()
    if not order.arm.isolates:
        yield command, lines
        return
    remove_own(SHARED_MEMORY)
    try:
        private_folder(SHARED_MEMORY, mode=0o700)
    except UserError as error:
        raise NotStarted(error.what) from error
    lines |= {place.name: _line(order, launch, place, net.places) for place in net.places}
    AGENT.write_text(agent_text(lines), encoding="utf-8")
    try:
        yield command, lines
    finally:
        remove_own(SHARED_MEMORY)


def _line(order: Order, launch: Launch, place: Place, places: Sequence[Place]) -> list[str]:
    """The words that start a container, and in it all but the command of its daemon."""
    number = str(places.index(place))
    cpus = openmpi.part_of(order.session.node.cpus, int(number), order.program.containers)
    folder, shared = FOLDER / number, SHARED_MEMORY / number
    folder.mkdir()
    shared.mkdir()
    name = launch.name.replace(inner_command.RANK, number)
    own = replace(launch, name=name, host=order.hosts[0], cpus=cpus)
    variables = inner_command.program_environment(order.program)
    fixed = {key: variables[key] for key in ("HOME", "LC_ALL", "PATH")} | {
        "TMPDIR": folder, "PARITY_NODE": order.hosts[0], "PARITY_CONTAINER": place.name,
        "PARITY_ADDRESSES": ",".join(each.address for each in places).strip(","), _BACKING: shared,
        _INTERFACE + ("exclude" if place.address else "include"): _LOOPBACK,
    }  # fmt: skip
    words = [
        *("/usr/bin/taskset", "-c", ",".join(map(str, cpus))),
        *("/usr/bin/env", "-i", f"--chdir={WORK}"),
        *(f"{key}={value}" for key, value in fixed.items()),
        *("/bin/sh", "-c", DAEMON, "daemon", openmpi.release()),
    ]
    return [*place.words, *order.arm.command(own, words)]


def agent_text(lines: Mapping[str, Sequence[str]]) -> str:
    """The agent: a script that is given the name of a container and the command of its daemon."""
    cases = (f'{shlex.quote(n)}) exec {shlex.join(words)} "$*" ;;\n' for n, words in lines.items())
    # ch-run would show the launcher's folder in place of its own.
    begin = "unset TMPDIR\ncontainer=$1\nshift\n"
    return f"{begin}case $container in\n{''.join(cases)}esac\nexit 1\n"


def containers_gate(arm: Arm, program: Program, ranks: gates.Ranks) -> Gate:
    """Whether ranks that share a container, and no others, share its name and namespaces."""
    said = {rank: inner_command.namespaces(evidence) for rank, evidence in ranks.items()}
    for name in arm.isolates:
        told = [(said[rank].get(name, ""), ranks[rank].get("container", "")) for rank in said]
        each = len(told) // program.containers
        inside = [set(told[first : first + each]) for first in range(0, len(told), each)]
        inodes = {inode for of_one in inside for inode, _ in of_one}
        if not all(len(of_one) == 1 for of_one in inside) or len(inodes) != program.containers:
            expected = f"expected {program.containers} containers of {each} ranks"
            return Gate("containers", False, f"{expected}, saw {name} in {told}")
    return Gate("containers", True)


@contextmanager
def networked_containers(attempt: Attempt) -> Iterator[None]:
    """The network of an arm, and the containers of a case that has several ranks in each."""
    order, program = attempt.order, attempt.order.program
    with network(order, max(1, program.containers)) as net:
        if program.containers:
            with containers(order, attempt.launch, net) as (attempt.line, lines):
                yield
            attempt.commands[:0] = map(list, lines.values())
            stderr = (attempt.folder / "stderr").read_text(encoding="utf-8", errors="replace")
            ranks = inner_command.rank_evidence(stderr)
            if len(ranks) == program.ranks:
                attempt.beside.append(containers_gate(order.arm, program, ranks))
            if program.ranks > (cpus := len(order.session.node.cpus)):
                attempt.evidence["oversubscribed"] = f"{program.ranks} ranks on {cpus} CPUs"
        else:
            alone, words = attempt.line, net.places[0].words
            attempt.line = lambda inner: [*words, *alone(inner)]
            yield
    attempt.beside += [net.gate] if net.gate else []
    attempt.evidence |= {**net.facts, **{name: str(count) for name, count in net.counters.items()}}


COMPANION = networked_containers
