"""The files of a block's folder: written whole, and read in every shape they have had.

It holds for every session of the runner what it found on the nodes (`session-<n>-start.json`,
`-end.json`), for every attempt what was started (started.json) and what became of it
(record.json), how far the block is (progress.json), and at last all of it (block.json).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from parity.core.documents import Content, Format, in_parts, said_from_2_on, unchanged
from parity.core.errors import UserError
from parity.measure.documents import (
    BatchRecord,
    BlockProgress,
    BlockRecord,
    NodeAnswer,
    Question,
    RunRecord,
    SessionEnd,
    SessionRecord,
    SessionStart,
    Started,
)

# Where the blocks of all campaigns lie, and the folder of each campaign that is measured here.
BLOCK_FOLDERS, LIVE = Path("results/blocks"), Path("results/live")
# What a session found before anything was timed, and how the block's first node was after it.
SESSION_START, SESSION_END = "session-{}-start.json", "session-{}-end.json"
# What a node answers, beside the question.
NODE_ANSWER = "node-{}.json"


def _with_ranks(content: Content) -> Content:
    """1 to 2: before there were launchers, no program had ranks."""
    return {"ranks": []} | content


def _started_without_ranks(content: Content) -> Content:
    """1 to 2: the same, and what was started did not say its version."""
    return {"ranks": 0} | content


def _start_with_allocation(content: Content) -> Content:
    """1 to 2: one node and no batch system; what an image's marker says was not kept."""

    def with_recipes(arms: Content) -> Content:
        for name in arms:
            arms = in_parts(arms, name, lambda arm: {"recipe": ""} | arm)
        return arms

    return in_parts({"allocation": {}, "other_nodes": []} | content, "arms", with_recipes)


def _end_with_busy_fraction(content: Content) -> Content:
    """1 to 2: how busy the node was after the block was not kept."""
    return {"busy_fraction": None} | content


def _block_with_allocations(content: Content) -> Content:
    """1 to 2: what its sessions found is of the same age."""

    def of_session(session: Content) -> Content:
        begun = in_parts(session, "start", _start_with_allocation)
        return in_parts(begun, "end", _end_with_busy_fraction)

    return in_parts(content, "sessions", of_session)


def _progress_not_counted(content: Content) -> Content:
    """1 to 2: what can be counted from the runs was in the file as well."""
    counts = {"done", "ok", "failed", "not_started", "reasons", "not_started_reasons"}
    return {key: value for key, value in content.items() if key not in counts}


# What says 1 or nothing may be of version 2 already: an upgrade keeps what it finds. From 3 on,
# each document says its version.
RECORD = Format(RunRecord, (_with_ranks, unchanged, unchanged), said_from_2_on, file="record.json")
STARTED = Format(Started, (_started_without_ranks,), said_from_2_on, file="started.json")
BLOCK = Format(BlockRecord, (_block_with_allocations, unchanged), file="block.json")
PROGRESS = Format(BlockProgress, (_progress_not_counted,), file="progress.json")
BATCH = Format(BatchRecord)
QUESTION = Format(Question, file="question.json")
ANSWER = Format(NodeAnswer)
_START = Format(SessionStart, (_start_with_allocation, unchanged), said_from_2_on)
_END = Format(SessionEnd, (_end_with_busy_fraction, unchanged), said_from_2_on)


def next_session(block: Path) -> int:
    """The number of a new session of the block in a folder, from 1."""
    return 1 + max((_number(path) for path in block.glob("session-*")), default=0)


def read_sessions(block: Path) -> tuple[SessionRecord, ...]:
    """The sessions of the block in a folder, first to last; raises UserError."""
    numbers = sorted(_number(path) for path in block.glob(SESSION_START.format("*")))
    return tuple(
        SessionRecord(
            number=number,
            start=_START.read(block / SESSION_START.format(number)),
            end=_END.read(end) if (end := block / SESSION_END.format(number)).exists() else None,
        )
        for number in numbers
    )


def refuse_another_system(block: Path, sessions: Iterable[SessionRecord], system: str) -> None:
    """Refuse a block that was measured elsewhere; its name would not tell.

    Args:
        block: its folder.
        sessions: what was found in its sessions.
        system: name of the system that it must come from.

    Raises:
        UserError: it comes from another.
    """
    if others := {session.start.system for session in sessions} - {system}:
        raise UserError(
            f"the block was measured on {', '.join(sorted(others))}, not on {system}",
            where=str(block),
            action="use a clone for each system, or move results/ away",
        )


def _number(path: Path) -> int:
    return int(path.name.split("-")[1])
