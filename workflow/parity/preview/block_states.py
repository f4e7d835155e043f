"""How far each block of a campaign is, from the files that it keeps."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from parity.measure import block_progress
from parity.measure.block_folder import BLOCK
from parity.plan.plan import Block, Plan


@dataclass(frozen=True)
class BlockState:
    """How far a block is.

    Attributes:
        seconds: how long it has been measured so far, pauses left out; 0 if not begun.
        updated: when its last run ended; None if it was never begun.
        failed, not_started: number of runs by reason.
    """

    block: str
    nodes: int
    runs: int
    finished: bool = False
    ok: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    not_started: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    updated: datetime | None = None

    @property
    def done(self) -> int:
        """Runs that need not be waited for any more."""
        return self.ok + sum(self.failed.values()) + sum(self.not_started.values())


def state_of(block: Block, folder: Path) -> BlockState:
    """The state of a planned block, from its folder."""
    state = BlockState(block.name, block.nodes, len(block.runs))
    kept = block_progress.read(block, folder)
    if kept is None:
        return state
    return replace(
        state,
        finished=BLOCK.is_in(folder),
        ok=kept.ok,
        failed=kept.failed,
        not_started=kept.not_started,
        seconds=kept.seconds,
        updated=datetime.fromisoformat(kept.updated),
    )


def states_of(plan: Plan, blocks: Path) -> list[BlockState]:
    """The states of all blocks of a plan, in its order; `blocks` holds their folders."""
    return KnownStates(plan, blocks).look()


class KnownStates:
    """The states of a plan's blocks, for who looks again and again.

    A block that is known to be finished is not read again, and one without a folder not at
    all: a look costs what is at work, not what the campaign is.

    Args:
        blocks: the folder that holds the blocks' folders.
    """

    def __init__(self, plan: Plan, blocks: Path) -> None:
        self._blocks = blocks
        self._planned = {block.name: block for block in plan.blocks}
        self._states = {
            block.name: BlockState(block.name, block.nodes, len(block.runs))
            for block in plan.blocks
        }
        self._finished: set[str] = set()

    def look(self, at_work: Collection[str] = ()) -> list[BlockState]:
        """The states as they are now, in the plan's order.

        Args:
            at_work: blocks that have a job. They may have been finished before, and be
                measured again; so they are read however they were.
        """
        self._finished.difference_update(at_work)
        folders = os.scandir(self._blocks) if self._blocks.is_dir() else ()
        there = {folder.name for folder in folders}
        for name in self._planned.keys() & there - self._finished:
            state = state_of(self._planned[name], self._blocks / name)
            self._states[name] = state
            if state.finished and name not in at_work:
                self._finished.add(name)
        return list(self._states.values())
