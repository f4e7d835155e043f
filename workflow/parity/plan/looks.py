"""Looks and batches: when a campaign is looked at, what stops then, and what one job measures.

With looks, the blocks up to one are a stage; what is decided by then is not measured any more in
those after it. A job measures a batch, blocks of one stage, one after the other.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from parity.core.documents import Document, Format, write_document
from parity.plan.plan import Block, Plan

# Why a run is not made any more: its comparisons are decided, or there is nothing to decide, or the
# time is over; or they wait for others until the next look (`parity.analysis.looks.waiting`). In
# earlier archives also: they have no chance to be decided.
DECIDED, HOPELESS, REPORTED = "stopped-decided", "stopped-hopeless", "stopped-reported"
WAITING = "stopped-waiting"
OUT_OF_TIME = "stopped-time"
STOPPED = "stopped-"


class Stop(Document, frozen=True):
    """An arm that is not run any more in a case, for one of the reasons above."""

    case: str
    arm: str
    reason: str
    detail: str


class Look(Document, frozen=True, kw_only=True):
    """What was found at a look: looks/<number>.json, from 1."""

    version: int = 1
    campaign: str
    number: int
    blocks: int  # so many of each node count were to be measured by then
    seen: int  # how many blocks in all were there
    stops: tuple[Stop, ...]  # of this look and all before it

    @property
    def by_run(self) -> Mapping[tuple[str, str], Stop]:
        """The stops by case and arm."""
        return {(stop.case, stop.arm): stop for stop in self.stops}

    def is_over(self, plan: Plan) -> bool:
        """Whether nothing that is compared with the reference goes on, or waits."""
        ended = {run for run, stop in self.by_run.items() if stop.reason != WAITING}
        return ended.issuperset(_compared(plan))

    def said(self, plan: Plan) -> str:
        """In words: how many arms in cases are stopped, and which cases go on."""
        counts = Counter(self.by_run[run].reason for run in _compared(plan) if run in self.by_run)
        going = [run for run in _compared(plan) if run not in self.by_run]
        ended = [f"{count} {why.removeprefix(STOPPED)}" for why, count in sorted(counts.items())]
        cases = ", ".join(dict.fromkeys(case for case, _ in going))
        verb = "goes" if len(going) == 1 else "go"
        left = f"{len(going)} {verb} on, in {cases}" if going else "nothing goes on"
        return ", ".join([*ended, left])


def _compared(plan: Plan) -> list[tuple[str, str]]:
    """The cases and arms that are compared with the reference, without controls of the pair."""
    known = ((case.name, arm) for case in plan.cases for arm in plan.arms_of(case.name))
    return [(case, arm) for case, arm in known if arm not in plan.aa_pair]


read_look = Format(Look).read
write_look: Callable[[Path, Look], None] = write_document


def stage_of(plan: Plan, number: int) -> int:
    """The stage of the blocks of a number: how many looks were made before them."""
    return sum(look < number for look in plan.looks)


def is_stopped(reason: str) -> bool:
    """Whether this is why a run was not made any more."""
    return reason.startswith(STOPPED)


# A longer pause between two blocks ends a session of the analysis: what was warm has cooled, and
# who else is on the machine has changed.
PAUSE = timedelta(hours=1)
BESIDE_PROGRAMS_MINUTES = 15  # checking nodes, waiting until they are idle, and for another block


class Batch(NamedTuple):
    """Blocks of one stage and one node count."""

    name: str  # of its only block; else the first one's with the last number and a digest of all
    stage: int  # how many looks were made before it
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
    batches = {}
    for (stage, _), blocks in alike.items():
        for together in (blocks[i : i + most] for i in range(0, len(blocks), most)):
            name, last = together[0].name, together[-1]
            if len(together) > 1:
                names = " ".join(block.name for block in together)
                digest = hashlib.sha256(names.encode()).hexdigest()[:8]
                name = f"{name.rpartition('-')[0]}-{last.number:04d}-{digest}"
            batches[name] = Batch(name, stage, tuple(together))
    return batches


def job_of(plan: Plan, batch: Batch) -> dict[str, int]:
    """What a batch asks of a batch system: nodes, tasks, and a time limit in minutes.

    The limit holds if every run takes all of its own, so that no fault of a run ends a job.
    Slurm's tasks only open the allocation; the launcher says how many ranks a program has.
    """
    seconds = {case.name: case.timeout_seconds for case in plan.run_cases}
    longest = sum(seconds[run.case] for block in batch.blocks for run in block.runs)
    minutes = BESIDE_PROGRAMS_MINUTES * len(batch.blocks) + math.ceil(longest * plan.attempts / 60)
    return {"nodes": batch.nodes, "tasks": max(2, batch.nodes), "minutes": minutes}
