"""A session of the runner in a block: what it finds on the nodes before anything is timed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.model import NodeFacts
from parity.core.availability import Presence
from parity.core.code_identity import identity
from parity.core.commands import output_of
from parity.core.documents import write_document
from parity.core.errors import UserError
from parity.core.files import read_json, write_json
from parity.measure import gates, node
from parity.measure.allocation import Allocation
from parity.measure.idle_cpu import busy_now
from parity.measure.mpi_launcher import on_each_node
from parity.measure.node_check import QUESTION, Answer, ArmState, Question, ask
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
    benchmarks: Mapping[str, Presence]
    block_gates: tuple[gates.Gate, ...]
    system: System


def begin_session(
    plan: Plan,
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    allocation: Allocation,
    folder: Path,
) -> Session:
    """Look at the nodes, the arms, the images and the binaries; nothing is timed yet."""
    number = 1 + max((_number(path) for path in folder.glob("session-*")), default=0)
    names = sorted({case["benchmark"] for case in plan.cases})
    provided = {name: benchmarks()[name].provided_by(plan.provider) for name in names}
    question = Question(
        arms=tuple(plan.arms),
        benchmarks=tuple(names),
        images=images,
        provider=plan.provider,
        expected=expected,
        nodes=len(allocation.hosts),
        max_busy_fraction=system.max_busy_fraction,
        settle_seconds=system.settle_seconds,
    )
    place = folder.resolve() / f"session-{number}-nodes"
    seen = _ask_all(question, system, allocation, place) if question.nodes > 1 else [ask(question)]
    first = seen[0]
    facts = first["facts"] | {"cpus": tuple(first["facts"]["cpus"])}
    session = Session(
        number=number,
        node=NodeFacts(**facts, hosts=allocation.hosts, launcher=system.launcher is not None),
        allocation=allocation,
        states={name: arm_of_all(name, seen) for name in plan.arms},
        namespaces={answer["node_name"]: answer["namespaces"] for answer in seen},
        benchmarks={name: benchmark.probe() for name, benchmark in provided.items()},
        block_gates=(quiet_of_all(seen, system.max_busy_fraction),),
        system=system,
    )
    write_json(
        folder / f"session-{number}-start.json",
        {
            "started": now(),
            "program": identity(),
            "system": system.name,
            "scale_label": system.scale_label,
            "allocation": dict(allocation.facts),
            **_kept(first),
            "arms": {name: state.as_record() for name, state in session.states.items()},
            "other_nodes": [_kept(answer) for answer in seen[1:]],
        },
    )
    return session


def _kept(answer: Answer) -> dict[str, Any]:
    return {k: answer[k] for k in ("node_name", "node", "busy_fraction", "arms", "binaries")}


def _ask_all(
    question: Question, system: System, allocation: Allocation, folder: Path
) -> list[Answer]:
    """The answers of all nodes, in the order of the allocation.

    Raises:
        UserError: a node did not answer.
    """
    assert system.launcher is not None
    folder.mkdir()
    write_document(folder / QUESTION, question)
    there = [sys.executable, "-m", "parity.measure.node_check", str(folder)]
    output_of(on_each_node(system.launcher, question.nodes, there))
    paths = [folder / f"node-{host}.json" for host in allocation.hosts]
    if missing := [path.stem.removeprefix("node-") for path in paths if not path.exists()]:
        raise UserError(
            f"these nodes left no answer: {', '.join(missing)}",
            where=str(folder),
            action="see that every node has this folder and calls itself as Slurm calls it",
        )
    return [read_json(path) for path in paths]


def arm_of_all(name: str, seen: Sequence[Answer]) -> ArmState:
    """The state of an arm in the whole allocation: the first node's, if no node objects.

    Ranks of one program must be the same program: an arm that resolves to other binaries
    on one of the nodes cannot be used.
    """
    first = ArmState.from_record(seen[0]["arms"][name])
    expected = _identities(seen[0], name)
    for answer in seen:
        state, host = ArmState.from_record(answer["arms"][name]), answer["node_name"]
        if state.reason:
            return replace(state, detail=_at(host, state.detail, seen))
        if not state.gate.passed:
            gate = replace(state.gate, detail=_at(host, state.gate.detail, seen))
            return replace(state, gate=gate)
        if other := sorted(expected ^ _identities(answer, name)):
            paths = sorted({path for path, *_ in other})
            return replace(
                first,
                reason="nodes-differ",
                detail=f"other binaries or libraries on {host}: {', '.join(paths)}",
            )
    return first


def _identities(answer: Answer, arm: str) -> set[tuple[str, str, str]]:
    rows = [row for row in answer["binaries"] if row["arm"] == arm]
    return {(row["path"], row["sha256"], row["closure_sha256"]) for row in rows}


def _at(host: str, detail: str, seen: Sequence[Answer]) -> str:
    return f"{host}: {detail}" if len(seen) > 1 else detail


def quiet_of_all(seen: Sequence[Answer], limit: float) -> gates.Gate:
    """The quiet gate of the busiest node."""
    busiest = max(seen, key=lambda answer: answer["busy_fraction"])
    gate = gates.quiet_gate(busiest["busy_fraction"], limit)
    return replace(gate, detail=_at(busiest["node_name"], gate.detail, seen) if gate.detail else "")


def end_session(session: Session, folder: Path) -> None:
    """Write down the first node's state after the block."""
    write_json(
        folder / f"session-{session.number}-end.json",
        {"ended": now(), "busy_fraction": busy_now(), "node": node.facts()},
    )


def sessions(folder: Path) -> list[dict[str, Any]]:
    """The sessions of a block, first to last; `end` is null where one was killed."""
    found = []
    for start in sorted(folder.glob("session-*-start.json"), key=_number):
        end = start.with_name(start.name.replace("-start", "-end"))
        found.append(
            {
                "number": _number(start),
                "start": read_json(start),
                "end": read_json(end) if end.exists() else None,
            }
        )
    return found


def _number(path: Path) -> int:
    return int(path.name.split("-")[1])


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
