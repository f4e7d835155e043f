"""One side of a comparison: what an arm answered about its programs and its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from parity.benchmarks import benchmarks
from parity.checks.parity_audit.interface import is_whole, parse_interface, question
from parity.measure import node, storage
from parity.measure.arm_audit import AuditError, run_in_arm
from parity.measure.gates import where_gate
from parity.measure.inner_command import WORK, evidence
from parity.measure.node_check import ArmState, arm_state, host_namespaces
from parity.plan.plan import Plan
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH, Arm
from parity.software.binaries import parse_audit
from parity.software.images import ImageRecord

# Paths of programs by benchmark.
Programs = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Side:
    """What an arm answered.

    Attributes:
        link_set: whose build its programs are (`runtimes.model.LINK_SETS`).
        benchmarks: those that the study runs in this arm.
        is_outside: whether its programs are the host's own, outside of any image.
        reason: why it could not be asked; empty if it was.
        version, image_digest: of the runtime and of its image.
        programs: rows of `parse_audit` by path.
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
    programs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    interface: Mapping[str, str] = field(default_factory=dict)

    def sha256(self, path: str) -> str:
        """Of the program at `path`; empty if it is not there."""
        return self.programs.get(path, {}).get("sha256", "")

    def closure_sha256(self, path: str) -> str:
        """Of the libraries that the program at `path` resolves; empty if it is not there."""
        return self.programs.get(path, {}).get("closure_sha256", "")


def programs_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The programs of a plan's benchmarks as its provider installs them, sorted by name."""
    provider = plan.provider
    names = sorted({case["benchmark"] for case in plan.cases})
    return {name: tuple(benchmarks()[name].provided_by(provider).binaries) for name in names}


def benchmarks_of(plan: Plan, arm: str) -> tuple[str, ...]:
    """The benchmarks that a plan runs in an arm, sorted by name."""
    runs = (run for block in plan.blocks for run in block["runs"] if run["arm"] == arm)
    return tuple(sorted({plan.case(case)["benchmark"] for case in {r["case"] for r in runs}}))


def ask_all(plan: Plan, images: Mapping[str, ImageRecord]) -> list[Side]:
    """Ask every arm of a plan on this node, while nothing is measured on it.

    Args:
        images: the records of the image formats, by format.

    Raises:
        UserError: the working folder is not ours.
    """
    storage.private_folder(SCRATCH)
    with storage.only_one(SCRATCH, "a measurement on this node"):
        WORK.mkdir(exist_ok=True)
        cpus = node.node_facts()["cpus"]
        look = partial(_ask, plan=plan, images=images, cpu=cpus[0], ours=host_namespaces())
        # Nothing is timed, and most of it is hashing.
        with ThreadPoolExecutor(max_workers=len(cpus)) as pool:
            return list(pool.map(look, plan.arms))


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
    known: dict[str, Any] = {
        "arm": name,
        "title": arm.title,
        "link_set": arm.link_set,
        "benchmarks": wanted,
        "is_outside": arm.image_format is None,
        "version": state.version,
        "image_digest": state.image.digest if state.image else "",
    }
    if state.reason:
        return Side(**known, reason=state.detail or state.reason)
    if not state.gate.passed:
        return Side(**known, reason=f"not its image: {state.gate.detail}")
    try:
        answer = run_in_arm(arm, state.image, question(paths, [cpu]))
    except AuditError as error:
        return Side(**known, reason=str(error))
    seen = evidence(answer.stderr)
    if problem := _doubt(arm, state, answer.stdout, seen, ours):
        return Side(**known, reason=problem)
    return Side(
        **known,
        programs={row["path"]: row for row in parse_audit(answer.stdout)},
        interface=parse_interface(answer.stdout, seen, ours),
    )


def _doubt(
    arm: Arm, state: ArmState, answer: str, seen: Mapping[str, str], ours: Mapping[str, str]
) -> str:
    """Why an answer does not count; empty if it does."""
    if not is_whole(answer):
        return "its answer is cut off"
    where = where_gate(arm, seen, ours, state.recipe if arm.image_format else "")
    return where.detail
