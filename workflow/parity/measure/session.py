"""A session of the runner in a block: its allocation, and what the nodes are before it."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import asdict, replace

from parity.benchmarks.model import NodeFacts
from parity.core.commands import Availability, output_of
from parity.core.documents import as_document, write_document
from parity.core.errors import UserError
from parity.core.package import identity
from parity.measure import gates
from parity.measure.documents import (
    ANSWER,
    NODE_ANSWER,
    QUESTION,
    SESSION_END,
    SESSION_START,
    ArmState,
    Binary,
    Gate,
    NodeAnswer,
    NodeState,
    ProgramIdentity,
    Question,
    SessionEnd,
    SessionStart,
    next_session,
)
from parity.measure.inner_command import on_each_node
from parity.measure.node import busy_now, facts, node_name
from parity.measure.node_check import check_node
from parity.measure.places import binaries_of, now, tools_for
from parity.plan.plan import Case, Plan
from parity.plan.system import BATCH_SYSTEMS, BatchSystem, System
from parity.runtimes import every_arm
from parity.software.binaries import NOT_FOUND
from parity.software.images import ImageRecord


@dataclass(frozen=True)
class Allocation:
    """The nodes that a block has for itself.

    Attributes:
        hosts: their names, the one that the runner is on first.
        job: the batch system's number of the job; empty without a batch system.
        facts: what the batch system says of the job, for the records.
    """

    hosts: tuple[str, ...]
    job: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def this_allocation(system: System, nodes: int) -> Allocation:
    """The allocation we are in.

    Raises:
        UserError: the block needs other nodes than these, or there is no job around us.
    """
    around = BATCH_SYSTEMS.get(system.batch_system)
    allocation = _job(around) if around else Allocation((node_name(),))
    if system.launcher and len(allocation.hosts) != nodes:
        raise UserError(
            f"the block needs {nodes} nodes, and the allocation has {len(allocation.hosts)}",
            where=f"job {allocation.job}" if allocation.job else node_name(),
            action=around.advice if around else "name a batch system in the system's file",
        )
    return allocation


def _job(around: BatchSystem) -> Allocation:
    if not os.environ.get(around.job_variable):
        raise UserError(
            f"this is not a {around.title} job, and the system's file says that blocks are",
            where=around.job_variable,
            action=around.advice,
        )
    number, found, facts = around.job()
    hosts = tuple(sorted(found, key=lambda host: host != node_name()))
    facts = {**facts, "hosts": ",".join(hosts)}
    return Allocation(hosts, number, {f"allocation.{key}": facts[key] for key in facts})


def refuse_other_processors(nodes: Sequence[NodeState]) -> None:
    """Measure nothing on processors that differ: ranks of one program would wait for the slower."""
    models = {node.node_name: node.facts["cpu_model"] for node in nodes}
    if len(set(models.values())) > 1:
        raise UserError(
            "the processors of this allocation differ",
            where="; ".join(f"{name}: {model or 'not told'}" for name, model in models.items()),
            action="ask for nodes of one kind in the profile, as with Slurm's `constraint`",
        )


def refuse_other_images(states: Mapping[str, ArmState]) -> None:
    """Measure nothing of a block where an arm's image is another: its runs were lost for good."""
    broken = {name: state.gate.detail for name, state in states.items() if not state.gate.passed}
    if broken:
        raise UserError(
            f"the image of {', '.join(broken)} is not the one that was made",
            where="; ".join(dict.fromkeys(broken.values())),
            action="snakemake images --forcerun convert_image, and start Snakemake again: nothing"
            " is lost, and it goes on with this block",
        )


def refuse_busy(answers: Sequence[NodeAnswer], gate: Gate, system: System) -> None:
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


@dataclass(frozen=True)
class Session:
    """One session of the runner in a block; a block that was killed has several.

    Attributes:
        namespaces: node to the inodes of the namespaces that the runner has there.
        question, answers: what the nodes were asked, and what each answered, in the
            allocation's order.
    """

    number: int
    node: NodeFacts
    allocation: Allocation
    states: Mapping[str, ArmState]
    namespaces: Mapping[str, Mapping[str, str]]
    benchmarks: Mapping[str, Availability]
    block_gates: tuple[Gate, ...]
    system: System
    question: Question | None = None
    answers: tuple[NodeAnswer, ...] = ()

    @property
    def tools(self) -> str:
        """The tools around each program, as `tools_for` names them."""
        return tools_for(self.question.images) if self.question else ""


