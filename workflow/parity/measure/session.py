"""A session of the runner in a block: its allocation, and what the nodes are before it."""

import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict, replace

from parity.benchmarks.model import NodeFacts
from parity.core.commands import Availability, output_of
from parity.core.documents import as_document, write_document
from parity.core.errors import UserError
from parity.core.package import identity
from parity.measure import documents, gates
from parity.measure.inner_command import on_each_node
from parity.measure.node import busy_now, facts, node_name
from parity.measure.node_check import BROKEN, check_node
from parity.measure.places import GO_ON, binaries_of, now, tools_for
from parity.plan.plan import Case, Plan
from parity.plan.system import BATCH_SYSTEMS, Allocation, System
from parity.runtimes import every_arm
from parity.software.binaries import NOT_FOUND
from parity.software.images import ImageRecord


def this_allocation(system: System, nodes: int) -> Allocation:
    """Our nodes, our host first; UserError: the block needs other nodes, or we are in no job."""
    allocation = Allocation((node_name(),))
    if around := BATCH_SYSTEMS.get(system.batch_system):
        if not os.environ.get(around.job_variable):
            what = f"this is not a {around.title} job, and the system's file says that blocks are"
            raise UserError(what, where=around.job_variable, action=around.advice)
        job = around.job()
        if node_name() not in job.hosts:
            problem = f"this node calls itself {node_name()}, and is none of the job's nodes"
            action = "start the runner on a node of its job, under the batch system's name of it"
            raise UserError(problem, where=", ".join(job.hosts), action=action)
        hosts = tuple(sorted(job.hosts, key=lambda host: host != node_name()))
        told = {**job.facts, "hosts": ",".join(hosts)}
        allocation = Allocation(hosts, job.job, {f"allocation.{key}": told[key] for key in told})
    if system.launcher and len(allocation.hosts) != nodes:
        problem = f"the block needs {nodes} nodes, and the allocation has {len(allocation.hosts)}"
        action = around.advice if around else "name a batch system in the system's file"
        where = f"job {allocation.job}" if allocation.job else node_name()
        raise UserError(problem, where=where, action=action)
    return allocation


@dataclass(frozen=True)
class Session:
    """One session of the runner in a block; a block that was killed has several."""

    number: int
    node: NodeFacts
    allocation: Allocation
    states: Mapping[str, documents.ArmState]
    namespaces: Mapping[str, Mapping[str, str]]  # the runner's own by node, name to inode
    benchmarks: Mapping[str, Availability]
    block_gates: tuple[documents.Gate, ...]
    system: System
    question: documents.Question | None = None  # what the nodes were asked
    answers: tuple[documents.NodeAnswer, ...] = ()  # in the allocation's order

    @property
    def tools(self) -> str:
        """The tools around each program, as `tools_for` names them."""
        return tools_for(self.question.images) if self.question else ""


