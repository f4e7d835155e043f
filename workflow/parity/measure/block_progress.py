"""How far a block is: one small file, renewed between two runs, for people who wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from parity.measure import history
from parity.measure.block_folder import BLOCK, PROGRESS
from parity.measure.documents import BlockProgress
from parity.plan.plan import Block


def begin(block: Block, folder: Path) -> None:
    """Start a session's count, with nothing counted yet.

    A session that resumes a block walks past what is settled within a moment and counts it
    again, each run under its name, so no run is ever counted twice. Only the time that
    earlier sessions took is carried over.

    Raises:
        UserError: what an earlier session left is broken.
    """
    before = PROGRESS.read_in(folder) if PROGRESS.is_in(folder) else None
    now, seconds = _text(datetime.now(UTC)), before.seconds if before else 0.0
    begun = BlockProgress(
        block=block.name,
        runs=len(block.runs),
        started=before.started if before else now,
        session_started=now,
        updated=now,
        seconds=seconds,
        seconds_before=seconds,
        runs_ended={},
        runs_not_started={},
    )
    PROGRESS.write_in(folder, begun)


def count(run: str, reason: str, was_started: bool, folder: Path) -> None:
    """Add one run of the block that was begun; `reason` is empty if it ended well."""
    before, now = PROGRESS.read_in(folder), datetime.now(UTC)
    ended = {name: why for name, why in before.runs_ended.items() if name != run}
    not_started = {name: why for name, why in before.runs_not_started.items() if name != run}
    (ended if was_started else not_started)[run] = reason
    session = (now - datetime.fromisoformat(before.session_started)).total_seconds()
    counted = replace(
        before,
        updated=_text(now),
        seconds=round(before.seconds_before + session, 3),
        runs_ended=ended,
        runs_not_started=not_started,
    )
    PROGRESS.write_in(folder, counted)


def read(block: Block, folder: Path) -> BlockProgress | None:
    """How far a block is, None if it was never begun.

    A block that was finished without the file (by an earlier version) is counted from its
    records.

    Raises:
        UserError: a file of the block is broken.
    """
    if PROGRESS.is_in(folder):
        return PROGRESS.read_in(folder)
    return _of_finished(block, folder) if BLOCK.is_in(folder) else None


def _of_finished(block: Block, folder: Path) -> BlockProgress:
    finished = BLOCK.read_in(folder)
    not_started = {run: why.reason for run, why in finished.not_started.items()}
    attempts = {run.name: history.attempts_of(folder / "runs" / run.name) for run in block.runs}
    spans = [
        (datetime.fromisoformat(session.start.started), datetime.fromisoformat(session.end.ended))
        for session in finished.sessions
        if session.end
    ]
    last_start, last_end = spans[-1]
    whole = sum((end - start for start, end in spans), timedelta()).total_seconds()
    return BlockProgress(
        block=block.name,
        runs=len(block.runs),
        started=_text(spans[0][0]),
        session_started=_text(last_start),
        updated=_text(last_end),
        seconds=whole,
        seconds_before=whole - (last_end - last_start).total_seconds(),
        runs_ended={
            run: history.last_reason(made)
            for run, made in attempts.items()
            if made and run not in not_started
        },
        runs_not_started=not_started,
    )


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