def begin_session(
    plan: Plan,
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    allocation: Allocation,
    folder: Path,
    checked: Session | None = None,
) -> Session:
    """Check the nodes, the arms, the images and the binaries; nothing is timed yet.

    Args:
        checked: the session of the block measured just before it, in this process and this
            allocation. What it found out of arms, images and binaries is taken over if it asked
            for the same ones, and the nodes are asked again only whether they are idle. An arm
            that could not be used is asked again: what was in its way may have passed.

    Raises:
        UserError: a node does not answer, its processor is of another model than those of the
            other nodes, an image is not the one that was made, or others keep it busy.
    """
    number = next_session(folder)
    question = _question(plan, images, expected, system, allocation)
    known = checked if checked and _asked_the_same(checked, question, allocation) else None
    # Before the nodes are asked whether they are idle, because it takes programs of our own.
    presences = known.benchmarks if known else _presences(plan)
    program = as_document(identity(), ProgramIdentity, "the state of this program")
    answers = _answers(question, system, allocation, folder, number, known)
    nodes = [answer.state for answer in answers]
    refuse_other_processors(nodes)
    session = Session(
        number=number,
        node=dataclasses.replace(
            answers[0].size, hosts=allocation.hosts, launcher=system.launcher is not None
        ),
        allocation=allocation,
        states={name: arm_of_all(name, nodes) for name in plan.arms},
        namespaces={answer.state.node_name: answer.namespaces for answer in answers},
        benchmarks=presences,
        block_gates=(idle_gate_of_all(nodes, system.max_busy_fraction),),
        system=system,
        question=question,
        answers=answers,
    )
    write_document(folder / SESSION_START.format(number), _start(session, program))
    refuse_other_images(session.states)
    refuse_busy(answers, session.block_gates[0], system)
    return session


def _question(
    plan: Plan,
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    allocation: Allocation,
) -> Question:
    """What the nodes are asked before a block of the plan."""
    return Question(
        arms=plan.arms,
        binaries=binaries_of(plan),
        needs=plan.needs,
        images=images,
        expected=expected,
        nodes=len(allocation.hosts),
        max_busy_fraction=system.max_busy_fraction,
        settle_seconds=system.settle_seconds,
    )


def _asked_the_same(checked: Session, question: Question, allocation: Allocation) -> bool:
    """Whether a session's answers hold here, too: the same question to the same nodes."""
    then = checked.allocation
    same_nodes = (then.job, then.hosts) == (allocation.job, allocation.hosts)
    return same_nodes and checked.question == question


def _presences(plan: Plan) -> dict[str, Availability]:
    """Whether each benchmark can be run on this node, by name."""
    if all(every_arm()[name].image_format for name in plan.arms):
        # All of it is in a foreign image, and nothing has to be installed here.
        return dict.fromkeys(plan.definitions, Availability(True))
    provided = [each.provided_by(plan.provider) for each in plan.definitions.values()]
    with ThreadPoolExecutor() as pool:
        asked = pool.map(lambda benchmark: benchmark.probe(), provided)
        return dict(zip(plan.definitions, asked, strict=True))


def _answers(
    question: Question,
    system: System,
    allocation: Allocation,
    folder: Path,
    number: int,
    known: Session | None,
) -> tuple[NodeAnswer, ...]:
    """The answers of all nodes, in the order of the allocation.

    Args:
        known: a session that has the arms and binaries already; those are not asked for again.

    Raises:
        UserError: a node did not answer.
    """
    again = tuple(n for n in question.arms if not known or not _is_usable(known.states[n]))
    asked = replace(question, arms=again, binaries=question.binaries if again else {})
    if asked.nodes > 1:
        shared = folder.resolve() / f"session-{number}-nodes"
        answers = _check_all(asked, system, allocation, shared)
    else:
        answers = [check_node(asked)]
    if not known:
        return tuple(answers)
    pairs = zip(known.answers, answers, strict=True)
    return tuple(replace(new, state=_with_known(old.state, new.state)) for old, new in pairs)


def _is_usable(state: ArmState) -> bool:
    return state.gate.passed and not state.reason


