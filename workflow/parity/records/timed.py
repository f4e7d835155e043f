"""How much of a campaign's time was timed: the rest stands around it, and decides nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from parity.measure.documents import BLOCK, RECORD
from parity.plan.plan import PLAN, read_plan
from parity.records.dataset import block_records
from parity.records.parse import outputs_of
from parity.records.parsing import left_by_blocks


class CaseTime(NamedTuple):
    """Where the time of a case's attempts went, in seconds.

    Attributes:
        timed: in the sections whose time or rate the program tells; of a start-up, all. 0
            where its output does not tell.
        running: from the start of the arm to its end.
    """

    case: str
    runs: int
    timed: float
    running: float


def case_times(dataset: Path) -> list[CaseTime]:
    """The time of each case with any attempts, in the order of the plan.

    Raises:
        UserError: the dataset cannot be read.
    """
    plan = read_plan(dataset / PLAN)
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for entry, raw in left_by_blocks(dataset / "records"):
        block = BLOCK.parse(entry["record"], f"the record of block {entry['block']}")
        cases = {run.name: plan.case(run.case) for run in block.runs}
        for row in (row for row in raw if row["record"]):
            case = cases[row["run"]]
            record = RECORD.parse(row["record"], f"the record of {row['block']}, {row['run']}")
            outputs = outputs_of(plan, block, row, record)
            timed = case.definition.timed_seconds(outputs)
            seconds[case.name].append((timed, sum(outputs.wall_seconds)))
    return [
        CaseTime(
            case.name, len(seconds[case.name]), *map(sum, zip(*seconds[case.name], strict=True))
        )
        for case in plan.cases
        if seconds[case.name]
    ]


def session_seconds(dataset: Path) -> float:
    """How long all sessions of a dataset lasted together: runs and what stands around them.

    Raises:
        UserError: a block cannot be read.
    """
    return sum(
        _between((session.start.started, session.end.ended))
        for block in block_records(dataset)
        for session in block.sessions
        if session.end
    )


def _between(times: Iterable[str]) -> float:
    start, end = map(datetime.fromisoformat, times)
    return (end - start).total_seconds()