def begin_session(
    plan: Plan, images: Mapping[str, ImageRecord], expected: Mapping[str, str], system: System,
    allocation: Allocation, folder: Path, checked: Session | None = None,
) -> Session:  # fmt: skip
    """Check the nodes, the arms, the images and the binaries; nothing is timed yet.

    `checked`: the session of the block before it, in this process. If it asked this allocation for
    the same arms, images and binaries, the nodes are asked only whether they are idle, and for arms
    that could not be used: what was in their way may have passed. Raises UserError: a node does not
    answer or has another processor than the others, an image is not the one that was made, a
    runtime that worked does not any more, or others keep a node busy.
    """
    number = documents.next_session(folder)
    before = [session for each in begun(plan, folder).values() for session in each]
    question = documents.Question(
        arms=plan.arms, binaries=binaries_of(plan), needs=plan.needs, images=images,
        expected=expected, nodes=len(allocation.hosts),
        max_busy_fraction=(most_busy := 1.0 if plan.is_paired else system.max_busy_fraction),
        settle_seconds=system.settle_seconds,
    )  # fmt: skip
    # What is said of a job may change.
    then = checked and (checked.question, checked.allocation.job, checked.allocation.hosts)
    known = checked if then == (question, allocation.job, allocation.hosts) else None
    # Before the nodes are asked whether they are idle, because it takes programs of our own.
    presences = known.benchmarks if known else _presences(plan)
    program = as_document(identity(), documents.ProgramIdentity, "the state of this program")
    answers = _answers(question, system, allocation, folder.resolve(), number, known)
    first, *others = nodes = [answer.state for answer in answers]
    models = {node.node_name: node.facts["cpu_model"] for node in nodes}
    if len(set(models.values())) > 1:
        # Ranks of one program would wait for the slower ones.
        where = "; ".join(f"{name}: {model or 'not told'}" for name, model in models.items())
        action = "ask for nodes of one kind in the profile, as with Slurm's `constraint`"
        raise UserError("the processors of this allocation differ", where=where, action=action)
    busiest = max(answers, key=lambda answer: answer.state.busy_fraction)
    idle = gates.idle_gate(busiest.state.busy_fraction, most_busy)
    idle = replace(idle, detail=_at(busiest.state.node_name, idle.detail, nodes))
    session = Session(
        number=number, allocation=allocation, answers=answers, node=dataclasses.replace(
            answers[0].size, hosts=allocation.hosts, launcher=system.launcher is not None),
        states={name: _arm_of_all(name, nodes) for name in plan.arms},
        namespaces={answer.state.node_name: answer.namespaces for answer in answers},
        benchmarks=presences, block_gates=(idle,), system=system, question=question,
    )  # fmt: skip
    start = documents.SessionStart(
        **(asdict(first) | {"arms": dict(session.states)}), started=now(), program=program,
        system=system.name, scale_label=system.scale_label, allocation=dict(allocation.facts),
        other_nodes=tuple(
            replace(other, arms={n: s for n, s in other.arms.items() if s != first.arms.get(n)},
                    binaries=tuple(each for each in other.binaries if each not in first.binaries))
            for other in others),
    )  # fmt: skip
    write_document(folder / documents.SESSION_START.format(number), start)
    _refuse_unusable(session.states, before)
    if not idle.passed:
        # No run beside other programs would count, and the block were spent.
        problem = f"the node is busy: {idle.detail}, after {system.settle_seconds:g} s of waiting"
        where = f"{busiest.state.node_name}: {busiest.taken_by}"
        action = (f"end that, or wait, and {GO_ON}; quiet_node.settle_seconds of the system's file"
                  " waits longer, and quiet_node.max_busy_fraction allows more")  # fmt: skip
        raise UserError(problem, where=where, action=action)
    return session


def begun(plan: Plan, folder: Path) -> dict[Path, tuple[documents.SessionRecord, ...]]:
    """The sessions so far of the block in a folder, and of the first block that was begun."""
    # They tell for all of a campaign where it is measured, and which of its arms worked there.
    beside = (folder.with_name(block.name) for block in plan.blocks)
    first = next((each for each in beside if documents.next_session(each) > 1), folder)
    return {each: documents.read_sessions(each) for each in (folder, first)}


def _refuse_unusable(
    states: Mapping[str, documents.ArmState], before: Sequence[documents.SessionRecord]
) -> None:
    if broken := {name: s.gate.detail for name, s in states.items() if not s.gate.passed}:
        problem = f"the image of {', '.join(broken)} is not the one that was made"
        action = f"snakemake images --forcerun convert_image, and {GO_ON}"
        raise UserError(problem, where="; ".join(dict.fromkeys(broken.values())), action=action)
    arms = [arm for session in before for arm in session.start.arms.items()]
    worked = {name for name, state in arms if not any(state.obstacle)}
    lost = {name: s.detail for name, s in states.items() if name in worked and s.reason == BROKEN}
    if lost:
        problem = f"{', '.join(lost)} worked in this campaign, and does not any more"
        where = "; ".join(dict.fromkeys(lost.values()))
        raise UserError(problem, where=where, action=f"mend that, and {GO_ON}")


def _presences(plan: Plan) -> dict[str, Availability]:
    if all(every_arm()[name].image_format for name in plan.arms):
        # All of it is in a foreign image, and nothing has to be installed here.
        return dict.fromkeys(plan.definitions, Availability(True))
    provided = [each.provided_by(plan.provider) for each in plan.definitions.values()]
    with ThreadPoolExecutor() as pool:
        return dict(zip(plan.definitions, pool.map(lambda b: b.probe(), provided), strict=True))


