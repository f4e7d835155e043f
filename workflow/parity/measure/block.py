"""Runs one block: every run of the plan once, in the plan's order; resumes what was begun."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Program
from parity.core.errors import UserError
from parity.core.files import read_json, write_json
from parity.measure import block_progress, history, storage
from parity.measure.allocation import Allocation, this_allocation
from parity.measure.attempt import AllocationLost, make_attempt
from parity.measure.cleanup import clean_up
from parity.measure.node_check import ArmState
from parity.measure.record import Order
from parity.measure.session import Session, begin_session, end_session, sessions
from parity.plan.plan import Case, Plan
from parity.plan.system import System
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH, Launch
from parity.software.images import ImageRecord

BLOCK_VERSION = 1

Reasons = dict[str, dict[str, str]]


def run_block(
    plan: Plan,
    block_id: str,
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    folder: Path,
) -> None:
    """Run a block in `folder`, which keeps every attempt ever made; write `block.json` last.

    Args:
        plan: the whole plan.
        images: the records of the image formats, by format (results/images/images.json).
        expected: SHA-256 of the native programs by path, as their build recorded it; empty
            where it recorded none.

    Raises:
        UserError: the working folder is not ours, or we stand in it; the allocation is
            not the block's, or was lost on the way.
    """
    block = plan.block(block_id)
    folder.mkdir(parents=True, exist_ok=True)
    storage.private_folder(SCRATCH)
    if Path.cwd().is_relative_to(SCRATCH):
        raise UserError(
            f"the study lies in {SCRATCH}, where measured programs work and are ended",
            action="move the clone to another folder",
        )
    allocation = this_allocation(system, block.get("nodes", 1))
    # A workflow that was killed leaves its jobs running; the next one's wait for them here,
    # and find the block done.
    before = (folder / "block.json").exists()
    with storage.only_one(folder, "another job that runs this block"):
        if before or not (folder / "block.json").exists():
            _run_alone(plan, block, images, expected, system, allocation, folder)


def _run_alone(
    plan: Plan,
    block: Mapping[str, Any],
    images: Mapping[str, ImageRecord],
    expected: Mapping[str, str],
    system: System,
    allocation: Allocation,
    folder: Path,
) -> None:
    """Run a block that nobody else runs, while nobody else measures on this node."""
    with storage.only_one(SCRATCH, "another measurement on this node"):
        _end_interrupted(folder)
        block_progress.begin(block, folder)
        session = begin_session(plan, images, expected, system, allocation, folder)
        not_started: Reasons = {}
        numbered = enumerate(block["runs"], start=1)
        for case, group in groupby(numbered, key=lambda pair: pair[1]["case"]):
            not_started |= _run_case(plan, block, case, list(group), session, folder)
        end_session(session, folder)
        write_json(folder / "block.json", _summary(plan, block, folder, not_started))


def _run_case(
    plan: Plan,
    block: Mapping[str, Any],
    name: str,
    group: Iterable[tuple[int, Mapping[str, Any]]],
    session: Session,
    folder: Path,
) -> Reasons:
    """Make the runs of a case, unless all of them are settled; why some cannot be started."""
    case = plan.case(name)
    program, problem = _program(case, plan.provider, session)
    cannot: Reasons = {}
    can: dict[str, Path] = {}
    for _, entry in group:
        why = problem or _cannot_start(session.states[entry["arm"]])
        if why:
            cannot[entry["run"]] = dict(zip(("reason", "detail"), why, strict=True))
        else:
            can[entry["run"]] = folder / "runs" / entry["run"]
    digests = {
        can[entry["run"]]: _digest(session.states[entry["arm"]])
        for _, entry in group
        if entry["run"] in can
    }
    settled = history.case_is_settled(digests, plan.attempts)
    for position, entry in group:
        if entry["run"] in can and not settled and program:
            order = _order(block, case, entry, program, session)
            _attempt_until_settled(order, can[entry["run"]], position, plan.attempts)
        _show(block, position, entry["run"], cannot, folder)
    return cannot


def _attempt_until_settled(order: Order, run_folder: Path, position: int, most: int) -> None:
    """Make attempts until one is good, or as many have failed as the study allows."""
    while history.failures(history.records(run_folder)) < most:
        attempt_folder = storage.new_attempt(run_folder)
        number = attempt_folder.name.removeprefix("attempt-")
        name = f"parity-{os.getpid()}-{position}-{number}"
        try:
            reason = make_attempt(order, name, attempt_folder)["reason"]
        except AllocationLost as error:
            raise UserError(
                f"the allocation is no longer whole: {error}",
                where=f"run {order.run}, on {', '.join(order.hosts)}",
                action="start Snakemake again: it goes on with this block where it was",
            ) from None
        if not reason or reason in history.OF_THE_BLOCK:
            return


def _program(
    case: Case, provider: str, session: Session
) -> tuple[Program | None, tuple[str, str] | None]:
    """The program of a case on this node, or why there is none."""
    benchmark = case["benchmark"]
    presence = session.benchmarks[benchmark]
    if not presence.available:
        return None, ("not-tested", f"{benchmark}: {presence.reason}")
    try:
        provided = benchmarks()[benchmark].provided_by(provider)
        program = provided.program(case["parameters"], session.node)
    except UserError as error:
        # This node is too small for the case; the other cases still run.
        return None, ("not-tested", error.what)
    if program.ranks and not session.system.launcher:
        return None, ("not-tested", "the system's file names no MPI launcher")
    if program.drop_caches and not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        return None, ("not-tested", "dropping the page cache needs root")
    return program, None


def _cannot_start(state: ArmState) -> tuple[str, str] | None:
    if not state.gate.passed:
        return f"gate-{state.gate.name}", state.gate.detail
    return (state.reason, state.detail) if state.reason else None


def _digest(state: ArmState) -> str:
    return state.image.digest if state.image else ""


def _order(
    block: Mapping[str, Any],
    case: Case,
    entry: Mapping[str, Any],
    program: Program,
    session: Session,
) -> Order:
    arm, state = every_arm()[entry["arm"]], session.states[entry["arm"]]
    return Order(
        run=entry["run"],
        case=case["case"],
        arm=arm,
        image=state.image,
        recipe=state.recipe if arm.image_format else "",
        program=program,
        parameters=case["parameters"],
        timeout_seconds=case["timeout"],
        namespaces=session.namespaces,
        hosts=session.allocation.hosts,
        launcher=session.system.launcher,
        block_gates=(*session.block_gates, state.gate),
        max_steal_fraction=session.system.max_steal_fraction,
        session=session.number,
    )


def _end_interrupted(folder: Path) -> None:
    """Remove the containers that a killed runner left on this node.

    Their processes are ended when the session looks at the nodes.
    """
    for started in folder.glob(f"runs/*/attempt-*/{storage.STARTED}"):
        attempt = started.parent
        if not (attempt / storage.RECORD).exists():
            left = read_json(started)
            arm = every_arm().get(left["arm"])
            if arm:
                state = (attempt / "state").resolve()
                clean_up(arm, Launch(left["name"], None, SCRATCH, state), left.get("ranks", 0))


def _summary(
    plan: Plan, block: Mapping[str, Any], folder: Path, not_started: Reasons
) -> dict[str, Any]:
    return {
        "version": BLOCK_VERSION,
        "campaign": plan.campaign,
        "block": block["block"],
        "number": block["number"],
        "runs": block["runs"],
        "sessions": sessions(folder),
        "not_started": not_started,
    }


def _show(block: Mapping[str, Any], position: int, run: str, cannot: Reasons, folder: Path) -> None:
    """One line of progress, and the block's tally: how the run ended, or why it did not start."""
    if run in cannot:
        reason = state = cannot[run]["reason"]
    else:
        last = history.records(folder / "runs" / run)[-1]
        reason = last["reason"]
        state = reason or f"{last['wall_seconds']:.2f} s"
    block_progress.count(run, reason, run not in cannot, folder)
    print(f"{block['block']}  {position:>3}/{len(block['runs'])}  {run:<32} {state}", flush=True)