def _with_known(old: NodeState, new: NodeState) -> NodeState:
    """A node's new state, with what was found of those arms that it was not asked for."""
    kept = tuple(binary for binary in old.binaries if binary.arm not in new.arms)
    return replace(new, arms=old.arms | new.arms, binaries=(*kept, *new.binaries))


def _start(session: Session, program: ProgramIdentity) -> SessionStart:
    first, *others = (answer.state for answer in session.answers)
    return SessionStart(
        **(asdict(first) | {"arms": dict(session.states)}),
        started=now(),
        program=program,
        system=session.system.name,
        scale_label=session.system.scale_label,
        allocation=dict(session.allocation.facts),
        other_nodes=tuple(_beside(first, other) for other in others),
    )


def _beside(first: NodeState, other: NodeState) -> NodeState:
    """A node's state without what it says of arms as the first one does: nearly all of it."""
    return replace(
        other,
        arms={name: state for name, state in other.arms.items() if state != first.arms.get(name)},
        binaries=tuple(each for each in other.binaries if each not in first.binaries),
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
    command = [sys.executable, "-m", "parity", "check-node", f"--folder={folder}"]
    output_of(on_each_node(system.launcher, question.nodes, command))
    paths = {host: folder / NODE_ANSWER.format(host) for host in allocation.hosts}
    if missing := [host for host, path in paths.items() if not path.exists()]:
        raise UserError(
            f"these nodes left no answer: {', '.join(missing)}",
            where=str(folder),
            action="see that every node has this folder, and its batch system's name for itself",
        )
    return [ANSWER.read(path) for path in paths.values()]


def end_session(session: Session, folder: Path) -> None:
    """Write down the first node's state after the block."""
    end = SessionEnd(ended=now(), busy_fraction=busy_now(), facts=facts())
    write_document(folder / SESSION_END.format(session.number), end)


# By it a program finds libraries that the audit, which runs without it, does not.
_SEARCHED = "LD_LIBRARY_PATH"


def lacking(session: Session, plan: Plan, case: Case, arm: str) -> str:
    """What an arm lacks of a case's programs on any node, as a sentence; empty if nothing."""
    audited = [
        binary
        for answer in session.answers
        for binary in answer.state.binaries
        if (binary.benchmark, binary.arm) == (case.benchmark, arm)
    ]
    for binary in audited:
        if not binary.sha256:
            return f"{binary.path} is not there"
        absent = [each.library for each in binary.closure if each.sha256 == NOT_FOUND]
        if absent and not _searches_elsewhere(session, plan, case):
            return f"{binary.path} does not find {', '.join(absent)}"
    return ""


def tell_what_lacks(session: Session, plan: Plan) -> None:
    """Say beside the progress what is not measured because something lacks, a line for each.

    Raises:
        UserError: nothing is left that the study compares with its reference.
    """
    found = {
        (case.name, arm): lacking(session, plan, case, arm)
        for case in plan.cases
        if session.benchmarks[case.benchmark].available
        for arm in plan.arms
    }
    titles = {case.name: plan.benchmark_titles[case.benchmark] for case in plan.cases}
    lines = sorted(
        {
            f"{titles[case]}, {plan.arm_titles[arm]}: {why}"
            for (case, arm), why in found.items()
            if why
        }
    )
    compared = [each for each in plan.comparisons if each.arm not in plan.aa_pair]
    if lines and all(
        found.get((each.case, each.arm)) or found.get((each.case, each.reference))
        for each in compared
    ):
        raise UserError(
            "\n".join(["nothing of this study could be compared", *lines]),
            where=f"study {plan.study}",
            action="put it where the program looks for it, in the image too; nothing was measured",
        )
    for line in lines:
        print(f"not measured: {line}", flush=True)


def _searches_elsewhere(session: Session, plan: Plan, case: Case) -> bool:
    """Whether the program is told of folders with libraries of its own."""
    try:
        case = plan.case_in(case, plan.reference)
        provided = case.definition.provided_by(plan.provider)
        program = provided.program(case.parameters, session.node)
        # What is run as it is given finds its libraries as whoever measures does.
        return program.as_given or _SEARCHED in program.environment
    except UserError:
        # It is too large for this node, and not started anyway.
        return True
