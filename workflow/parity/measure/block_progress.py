"""How far a block is: one small file, renewed between two runs, for people who wait."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from parity.core.errors import UserError
from parity.measure import history, storage
from parity.measure.block_folder import BLOCK, PROGRESS
from parity.measure.documents import BlockProgress
from parity.plan.looks import stage_of
from parity.plan.plan import Block, Plan

_RENEWED = "\r\x1b[K"  # To the begin of a line, and away with it.


def begin(block: Block, folder: Path) -> None:
    """Start a session's count, with nothing counted yet.

    A session that resumes a block walks past what is settled within a moment and counts it
    again, each run under its name, so no run is ever counted twice. Only the time that
    earlier sessions took is carried over.
    """
    before = _kept(folder)
    now, seconds = storage.now(), before.seconds if before else 0.0
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
    before, now = PROGRESS.read_in(folder), storage.now()
    ended = {name: why for name, why in before.runs_ended.items() if name != run}
    not_started = {name: why for name, why in before.runs_not_started.items() if name != run}
    (ended if was_started else not_started)[run] = reason
    session = _seconds_between(before.session_started, now)
    counted = replace(
        before,
        updated=now,
        seconds=round(before.seconds_before + session, 3),
        runs_ended=ended,
        runs_not_started=not_started,
    )
    PROGRESS.write_in(folder, counted)


def show(line: str) -> None:
    """Tell of a run: in the log, and on a terminal in place of what was told before.

    Each line stays until anything else is shown, or `clear` takes it away.
    """
    print(line, file=sys.stderr, flush=True)
    if sys.stdout.isatty():
        print(f"{_RENEWED}{line[: shutil.get_terminal_size().columns - 1]}", end="\r", flush=True)


def clear() -> None:
    """Leave nothing of `show` on a terminal."""
    if sys.stdout.isatty():
        print(_RENEWED, end="", flush=True)


def read(block: Block, folder: Path) -> BlockProgress | None:
    """How far a block is, None if it was never begun.

    A block that was finished without the file (by an earlier version) is counted from its
    records.

    Raises:
        UserError: the record of the block is broken.
    """
    if kept := _kept(folder):
        return kept
    return _of_finished(block, folder) if BLOCK.is_in(folder) else None


def _kept(folder: Path) -> BlockProgress | None:
    """The file's content; None if there is none, or a broken one: nothing else hangs on it."""
    with suppress(UserError):
        return PROGRESS.read_in(folder) if PROGRESS.is_in(folder) else None
    return None


def lasted(plan: Plan, folders: Sequence[Path]) -> tuple[float, float]:
    """Seconds of all blocks that were begun, and of one more: as those of the newest stage so far.

    Blocks become shorter from stage to stage, as looks stop what is decided.

    Raises:
        UserError: a file of a block is broken.
    """
    begun: dict[int, list[float]] = {}
    for folder in folders:
        block = plan.block(folder.name)
        if found := read(block, folder):
            begun.setdefault(stage_of(plan, block.number), []).append(found.seconds)
    newest = begun[max(begun)] if begun else [0.0]
    return sum(map(sum, begun.values())), sum(newest) / len(newest)


def _of_finished(block: Block, folder: Path) -> BlockProgress | None:
    finished = BLOCK.read_in(folder)
    not_started = {run: why.reason for run, why in finished.not_started.items()}
    attempts = {run.name: history.attempts_of(folder / "runs" / run.name) for run in block.runs}
    spans = [(each.start.started, each.end.ended) for each in finished.sessions if each.end]
    if not spans:
        # All of it was stopped before it began.
        return None
    each = [_seconds_between(*span) for span in spans]
    return BlockProgress(
        block=block.name,
        runs=len(block.runs),
        started=spans[0][0],
        session_started=spans[-1][0],
        updated=spans[-1][1],
        seconds=sum(each),
        seconds_before=sum(each[:-1]),
        runs_ended={
            run: history.last_reason(made)
            for run, made in attempts.items()
            if made and run not in not_started
        },
        runs_not_started=not_started,
    )


def _seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
