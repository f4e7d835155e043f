"""What a node finds out about itself and its arms before anything is timed.

The command `check-node` is started once on each node of an allocation; question and answers lie in
a folder that all nodes see.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from msgspec.structs import asdict, replace

from parity.benchmarks.programs import altered
from parity.core.errors import UserError
from parity.measure import gates, inner_command, node, places
from parity.measure.documents import ArmState, Binary, Gate, NodeAnswer, NodeState, Question
from parity.measure.node import wait_until_idle
from parity.measure.timed_process import launch_environment
from parity.runtimes import every_arm, model
from parity.runtimes.model import BOOT_ID, KERNEL, NAMESPACES, SCRATCH, SHARED, Arm, Image, Launch
from parity.software.binaries import Audit, audit_script, read_audit
from parity.software.images import ImageRecord

TIMEOUT_SECONDS = PATIENCE_SECONDS = 120
BROKEN = "runtime-broken"  # of an arm that says it is available, and cannot run a command
Binaries = tuple[Binary, ...]


class AuditError(Exception):
    """An arm that says it is available cannot run a command; the message says why."""


def audit_arm(
    arm: Arm, image: Image | None, binaries: Mapping[str, Sequence[str]], tools: str = ""
) -> tuple[Binaries, dict[str, str]]:
    """Identity of each benchmark's executables, in its order, in an arm; where that really is.

    It also is the arm's first start in the block, which warms what a first start warms (Georges et
    al., OOPSLA 2007), so no timed run is the first one after a mount. Raises AuditError: the arm
    cannot run the audit. `binaries`: absolute paths by benchmark. `tools`: of `tools_for`.
    """
    paths = sorted({path for group in binaries.values() for path in group})
    shell = places.tool(tools, "/bin/sh")
    witness = [*shell, "-c", inner_command.WITNESS, inner_command.EVIDENCE.strip()]
    answer, said = run_in_arm(arm, image, [*witness, *audit_script(paths, shell)])
    audited = {program.path: program for program in answer.programs}
    rows = tuple(Binary(arm=arm.name, benchmark=benchmark, **asdict(audited[path]))
                 for benchmark, group in binaries.items()
                 for path in group if path in audited)  # fmt: skip
    return rows, inner_command.evidence(said)


def run_in_arm(arm: Arm, image: Image | None, words: Sequence[str]) -> tuple[Audit, str]:
    """What a short, untimed command that ends in an audit answered, and its standard error.

    It is started anew once: of all that are audited at once, one that goes through the table of
    mounts (bubblewrap) fails if another ends meanwhile and takes its own away. `words`: the inner
    command; its working folder must exist. Raises AuditError: the arm cannot run it, or it failed.
    """
    starts = 0
    while True:
        with (
            tempfile.TemporaryDirectory(prefix="audit-", dir=SCRATCH) as state,
            # Files, because whoever holds the other end of a pipe open could keep us waiting.
            tempfile.TemporaryFile(dir=SCRATCH) as answer,
            tempfile.TemporaryFile() as errors,
        ):
            starts += 1
            launch = Launch(model.name_in(Path(state)), image, SCRATCH, Path(state))
            try:
                subprocess.run(
                    arm.command(launch, words), check=True, stdin=subprocess.DEVNULL, stdout=answer,
                    stderr=errors, env=launch_environment(os.environ), timeout=TIMEOUT_SECONDS,
                )  # fmt: skip
                answer.seek(0)
                audit = read_audit(answer)
            except (UserError, subprocess.SubprocessError) as error:
                arm.cleanup(launch)
                if isinstance(error, subprocess.CalledProcessError) and starts == 1:
                    continue
                said = error.what if isinstance(error, UserError) else _text_of(errors).strip()
                raise AuditError(f"cannot run a command: {(said or str(error))[-600:]}") from error
            return audit, _text_of(errors)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def check_node(question: Question, folder: Path | None = None) -> NodeAnswer:
    """Facts of this node, its namespaces, the state of each arm, and the binaries in each.

    `folder`: where nodes say that they are done with their arms; None if this is the only one.
    """
    make_ready()
    places.stage(question.needs)
    places.lay_out(places.tools_for(question.images))
    size, facts, ours = node.node_facts(), node.facts(), host_namespaces()
    checked = check_arms(question, ours) if question.arms else {}
    if folder:
        _wait_for_the_others(question.nodes, folder)
    # Last, when nothing of ours runs any more.
    idleness = wait_until_idle(question.max_busy_fraction, question.settle_seconds)
    state = NodeState(
        node_name=node.node_name(), facts=facts, busy_fraction=idleness.busy_fraction,
        arms={name: state for name, (state, _) in checked.items()},
        binaries=tuple(binary for _, audited in checked.values() for binary in audited),
    )  # fmt: skip
    return NodeAnswer(
        state=state, taken_by=idleness.taken_by, waited_seconds=idleness.waited_seconds, size=size,
        namespaces=ours,
    )  # fmt: skip


def check_arms(question: Question, ours: Mapping[str, str]) -> dict[str, tuple[ArmState, Binaries]]:
    """The state of each arm and the identity of its binaries, by name, in the question's order.

    All arms at once: nothing is timed, and much of it is waiting for daemons and kernels. What is
    the same for several is found out once, now. `ours`: the runner's namespaces, name to inode.
    """
    programs = sorted({path for group in question.binaries.values() for path in group})
    # Under any limit and in any network an arm is the same one.
    own = {name: every_arm()[name].unlimited for name in question.arms}
    arms = list({arm.name: arm for arm in own.values()}.values())
    # A thread for each arm, and enough for all that they wait for.
    with ThreadPoolExecutor(max_workers=2 * len(arms) + 1) as pool:
        not_packaged = pool.submit(altered, programs)
        digests = image_digests(arms, question.images, pool)
        check = partial(check_arm, question=question, ours=ours, digests=digests,
                        not_packaged=not_packaged.result)  # fmt: skip
        checked = dict(zip((arm.name for arm in arms), pool.map(check, arms), strict=True))
    named = {}
    for name, arm in own.items():
        state, audited = checked[arm.name]
        if not state.reason and (obstacle := every_arm()[name].in_the_way()):
            # What an extension adds to it cannot be had here.
            state = replace(state, reason="not-tested", detail=obstacle.reason)
        named[name] = state, tuple(replace(binary, arm=name) for binary in audited)
    return named


def image_digests(
    arms: Sequence[Arm], images: Mapping[str, ImageRecord], pool: Executor
) -> dict[str, Future[str]]:
    """What the images of these arms are now, by format: each is read once for all of its arms."""
    of_format = {arm.image_format: arm for arm in reversed(arms) if arm.image_format}
    return {name: pool.submit(arm.digest, images[name].location) for name, arm in of_format.items()
            if name in images and not images[name].reason}  # fmt: skip


def make_ready() -> None:
    """Make this node's working folder; end and remove what an earlier session left in it."""
    places.make_places(SCRATCH)
    inner_command.sweep()
    places.end_processes_in(places.WORK)
    places.emptied(places.WORK)
    places.remove_own(places.SHARED_MEMORY)


