"""What a node finds out about itself before anything is timed; also run on each other node.

`python -m parity.measure.node_check` is started once on each node of an allocation; question and
answers lie in a folder that all nodes see.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.debian import altered
from parity.core.documents import read_document
from parity.core.errors import shown_to_the_user
from parity.core.files import write_json
from parity.measure import gates, node, storage
from parity.measure.arm_audit import AuditError, audit_arm
from parity.measure.idle_cpu import wait_until_quiet
from parity.measure.inner_command import WORK
from parity.runtimes import every_arm
from parity.runtimes.model import NAMESPACES, SCRATCH, SHARED, Arm, Image
from parity.software.images import ImageRecord

PATIENCE_SECONDS = 120
QUESTION = "question.json"
Answer = dict[str, Any]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Question:
    """What a node is asked.

    Attributes:
        images: the records of the image formats, by format.
        provider: who provides the benchmarks.
        expected: SHA-256 of the native programs by path, where their build recorded it.
        nodes: how many nodes are asked.
        max_busy_fraction, settle_seconds: when a node is quiet, and how long it may take.
    """

    arms: tuple[str, ...]
    benchmarks: tuple[str, ...]
    images: Mapping[str, ImageRecord]
    provider: str
    expected: Mapping[str, str]
    nodes: int
    max_busy_fraction: float
    settle_seconds: float


@dataclass(frozen=True)
class ArmState:
    """What a node found out about an arm before its first run.

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

    def as_record(self) -> dict[str, Any]:
        """The state as plain JSON."""
        return {
            "version": self.version,
            "reason": self.reason,
            "detail": self.detail,
            "recipe": self.recipe,
            "image": vars(self.image) if self.image else None,
            "image_gate": self.gate.as_record(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ArmState:
        """The state that `as_record` wrote."""
        image = Image(**record["image"]) if record["image"] else None
        kept = {key: record[key] for key in ("recipe", "reason", "detail", "version")}
        return cls(image=image, gate=gates.Gate(**record["image_gate"]), **kept)


def ask(question: Question, folder: Path | None = None) -> Answer:
    """Look at this node: facts, namespaces, the state of each arm, the binaries in each.

    Args:
        folder: where nodes say that they have looked; None if this is the only one.
    """
    make_ready()
    facts, before = node.node_facts(), node.facts()
    binaries = {
        name: benchmarks()[name].provided_by(question.provider).binaries
        for name in question.benchmarks
    }
    ours = host_namespaces()
    programs = {path for group in binaries.values() for path in group}
    judge = partial(gates.binary_gate, question.expected, altered(sorted(programs)))
    look = partial(look_at, images=question.images, binaries=binaries, judge=judge, ours=ours)
    # Hashing and waiting for other programs, so the node's CPUs can do it side by side.
    with ThreadPoolExecutor(max_workers=len(facts["cpus"])) as pool:
        seen = dict(zip(question.arms, pool.map(look, question.arms), strict=True))
    if folder:
        _wait_for_the_others(question.nodes, folder)
    busy = wait_until_quiet(question.max_busy_fraction, question.settle_seconds)
    return {
        "node_name": platform.node(),
        "facts": facts,
        "node": before,
        "busy_fraction": busy,
        "namespaces": ours,
        "arms": {name: state.as_record() for name, (state, _) in seen.items()},
        "binaries": [row for _, rows in seen.values() for row in rows],
    }


def make_ready() -> None:
    """Make this node's working folder; end and remove what an earlier session left in it."""
    storage.private_folder(SCRATCH)
    storage.end_processes_in(WORK)
    storage.emptied(WORK)


def _wait_for_the_others(nodes: int, folder: Path) -> None:
    """Nodes that share a machine would see each other at work, not the neighbours they fear."""
    (folder / f"looked-{platform.node()}").touch()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(list(folder.glob("looked-*"))) < nodes and time.monotonic() < deadline:
        time.sleep(0.1)


def look_at(
    name: str,
    images: Mapping[str, ImageRecord],
    binaries: Mapping[str, Sequence[str]],
    judge: Callable[[Rows], gates.Gate],
    ours: Mapping[str, str],
) -> tuple[ArmState, Rows]:
    """The state of an arm on this node, and the identity of its binaries if it can be used.

    Args:
        judge: says of the rows of an arm that runs the native programs whether they are
            those that were installed.
    """
    arm = every_arm()[name]
    state = arm_state(arm, images)
    if state.reason or not state.gate.passed:
        return state, []
    state, rows = audited(arm, state, binaries, ours)
    if arm.image_format is None or arm.link_set == SHARED:
        gate = judge(rows)
        if not state.reason and not gate.passed:
            state = replace(state, reason="gate-binary", detail=gate.detail)
    return state, rows


def arm_state(arm: Arm, images: Mapping[str, ImageRecord]) -> ArmState:
    """Whether an arm can be used on this node, its image checked by content."""
    presence = arm.probe()
    held = gates.Gate("image", True)
    if not presence.available:
        return ArmState(None, "", held, "not-tested", presence.reason, presence.version)
    if arm.image_format is None:
        return ArmState(None, "", held, "", "", presence.version)
    record = images[arm.image_format]
    if record.reason:
        again = f"{record.reason} (then; now: snakemake images --forcerun convert_image)"
        return ArmState(None, "", held, "not-tested", again, presence.version)
    image = Image(arm.image_format, record.location, record.digest)
    try:
        found = arm.digest(image.location)
    except OSError as error:
        found = f"unreadable: {error.strerror}"
    gate = gates.image_gate(image.location, image.digest, found or "nothing, or no answer")
    return ArmState(image, record.recipe, gate, "", "", presence.version)


def audited(
    arm: Arm,
    state: ArmState,
    binaries: Mapping[str, Sequence[str]],
    ours: Mapping[str, str],
) -> tuple[ArmState, list[dict[str, Any]]]:
    """The arm's state after its first start, and the identity of its binaries.

    A runtime that is there and broken, or that takes its containers elsewhere (a daemon on
    another node, say), fails its own runs, not the block.

    Args:
        binaries: absolute paths by benchmark.
        ours: the runner's namespaces, name to inode.
    """
    try:
        rows, evidence = audit_arm(arm, state.image, binaries)
    except AuditError as error:
        return replace(state, reason="runtime-broken", detail=str(error)), []
    recipe = state.recipe if arm.image_format else ""
    where = gates.where_gate(arm, evidence, ours, recipe)
    if not where.passed:
        return replace(state, reason="gate-where", detail=where.detail), rows
    return state, rows


def host_namespaces() -> dict[str, str]:
    """The runner's own namespaces, name to inode."""
    folder = Path("/proc/self/ns")
    return {
        name: str((folder / name).stat().st_ino) for name in NAMESPACES if (folder / name).exists()
    }


def main(words: Sequence[str] | None = None) -> None:
    """Answer the question that lies in the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds the question; the answer goes there")
    folder = parser.parse_args(words).folder
    with shown_to_the_user():
        answer = ask(read_document(folder / QUESTION, Question), folder)
        write_json(folder / f"node-{answer['node_name']}.json", answer)


if __name__ == "__main__":
    main()
