"""Batches: the blocks that one job measures one after the other, in one allocation."""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

from parity.plan.looks import stage_of
from parity.plan.plan import Block, Plan

# Checking the nodes, waiting until they are idle, and for another block on the machine.
BESIDE_PROGRAMS_MINUTES = 15


class Batch(NamedTuple):
    """Blocks of one stage and one node count.

    Attributes:
        name: a block's own if it is one; else of the first, with the last one's number and a
            digest of all names.
        stage: how many looks were made before it.
    """

    name: str
    stage: int
    blocks: tuple[Block, ...]

    @property
    def nodes(self) -> int:
        """Size of the allocation."""
        return self.blocks[0].nodes


def batches_of(plan: Plan) -> dict[str, Batch]:
    """All blocks of a plan in its batches, by name."""
    most = plan.blocks_per_job
    alike: dict[tuple[int, int], list[Block]] = {}
    for block in plan.blocks:
        alike.setdefault((stage_of(plan, block.number), block.nodes), []).append(block)
    batches = [
        _batch(stage, tuple(blocks[first : first + most]))
        for (stage, _), blocks in alike.items()
        for first in range(0, len(blocks), most)
    ]
    return {batch.name: batch for batch in batches}


def _batch(stage: int, blocks: tuple[Block, ...]) -> Batch:
    first, last = blocks[0], blocks[-1]
    if len(blocks) == 1:
        return Batch(first.name, stage, blocks)
    digest = hashlib.sha256(" ".join(block.name for block in blocks).encode()).hexdigest()[:8]
    return Batch(f"{first.name.rpartition('-')[0]}-{last.number:04d}-{digest}", stage, blocks)


def job_of(plan: Plan, batch: Batch) -> dict[str, int]:
    """What a batch asks of a batch system: nodes, tasks, and a time limit in minutes.

    The limit holds if every run takes all of its own time limit, so that a job that is
    ended by it was ended for no fault of a run. Slurm's tasks only open the allocation;
    the launcher says for each program how many ranks it has.
    """
    seconds = {case.name: case.timeout_seconds for case in plan.cases}
    runs = [run for block in batch.blocks for run in block.runs]
    longest = sum(seconds[run.case] for run in runs) * plan.attempts
    return {
        "nodes": batch.nodes,
        "tasks": max(2, batch.nodes),
        "minutes": BESIDE_PROGRAMS_MINUTES * len(batch.blocks) + math.ceil(longest / 60),
    }
