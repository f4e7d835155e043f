"""What a node finds out about itself before anything is timed; also run on each other node.

The command `check-node` is started once on each node of an allocation; question and answers lie in
a folder that all nodes see.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from parity.benchmarks.programs import altered
from parity.measure import gates, needs, node, storage
from parity.measure.arm_audit import AuditError, audit_arm
from parity.measure.cleanup import sweep
from parity.measure.documents import ArmState, Binary, Gate, NodeAnswer, NodeState, Question
from parity.measure.idle_cpu import wait_until_idle
from parity.measure.inner_command import SHARED_MEMORY, WORK
from parity.measure.tools import lay_out, tools_for
from parity.runtimes import every_arm
from parity.runtimes.model import BOOT_ID, KERNEL, NAMESPACES, SCRATCH, SHARED, Arm, Image
from parity.software.images import ImageRecord

PATIENCE_SECONDS = 120
Binaries = tuple[Binary, ...]


def check_node(question: Question, folder: Path | None = None) -> NodeAnswer:
    """Facts of this node, its namespaces, the state of each arm, and the binaries in each.

    Whether others keep the node busy is asked last, when nothing of ours runs any more.

    Args:
        folder: where nodes say that they are done with their arms; None if this is the
            only one.
    """
    make_ready()
    needs.stage(question.needs)
    lay_out(tools_for(question.images))
    size, facts, ours = node.node_facts(), node.facts(), host_namespaces()
    checked = check_arms(question, ours) if question.arms else {}
    if folder:
        _wait_for_the_others(question.nodes, folder)
    idleness = wait_until_idle(question.max_busy_fraction, question.settle_seconds)
    state = NodeState(
        node_name=node.node_name(),
        facts=facts,
        busy_fraction=idleness.busy_fraction,
        arms={name: state for name, (state, _) in checked.items()},
        binaries=tuple(binary for _, audited in checked.values() for binary in audited),
    )
    return NodeAnswer(state=state, taken_by=idleness.taken_by, size=size, namespaces=ours)


def check_arms(question: Question, ours: Mapping[str, str]) -> dict[str, tuple[ArmState, Binaries]]:
    """The state of each arm and the identity of its binaries, by name, in the question's order.

    All arms at once: nothing is timed, and much of it is waiting for daemons and kernels. What
    is the same for several of them is found out once, at this time and not an earlier one.

    Args:
        ours: the runner's namespaces, name to inode.
    """
    binaries = question.binaries
    programs = sorted({path for group in binaries.values() for path in group})
    # Under any limit and in any network an arm is the same one.
    own = {name: every_arm()[name].unlimited for name in question.arms}
    arms = list({arm.name: arm for arm in own.values()}.values())
    # A thread for each arm, and enough for all that they wait for.
    with ThreadPoolExecutor(max_workers=2 * len(arms) + 1) as pool:
        not_packaged = pool.submit(altered, programs)
        digests = image_digests(arms, question.images, pool)

        def check(arm: Arm) -> tuple[ArmState, Binaries]:
            def judge(audited: Binaries) -> Gate:
                return gates.binary_gate(question.expected, not_packaged.result(), audited)

            state, tools = arm_state(arm, question.images, digests), tools_for(question.images)
            return check_arm(arm, state, binaries, judge, ours, tools)

        found = dict(zip((arm.name for arm in arms), pool.map(check, arms), strict=True))
    return {
        name: (
            _as_named(every_arm()[name], found[arm.name][0]),
            tuple(replace(row, arm=name) for row in found[arm.name][1]),
        )
        for name, arm in own.items()
    }


def _as_named(arm: Arm, state: ArmState) -> ArmState:
    """The state that `unlimited` has, or why what an extension adds cannot be had here."""
    obstacle = None if state.reason else arm.in_the_way()
    return replace(state, reason="not-tested", detail=obstacle.reason) if obstacle else state


def image_digests(
    arms: Sequence[Arm], images: Mapping[str, ImageRecord], pool: Executor
) -> dict[str, Future[str]]:
    """What the images of these arms are now, by format: each is read once for all of its arms."""
    of_format = {arm.image_format: arm for arm in reversed(arms) if arm.image_format}
    records = {name: images[name] for name in of_format if name in images}
    return {
        name: pool.submit(of_format[name].digest, record.location)
        for name, record in records.items()
        if not record.reason
    }


def make_ready() -> None:
    """Make this node's working folder; end and remove what an earlier session left in it."""
    storage.make_places(SCRATCH)
    sweep()
    storage.end_processes_in(WORK)
    storage.emptied(WORK)
    shutil.rmtree(SHARED_MEMORY, ignore_errors=True)


