"""A session of the runner in a block: what it finds on the nodes before anything is timed."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict, replace

from parity.benchmarks.model import NodeFacts
from parity.core.availability import Availability
from parity.core.code_identity import identity
from parity.core.commands import output_of
from parity.core.documents import as_document, write_document
from parity.core.errors import UserError
from parity.measure.all_nodes import (
    arm_of_all,
    idle_gate_of_all,
    refuse_busy,
    refuse_other_images,
    refuse_other_processors,
)
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
from parity.measure.needs import binaries_of
from parity.measure.node import facts
from parity.measure.node_check import check_node
from parity.measure.storage import now
from parity.measure.tools import tools_for
from parity.plan.plan import Plan
from parity.plan.system import System
from parity.runtimes import every_arm
from parity.software.images import ImageRecord


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
