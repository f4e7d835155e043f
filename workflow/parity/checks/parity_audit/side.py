"""One side of a comparison: what an arm answered about its programs and its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from parity.checks.parity_audit.interface import is_whole, parse_interface, question
from parity.core.documents import Document
from parity.measure import needs, node, storage
from parity.measure.arm_audit import AuditError, run_in_arm
from parity.measure.documents import ArmState
from parity.measure.gates import where_gate
from parity.measure.inner_command import WORK, evidence
from parity.measure.node_check import arm_state, host_namespaces
from parity.measure.tools import lay_out, tools_for
from parity.plan.plan import Plan
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH, Arm
from parity.software.binaries import ProgramFile
from parity.software.images import ImageRecord

# Paths of programs by benchmark.
Programs = Mapping[str, Sequence[str]]


class Side(Document, frozen=True):
    """What an arm answered.

    Attributes:
        link_set: whose build its programs are (`runtimes.model.LINK_SETS`).
        benchmarks: those that the study runs in this arm.
        is_outside: whether its programs are the host's own, outside of any image.
        reason: why it could not be asked; empty if it was.
        version, image_digest: of the runtime and of its image.
        programs: what it answered of each, by path.
        interface: facts of `parse_interface` by name.
    """

    arm: str
    title: str
    link_set: str
    benchmarks: tuple[str, ...]
    is_outside: bool = False
    reason: str = ""
    version: str = ""
    image_digest: str = ""
    programs: dict[str, ProgramFile] = msgspec.field(default_factory=dict)
    interface: dict[str, str] = msgspec.field(default_factory=dict)

    def program(self, path: str) -> ProgramFile:
        """The program at `path`; an empty one if it is not there."""
        absent = ProgramFile(path=path, sha256="", build_id="", closure=(), closure_sha256="")
        return self.programs.get(path, absent)


def programs_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The programs of a plan's benchmarks as its provider installs them, sorted by name."""
    return needs.binaries_of(plan)


def benchmarks_of(plan: Plan, arm: str) -> tuple[str, ...]:
    """The benchmarks that a plan runs in an arm, sorted by name."""
    cases = {run.case for block in plan.blocks for run in block.runs if run.arm == arm}
    return tuple(sorted({case.benchmark for case in plan.cases if case.name in cases}))


def ask_all(plan: Plan, images: Mapping[str, ImageRecord]) -> list[Side]:
    """Ask every arm of a plan on this node, while nothing is measured on it.

    Args:
        images: the records of the image formats, by format.

    Raises:
        UserError: the working folder is not ours.
    """
    storage.make_places(SCRATCH)
    with storage.only_one(SCRATCH, "a measurement on this node"):
        WORK.mkdir(exist_ok=True)
        needs.stage(plan.needs)
        lay_out(tools_for(images))
        cpus = node.node_facts().cpus
        ask = partial(_ask, plan=plan, images=images, cpu=cpus[0], ours=host_namespaces())
        # Nothing is timed, and most of it is hashing.
        with ThreadPoolExecutor(max_workers=len(cpus)) as pool:
            return list(pool.map(ask, plan.arms))


def _ask(
    name: str,
    plan: Plan,
    images: Mapping[str, ImageRecord],
    cpu: int,
    ours: Mapping[str, str],
) -> Side:
    arm = every_arm()[name]
    state = arm_state(arm, images)
    wanted = benchmarks_of(plan, name)
    paths = sorted({path for key in wanted for path in programs_of(plan)[key]})
    side = Side(
        arm=name,
        title=arm.title,
        link_set=arm.link_set,
        benchmarks=wanted,
        is_outside=arm.image_format is None,
        version=state.version,
        image_digest=state.image.digest if state.image else "",
    )
    try:
        words = question(paths, [cpu], tools_for(images))
        programs, interface = _answer(arm.unlimited, state, words, ours)
    except AuditError as error:
        return msgspec.structs.replace(side, reason=str(error))
    return msgspec.structs.replace(side, programs=programs, interface=interface)


def _answer(
    arm: Arm, state: ArmState, words: list[str], ours: Mapping[str, str]
) -> tuple[dict[str, ProgramFile], dict[str, str]]:
    """Programs by path, and facts of the interface.

    Raises:
        AuditError: there is no answer that counts; the message says why.
    """
    if state.reason:
        raise AuditError(state.detail or state.reason)
    if not state.gate.passed:
        raise AuditError(f"not its image: {state.gate.detail}")
    answer = run_in_arm(arm, state.image, words)
    if not is_whole(answer.text):
        raise AuditError("its answer is cut off")
    witness = evidence(answer.said)
    where = where_gate(arm, witness, ours, state.recipe if arm.image_format else "")
    if where.detail:
        raise AuditError(where.detail)
    by_path = {program.path: program for program in answer.programs}
    return by_path, parse_interface(answer.text, witness, ours)
