"""Looks: when a campaign is looked at, what is stopped then, and which blocks come in between.

A design without looks is looked at once, when all of it is measured. With looks, the blocks up
to a look are a stage; what is decided by then is not measured any more in the stages after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from parity.core.documents import Document, Format, write_document
from parity.plan.plan import Plan

# Why a run is not made any more: its comparisons are decided, or have no chance to be, or there
# is nothing to decide; or the time is over.
DECIDED, HOPELESS, REPORTED = "stopped-decided", "stopped-hopeless", "stopped-reported"
OUT_OF_TIME = "stopped-time"
STOPPED = "stopped-"


class Stop(Document, frozen=True):
    """An arm that is not run any more in a case.

    Attributes:
        reason: one of the reasons above.
        detail: what was decided, and after how many blocks.
    """

    case: str
    arm: str
    reason: str
    detail: str


class Look(Document, frozen=True, kw_only=True):
    """What was found at a look: looks/<number>.json.

    Attributes:
        number: counts from 1.
        blocks: so many of each node count were to be measured by then.
        seen: how many blocks in all were there.
        stops: of this look and all before it.
    """

    version: int = 1
    campaign: str
    number: int
    blocks: int
    seen: int
    stops: tuple[Stop, ...]

    @property
    def by_run(self) -> Mapping[tuple[str, str], Stop]:
        """The stops by case and arm."""
        return {(stop.case, stop.arm): stop for stop in self.stops}

    def said(self, plan: Plan) -> str:
        """The look in one line: how many arms in cases are stopped, and which cases go on."""
        compared = [
            (case.name, arm)
            for case in plan.cases
            for arm in plan.arms_of(case.name)
            if arm not in plan.aa_pair
        ]
        counts = Counter(self.by_run[run].reason for run in compared if run in self.by_run)
        cases = dict.fromkeys(case for case, arm in compared if (case, arm) not in self.by_run)
        said = [f"{count} {why.removeprefix(STOPPED)}" for why, count in sorted(counts.items())]
        left = len(compared) - counts.total()
        said += [f"{left} go on, in {', '.join(cases)}" if left else "nothing goes on"]
        return (
            f"Look {self.number}, after {self.seen} blocks, at {len(compared)}: {', '.join(said)}"
        )


_FORMAT = Format(Look)


def read_look(path: Path) -> Look:
    """The look in a file; raises UserError."""
    return _FORMAT.read(path)


def write_look(path: Path, look: Look) -> None:
    """Write a look, whole or not at all."""
    write_document(path, look)


def stage_of(plan: Plan, number: int) -> int:
    """The stage of the blocks of a number: how many looks were made before them."""
    return sum(look < number for look in plan.looks)


def is_stopped(reason: str) -> bool:
    """Whether this is why a run was not made any more."""
    return reason.startswith(STOPPED)
