"""A session of the runner in a block: what it finds on the nodes before anything is timed."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict, replace

from parity.benchmarks import benchmarks
from parity.benchmarks.model import NodeFacts
from parity.core.availability import Availability
from parity.core.code_identity import identity
from parity.core.commands import output_of
from parity.core.documents import as_document, write_document
from parity.core.errors import UserError
from parity.measure import gates
from parity.measure.allocation import Allocation
from parity.measure.block_folder import (
    ANSWER,
    NODE_ANSWER,
    QUESTION,
    SESSION_END,
    SESSION_START,
    next_session,
)
from parity.measure.documents import (
    ArmState,
    Binary,
    Gate,
    NodeAnswer,
    NodeState,
    ProgramIdentity,
    Question,
    SessionEnd,
    SessionStart,
)
from parity.measure.idle_cpu import busy_now
from parity.measure.mpi_launcher import on_each_node
from parity.measure.node import facts
from parity.measure.node_check import check_node
from parity.measure.storage import now
from parity.plan.plan import Plan
from parity.plan.system import System
from parity.software.images import ImageRecord


@dataclass(frozen=True)
class Session:
    """One session of the runner in a block; a block that was killed has several.

    Attributes:
        namespaces: node to the inodes of the namespaces that the runner has there.
    """

    number: int
    node: NodeFacts
    allocation: Allocation
    states: Mapping[str, ArmState]
    namespaces: Mapping[str, Mapping[str, str]]
    benchmarks: Mapping[str, Availability]
    block_gates: tuple[Gate, ...]
    system: System


def begin_session(
    plan: Plan,
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    allocation: Allocation,
    folder: Path,
) -> Session:
    """Check the nodes, the arms, the images and the binaries; nothing is timed yet.

    Raises:
        UserError: a node does not answer, or others keep it busy.
    """
    number = next_session(folder)
    names = sorted({case.benchmark for case in plan.cases})
    provided = {name: benchmarks()[name].provided_by(plan.provider) for name in names}
    question = Question(
        arms=plan.arms,
        benchmarks=tuple(names),
        images=images,
        provider=plan.provider,
        expected=expected,
        nodes=len(allocation.hosts),
        max_busy_fraction=system.max_busy_fraction,
        settle_seconds=system.settle_seconds,
    )
    if question.nodes > 1:
        shared = folder.resolve() / f"session-{number}-nodes"
        answers = _check_all(question, system, allocation, shared)
    else:
        answers = [check_node(question)]
    nodes = [answer.state for answer in answers]
    session = Session(
        number=number,
        node=dataclasses.replace(
            answers[0].size, hosts=allocation.hosts, launcher=system.launcher is not None
        ),
        allocation=allocation,
        states={name: arm_of_all(name, nodes) for name in plan.arms},
        namespaces={answer.state.node_name: answer.namespaces for answer in answers},
        benchmarks={name: benchmark.probe() for name, benchmark in provided.items()},
        block_gates=(idle_gate_of_all(nodes, system.max_busy_fraction),),
        system=system,
    )
    write_document(folder / SESSION_START.format(number), _start(session, nodes))
    _refuse_busy(answers, session.block_gates[0], system)
    return session


def _refuse_busy(answers: Sequence[NodeAnswer], gate: Gate, system: System) -> None:
    """Measure nothing beside other programs: no run would count, and the block were spent."""
    if gate.passed:
        return
    busiest = max(answers, key=lambda answer: answer.state.busy_fraction)
    raise UserError(
        f"the node is busy: {gate.detail}, after {system.settle_seconds:g} s of waiting",
        where=f"{busiest.state.node_name}: {busiest.taken_by}",
        action="end that, or wait, and start Snakemake again: nothing is lost, and it goes on with"
        " this block; quiet_node.settle_seconds of the system's file waits longer, and"
        " quiet_node.max_busy_fraction allows more",
    )


def _start(session: Session, nodes: Sequence[NodeState]) -> SessionStart:
    first, *others = nodes
    return SessionStart(
        **(asdict(first) | {"arms": dict(session.states)}),
        started=now(),
        program=as_document(identity(), ProgramIdentity, "the state of this program"),
        system=session.system.name,
        scale_label=session.system.scale_label,
        allocation=dict(session.allocation.facts),
        other_nodes=tuple(others),
    )


def _check_all(
    question: Question, system: System, allocation: Allocation, folder: Path
) -> list[NodeAnswer]:
    """The answers of all nodes, in the order of the allocation.

    Raises:
        UserError: a node did not answer.
    """
    assert system.launcher is not None
    folder.mkdir()
    QUESTION.write_in(folder, question)
    command = [sys.executable, "-m", "parity.measure.node_check", str(folder)]
    output_of(on_each_node(system.launcher, question.nodes, command))
    paths = {host: folder / NODE_ANSWER.format(host) for host in allocation.hosts}
    if missing := [host for host, path in paths.items() if not path.exists()]:
        raise UserError(
            f"these nodes left no answer: {', '.join(missing)}",
            where=str(folder),
            action="see that every node has this folder and calls itself as Slurm calls it",
        )
    return [ANSWER.read(path) for path in paths.values()]


def arm_of_all(name: str, nodes: Sequence[NodeState]) -> ArmState:
    """The state of an arm in the whole allocation: the first node's, if no node objects.

    Ranks of one program must be the same program: an arm that resolves to other binaries
    on one of the nodes cannot be used.
    """
    first = nodes[0].arms[name]
    expected = _identities(nodes[0].binaries, name)
    for node in nodes:
        state, host = node.arms[name], node.node_name
        if state.reason:
            return replace(state, detail=_at(host, state.detail, nodes))
        if not state.gate.passed:
            gate = replace(state.gate, detail=_at(host, state.gate.detail, nodes))
            return replace(state, gate=gate)
        if other := sorted(expected ^ _identities(node.binaries, name)):
            paths = sorted({path for path, *_ in other})
            return replace(
                first,
                reason="nodes-differ",
                detail=f"other binaries or libraries on {host}: {', '.join(paths)}",
            )
    return first


def _identities(binaries: Sequence[Binary], arm: str) -> set[tuple[str, str, str]]:
    return {(each.path, each.sha256, each.closure_sha256) for each in binaries if each.arm == arm}


def _at(host: str, detail: str, nodes: Sequence[NodeState]) -> str:
    return f"{host}: {detail}" if len(nodes) > 1 else detail


def idle_gate_of_all(nodes: Sequence[NodeState], limit: float) -> Gate:
    """The gate of the busiest node."""
    busiest = max(nodes, key=lambda node: node.busy_fraction)
    gate = gates.idle_gate(busiest.busy_fraction, limit)
    return gate if gate.passed else replace(gate, detail=_at(busiest.node_name, gate.detail, nodes))


def end_session(session: Session, folder: Path) -> None:
    """Write down the first node's state after the block."""
    end = SessionEnd(ended=now(), busy_fraction=busy_now(), facts=facts())
    write_document(folder / SESSION_END.format(session.number), end)