def _answers(
    question: documents.Question, system: System, allocation: Allocation, folder: Path, number: int,
    known: Session | None,
) -> tuple[documents.NodeAnswer, ...]:  # fmt: skip
    """The answers of all nodes, in the allocation's order; UserError: a node did not answer."""
    # What a known session has of arms and binaries is not asked for again.
    states = known.states if known else {}
    again = tuple(arm for arm in question.arms if arm not in states or any(states[arm].obstacle))
    asked = replace(question, arms=again, binaries=question.binaries if again else {})
    if asked.nodes == 1:
        answers = [check_node(asked)]
    else:
        assert system.launcher is not None
        shared = folder / f"session-{number}-nodes"
        shared.mkdir()
        documents.QUESTION.write_in(shared, asked)
        command = [sys.executable, "-m", "parity", "check-node", f"--folder={shared}"]
        output_of(on_each_node(system.launcher, asked.nodes, command))
        paths = {host: shared / documents.NODE_ANSWER.format(host) for host in allocation.hosts}
        if missing := [host for host, path in paths.items() if not path.exists()]:
            problem = f"these nodes left no answer: {', '.join(missing)}"
            action = "see that every node has this folder, and its batch system's name for itself"
            raise UserError(problem, where=str(shared), action=action)
        answers = [documents.ANSWER.read(path) for path in paths.values()]
    if known:
        # With what was found of those arms that the nodes were not asked for.
        for place, (old, new) in enumerate(zip(known.answers, answers, strict=True)):
            then, state = old.state, new.state
            kept = (each for each in then.binaries if each.arm not in again)
            whole = replace(state, arms=then.arms | state.arms, binaries=(*kept, *state.binaries))
            answers[place] = replace(new, state=whole)
    return tuple(answers)


def _arm_of_all(name: str, nodes: Sequence[documents.NodeState]) -> documents.ArmState:
    """The state of an arm in the whole allocation: the first node's, if no node objects."""

    def identities(node: documents.NodeState) -> set[tuple[str, str, str]]:
        own = (each for each in node.binaries if each.arm == name)
        return {(each.path, each.sha256, each.closure_sha256) for each in own}

    first = nodes[0].arms[name]
    for node in nodes:
        state, host = node.arms[name], node.node_name
        if any(state.obstacle):
            gate = replace(state.gate, detail=_at(host, state.gate.detail, nodes))
            return replace(state, gate=gate, detail=_at(host, state.detail, nodes))
        # Ranks of one program must be the same program.
        if other := identities(nodes[0]) ^ identities(node):
            paths = ", ".join(sorted({path for path, *_ in other}))
            detail = f"other binaries or libraries on {host}: {paths}"
            return replace(first, reason="nodes-differ", detail=detail)
    return first


def _at(host: str, detail: str, nodes: Sequence[documents.NodeState]) -> str:
    return f"{host}: {detail}" if detail and len(nodes) > 1 else detail


def end_session(session: Session, folder: Path) -> None:
    """Write down the first node's state after the block."""
    end = documents.SessionEnd(ended=now(), busy_fraction=busy_now(), facts=facts())
    write_document(folder / documents.SESSION_END.format(session.number), end)


def lacking(session: Session, plan: Plan, case: Case, arm: str) -> str:
    """What an arm lacks of a case's programs on any node, as a sentence; empty if nothing."""
    for binary in (each for answer in session.answers for each in answer.state.binaries):
        if (binary.benchmark, binary.arm) != (case.benchmark, arm):
            continue
        if not binary.sha256:
            return f"{binary.path} is not there"
        absent = [each.library for each in binary.closure if each.sha256 == NOT_FOUND]
        if absent and not _searches_elsewhere(session, plan, case):
            return f"{binary.path} does not find {', '.join(absent)}"
    return ""


def tell_what_lacks(session: Session, plan: Plan) -> None:
    """Say what is not measured because something lacks; UserError: nothing is left to compare."""
    found = {(case.name, arm): why for case in plan.cases
             if session.benchmarks[case.benchmark].available
             for arm in plan.arms if (why := lacking(session, plan, case, arm))}  # fmt: skip
    titles = {case.name: plan.benchmark_titles[case.benchmark] for case in plan.cases}
    said = {f"{titles[case]}, {plan.arm_titles[arm]}: {why}" for (case, arm), why in found.items()}
    lines, compared = sorted(said), [c for c in plan.comparisons if c.arm not in plan.aa_pair]
    if lines and all({(c.case, c.arm), (c.case, c.reference)} & found.keys() for c in compared):
        problem = "\n".join(["nothing of this study could be compared", *lines])
        action = "put it where the program looks for it, in the image too; nothing was measured"
        raise UserError(problem, where=f"study {plan.study}", action=action)
    for line in lines:
        print(f"not measured: {line}", flush=True)


def _searches_elsewhere(session: Session, plan: Plan, case: Case) -> bool:
    try:
        case = plan.case_in(case, plan.reference)
        provided = case.definition.provided_by(plan.provider)
        program = provided.program(case.parameters, session.node)
        # What is run as it is given finds its libraries as whoever measures does, and by this
        # variable a program finds those that the audit, which runs without it, does not.
        return program.as_given or "LD_LIBRARY_PATH" in program.environment
    except UserError:
        # It is too large for this node, and not started anyway.
        return True