def _wait_for_the_others(nodes: int, folder: Path) -> None:
    """Nodes that share a machine would see each other at work, not the neighbours they fear."""
    (folder / f"checked-{node.node_name()}").touch()
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, 0.05
    # One node reads the folder for all: thousands that do would keep its server from the rest.
    all_there, counts = folder / "all-checked", False
    with suppress(FileExistsError):
        (folder / "counting").mkdir()
        counts = True
    while not all_there.exists() and time.monotonic() < deadline:
        if counts and len(list(folder.glob("checked-*"))) >= nodes:
            all_there.touch()
        time.sleep(pause)
        pause = min(1.0, 1.5 * pause)


def check_arm(
    arm: Arm, question: Question, ours: Mapping[str, str],
    digests: Mapping[str, Future[str]] | None = None,
    not_packaged: Callable[[], Mapping[str, tuple[str, str]]] = dict,
) -> tuple[ArmState, Binaries]:  # fmt: skip
    """The state of an arm on this node, and the identity of its binaries if it can be used.

    A runtime that is broken, or takes its containers elsewhere (a daemon on another node, say),
    fails its own runs, not the block. `digests`: as `arm_state` takes them. `not_packaged`: gives
    the programs that are not their package's (`altered`).
    """
    if any((state := arm_state(arm, question.images, digests)).obstacle):
        return state, ()
    tools = places.tools_for(question.images)
    try:
        audited, evidence = audit_arm(arm, state.image, question.binaries, tools)
    except AuditError as error:
        return replace(state, reason=BROKEN, detail=str(error)), ()
    judged = [gates.where_gate(arm, evidence, ours, state.recipe)]
    if arm.image_format is None or arm.link_set == SHARED:
        judged.append(gates.binary_gate(question.expected, not_packaged(), audited))
    reason, detail = gates.first_failure(judged)
    return replace(state, reason=reason, detail=detail), audited


def arm_state(
    arm: Arm, images: Mapping[str, ImageRecord], digests: Mapping[str, Future[str]] | None = None
) -> ArmState:
    """Whether an arm can be used here, its image checked by content: `digests` where known."""
    presence = arm.probe()
    usable = ArmState(image=None, recipe="", gate=Gate("image", True), reason="", detail="",
                      version=presence.version)  # fmt: skip
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
        digest = digests[arm.image_format].result() if digests else arm.digest(image.location)
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
