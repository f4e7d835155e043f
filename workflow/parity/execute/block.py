"""Runs one block: every run of the plan once, in the plan's order; resumes what was begun."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Program
from parity.execute import storage
from parity.execute.attempt import Order, make_attempt
from parity.execute.session import ArmState, Session, begin_session, end_session, sessions
from parity.plan import block_of, case_of
from parity.runtimes import arms
from parity.runtimes.model import SCRATCH, Launch
from parity.study import System

BLOCK_VERSION = 1


def run_block(
    plan: Mapping[str, Any],
    block_id: str,
    images: Mapping[str, Mapping[str, Any]],
    system: System,
    folder: Path,
) -> None:
    """Run a block in `folder`, which keeps every attempt ever made; write `block.json` last.

    Args:
        plan: the whole plan.
        images: the records of the image formats, by format (results/images/images.json).
    """
    block = block_of(plan, block_id)
    folder.mkdir(parents=True, exist_ok=True)
    storage.private_folder(SCRATCH)
    with storage.only_one_here(SCRATCH):
        _end_interrupted(folder)
        session = begin_session(plan, images, system, folder)
        not_started: dict[str, dict[str, str]] = {}
        for position, entry in enumerate(block["runs"], start=1):
            outcome = _one_run(plan, block_id, entry, position, session, folder)
            if outcome:
                not_started[entry["run"]] = outcome
            state = outcome["reason"] if outcome else _last_reason(folder / "runs" / entry["run"])
            print(_progress(block, position, entry["run"], state), flush=True)
        end_session(session, folder)
        storage.write_json(folder / "block.json", _summary(plan, block, folder, not_started))


def _one_run(
    plan: Mapping[str, Any],
    block_id: str,
    entry: Mapping[str, Any],
    position: int,
    session: Session,
    folder: Path,
) -> dict[str, str] | None:
    """Make a run unless it is there already; the reason and detail if it cannot be started."""
    case, arm = case_of(plan, entry["case"]), arms()[entry["arm"]]
    state = session.states[arm.name]
    run_folder = folder / "runs" / entry["run"]
    digest = state.image.digest if state.image else ""
    if _is_done(run_folder, digest):
        return None
    program = benchmarks()[case["benchmark"]].program(case["parameters"], session.node)
    problem = _cannot_start(state, case["benchmark"], program)
    if problem:
        return dict(zip(("reason", "detail"), problem, strict=True))
    while True:
        attempt_folder = storage.new_attempt(run_folder)
        number = attempt_folder.name.removeprefix("attempt-")
        record = make_attempt(
            Order(
                name=f"parity-{block_id[-8:]}-{os.getpid()}-{position}-{number}",
                run=entry["run"],
                case=entry["case"],
                arm=arm,
                image=state.image,
                recipe=state.recipe if arm.image_format else "",
                program=program,
                parameters=case["parameters"],
                timeout_seconds=case["timeout"],
                host_namespaces=session.host_namespaces,
                block_gates=(*session.block_gates, state.gate),
                max_steal_fraction=session.system.max_steal_fraction,
                session=session.number,
            ),
            attempt_folder,
        )
        if not record["reason"] or _failures(run_folder) >= plan["attempts"]:
            return None


def _cannot_start(state: ArmState, benchmark: str, program: Program) -> tuple[str, str] | None:
    if not state.gate.passed:
        return f"gate-{state.gate.name}", state.gate.detail
    if state.reason:
        return state.reason, state.detail
    presence = benchmarks()[benchmark].probe()
    if not presence.available:
        return "not-tested", f"{benchmark}: {presence.reason}"
    if program.drop_caches and not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        return "not-tested", "dropping the page cache needs root"
    return None


def _records(run_folder: Path) -> Iterator[dict[str, Any]]:
    for attempt in storage.attempts(run_folder):
        if (attempt / storage.RECORD).exists():
            yield storage.read_json(attempt / storage.RECORD)


def _is_done(run_folder: Path, image_digest: str) -> bool:
    """Whether the run has a good attempt, made from the image that is here now."""
    records = list(_records(run_folder))
    return (
        bool(records)
        and not records[-1]["reason"]
        and (records[-1]["image_digest"] == image_digest)
    )


def _failures(run_folder: Path) -> int:
    """Attempts that failed; an interrupted attempt is nobody's failure and does not count."""
    return sum(bool(record["reason"]) for record in _records(run_folder))


def _last_reason(run_folder: Path) -> str:
    records = list(_records(run_folder))
    seconds = records[-1]["wall_seconds"] or 0.0
    return records[-1]["reason"] or f"{seconds:.2f} s"


def _end_interrupted(folder: Path) -> None:
    """End what a killed runner left running, so that nothing runs beside the next program."""
    for started in folder.glob(f"runs/*/attempt-*/{storage.STARTED}"):
        attempt = started.parent
        if not (attempt / storage.RECORD).exists():
            left = storage.read_json(started)
            arm = arms().get(left["arm"])
            if arm:
                arm.cleanup(Launch(left["name"], None, SCRATCH, (attempt / "state").resolve()))
    storage.end_processes_in(SCRATCH)


def _summary(
    plan: Mapping[str, Any],
    block: Mapping[str, Any],
    folder: Path,
    not_started: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "version": BLOCK_VERSION,
        "campaign": plan["campaign"],
        "block": block["block"],
        "number": block["number"],
        "runs": block["runs"],
        "sessions": sessions(folder),
        "not_started": dict(not_started),
    }


def _progress(block: Mapping[str, Any], position: int, run: str, state: str) -> str:
    return f"{block['block']}  {position:>3}/{len(block['runs'])}  {run:<32} {state}"
