"""The files of a block's folder: written whole, and read in every shape they have had.

It holds for every session of the runner what it found on the nodes (`session-<n>-start.json`,
`-end.json`), for every attempt what was started (started.json) and what became of it
(record.json), how far the block is (progress.json), and at last all of it (block.json).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from parity.core.documents import Content, Format, in_parts, unchanged
from parity.measure.documents import (
    BLOCK_VERSION,
    PROGRESS_VERSION,
    RECORD_VERSION,
    STARTED_VERSION,
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

Upgrade = Callable[[Content], Content]
# What a session found before anything was timed, and how the block's first node was after it.
SESSION_START, SESSION_END = "session-{}-start.json", "session-{}-end.json"
# What a node answers, beside the question.
NODE_ANSWER = "node-{}.json"


def _shape(key: str) -> Callable[[Mapping[str, Any]], Any]:
    """The version of a content; of those that say 1 or nothing, 2 if they have the key."""

    def version(content: Mapping[str, Any]) -> Any:
        said = content.get("version", 1)
        return 2 if said == 1 and key in content else said

    return version


def _with_ranks(content: Content) -> Content:
    """1 to 2: before there were launchers, no program had ranks."""
    return {"ranks": []} | content


def _started_without_ranks(content: Content) -> Content:
    """1 to 2: the same, and what was started did not say its version."""
    return {"ranks": 0} | content


def _start_with_allocation(content: Content) -> Content:
    """1 to 2: one node and no batch system; what an image's marker says was not kept."""
    whole: Content = {"allocation": {}, "other_nodes": []} | content
    arms = whole.get("arms")
    if isinstance(arms, dict):
        whole["arms"] = {
            name: {"recipe": ""} | arm if isinstance(arm, dict) else arm
            for name, arm in arms.items()
        }
    return whole


def _end_with_busy_fraction(content: Content) -> Content:
    """1 to 2: how busy the node was after the block was not kept."""
    return {"busy_fraction": None} | content


def _in_sessions(content: Content, of_start: Upgrade, of_end: Upgrade) -> Content:
    """A block whose sessions' parts are changed."""
    return in_parts(
        content,
        "sessions",
        lambda session: in_parts(in_parts(session, "start", of_start), "end", of_end),
    )


def _block_with_allocations(content: Content) -> Content:
    """1 to 2: what its sessions found is of the same age."""
    return _in_sessions(content, _start_with_allocation, _end_with_busy_fraction)


def _block_numbered(content: Content) -> Content:
    """2 to 3: from here on, what a session leaves says its version."""

    def numbered(part: Content) -> Content:
        return {"version": BLOCK_VERSION} | part

    return _in_sessions(content, numbered, numbered)


def _shape_of_block(content: Mapping[str, Any]) -> Any:
    """The version of a block; the oldest said 1 like the next, and knew no allocation."""
    said, sessions = content.get("version"), content.get("sessions")
    if said != 1 or not isinstance(sessions, list):
        return said
    starts = [session.get("start") for session in sessions if isinstance(session, dict)]
    old = any(isinstance(start, dict) and "allocation" not in start for start in starts)
    return 1 if old else 2


def _progress_not_counted(content: Content) -> Content:
    """1 to 2: what can be counted from the runs was in the file as well."""
    counts = {"done", "ok", "failed", "not_started", "reasons", "not_started_reasons"}
    return {key: value for key, value in content.items() if key not in counts}


RECORD = Format(
    RunRecord,
    RECORD_VERSION,
    {1: _with_ranks, 2: unchanged},
    shape=_shape("ranks"),
    file="record.json",
)
STARTED = Format(
    Started,
    STARTED_VERSION,
    {1: _started_without_ranks},
    shape=lambda content: content.get("version", 1),
    file="started.json",
)
BLOCK = Format(
    BlockRecord,
    BLOCK_VERSION,
    {1: _block_with_allocations, 2: _block_numbered},
    shape=_shape_of_block,
    file="block.json",
)
PROGRESS = Format(BlockProgress, PROGRESS_VERSION, {1: _progress_not_counted}, file="progress.json")
QUESTION = Format(Question, 1, file="question.json")
ANSWER = Format(NodeAnswer, 1)
_START = Format(
    SessionStart, BLOCK_VERSION, {1: _start_with_allocation, 2: unchanged}, _shape("allocation")
)
_END = Format(
    SessionEnd, BLOCK_VERSION, {1: _end_with_busy_fraction, 2: unchanged}, _shape("busy_fraction")
)


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


def _number(path: Path) -> int:
    return int(path.name.split("-")[1])
