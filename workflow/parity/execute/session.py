"""A session of the runner in a block: what it finds on the node before anything is timed."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.model import NodeFacts
from parity.execute import gates
from parity.execute.audit import AuditError, audit_arm
from parity.execute.quiet import busy_now, wait_until_quiet
from parity.files import read_json, write_json
from parity.presence import Presence
from parity.provenance import node
from parity.runtimes import arms
from parity.runtimes.model import NAMESPACES, Arm, Image
from parity.source import identity
from parity.study import System


@dataclass(frozen=True)
class ArmState:
    """What a session found out about an arm before its first run.

    Attributes:
        image: the arm's image; None outside of any container or where there is none.
        recipe: what the marker in the image says.
        gate: whether the image is the one the digest chain ends in.
        reason, detail: why the arm cannot be used here; empty if it can.
        version: what the runtime says of itself.
    """

    image: Image | None
    recipe: str
    gate: gates.Gate
    reason: str
    detail: str
    version: str


@dataclass(frozen=True)
class Session:
    """One session of the runner in a block; a block that was killed has several."""

    number: int
    node: NodeFacts
    states: Mapping[str, ArmState]
    host_namespaces: Mapping[str, str]
    benchmarks: Mapping[str, Presence]
    block_gates: tuple[gates.Gate, ...]
    system: System


def begin_session(
    plan: Mapping[str, Any],
    images: Mapping[str, Mapping[str, Any]],
    system: System,
    folder: Path,
) -> Session:
    """Look at the node, the arms, the images and the binaries; nothing is timed yet."""
    number = len(list(folder.glob("session-*-start.json"))) + 1
    facts, before = NodeFacts(**node.node_facts()), node.facts()
    states = {name: _state(arms()[name], images) for name in plan["arms"]}
    names = sorted({case["benchmark"] for case in plan["cases"]})
    binaries = {name: benchmarks()[name].binaries for name in names}
    audit = []
    for name, state in states.items():
        if state.gate.passed and not state.reason:
            try:
                audit += audit_arm(arms()[name], state.image, binaries)
            except AuditError as error:
                # A runtime that is there and broken fails its own runs, not the block.
                states[name] = replace(state, reason="runtime-broken", detail=str(error))
    busy = wait_until_quiet(system.max_busy_fraction, system.settle_seconds)
    session = Session(
        number=number,
        node=facts,
        states=states,
        host_namespaces=host_namespaces(),
        benchmarks={name: benchmarks()[name].probe() for name in names},
        block_gates=(gates.quiet_gate(busy, system.max_busy_fraction),),
        system=system,
    )
    write_json(
        folder / f"session-{number}-start.json",
        {
            "started": now(),
            "program": identity(),
            "node_name": socket.gethostname(),
            "node": before,
            "busy_fraction": busy,
            "system": system.name,
            "scale_label": system.scale_label,
            "arms": {
                name: {
                    "version": state.version,
                    "reason": state.reason,
                    "detail": state.detail,
                    "image": vars(state.image) if state.image else None,
                    "image_gate": state.gate.as_record(),
                }
                for name, state in states.items()
            },
            "binaries": audit,
        },
    )
    return session


def _state(arm: Arm, images: Mapping[str, Mapping[str, Any]]) -> ArmState:
    """Whether an arm can be used on this node, its image checked by content."""
    presence = arm.probe()
    held = gates.Gate("image", True)
    if not presence.available:
        return ArmState(None, "", held, "not-tested", presence.reason, presence.version)
    if arm.image_format is None:
        return ArmState(None, "", held, "", "", presence.version)
    record = images[arm.image_format]
    if record["reason"]:
        again = f"{record['reason']} (then; now: snakemake images --forcerun convert_image)"
        return ArmState(None, "", held, "not-tested", again, presence.version)
    image = Image(arm.image_format, record["location"], record["digest"])
    try:
        found = arm.digest(image.location)
    except OSError as error:
        found = f"unreadable: {error.strerror}"
    gate = gates.image_gate(image.location, image.digest, found or "nothing, or no answer")
    return ArmState(image, record["recipe"], gate, "", "", presence.version)


def host_namespaces() -> dict[str, str]:
    """The runner's own namespaces, name to inode."""
    folder = Path("/proc/self/ns")
    return {
        name: str((folder / name).stat().st_ino) for name in NAMESPACES if (folder / name).exists()
    }


def end_session(session: Session, folder: Path) -> None:
    """Write down the node's state after the block."""
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