def _wait_for_the_others(nodes: int, folder: Path) -> None:
    """Nodes that share a machine would see each other at work, not the neighbours they fear."""
    (folder / f"checked-{node.node_name()}").touch()
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, 0.05
    # One node reads the folder for all: thousands that do would keep its server from the rest.
    counting, all_there = _is_first(folder / "counting"), folder / "all-checked"
    while not all_there.exists() and time.monotonic() < deadline:
        if counting and len(list(folder.glob("checked-*"))) >= nodes:
            all_there.touch()
            return
        time.sleep(pause)
        pause = min(1.0, 1.5 * pause)


def _is_first(mark: Path) -> bool:
    """Whether no other node made this folder before."""
    try:
        mark.mkdir()
    except FileExistsError:
        return False
    return True


def check_arm(
    arm: Arm,
    state: ArmState,
    binaries: Mapping[str, Sequence[str]],
    judge: Callable[[Binaries], Gate],
    ours: Mapping[str, str],
    tools: str = "",
) -> tuple[ArmState, Binaries]:
    """The state of an arm on this node, and the identity of its binaries if it can be used.

    A runtime that is there and broken, or that takes its containers elsewhere (a daemon on
    another node, say), fails its own runs, not the block.

    Args:
        state: as far as its image tells (`arm_state`).
        binaries: absolute paths by benchmark.
        judge: says of the binaries of an arm that runs the native programs whether they
            are those that were installed.
        ours: the runner's namespaces, name to inode.
        tools: of `tools_for`.
    """
    if state.reason or not state.gate.passed:
        return state, ()
    try:
        audited, evidence = audit_arm(arm, state.image, binaries, tools)
    except AuditError as error:
        return replace(state, reason="runtime-broken", detail=str(error)), ()
    judged = [gates.where_gate(arm, evidence, ours, state.recipe)]
    if arm.image_format is None or arm.link_set == SHARED:
        judged.append(judge(audited))
    reason, detail = gates.first_failure(judged)
    return replace(state, reason=reason, detail=detail), audited


def arm_state(
    arm: Arm, images: Mapping[str, ImageRecord], digests: Mapping[str, Future[str]] | None = None
) -> ArmState:
    """Whether an arm can be used on this node, its image checked by content.

    Args:
        digests: of the images as they are now, by format, where several arms share them.
    """
    presence = arm.probe()
    usable = ArmState(
        image=None,
        recipe="",
        gate=Gate("image", True),
        reason="",
        detail="",
        version=presence.version,
    )
    if not presence.available:
        return replace(usable, reason="not-tested", detail=presence.reason)
    if arm.image_format is None:
        return usable
    record = images[arm.image_format]
    if record.reason:
        again = f"{record.reason} (then; now: snakemake images --forcerun convert_image)"
        return replace(usable, reason="not-tested", detail=again)
    image = Image(arm.image_format, record.location, record.digest)
    try:
        asked = digests and digests[arm.image_format]
        digest = asked.result() if asked else arm.digest(image.location)
    except OSError as error:
        digest = f"unreadable: {error.strerror}"
    gate = gates.image_gate(image.location, image.digest, digest or "nothing, or no answer")
    return replace(usable, image=image, recipe=record.recipe, gate=gate)


def host_namespaces() -> dict[str, str]:
    """The runner's own namespaces, name to inode, and what its kernel calls this boot."""
    folder = Path("/proc/self/ns")
    return {KERNEL: BOOT_ID.read_text(encoding="ascii").strip()} | {
        name: str((folder / name).stat().st_ino) for name in NAMESPACES if (folder / name).exists()
    }
