"""How large the work was that benchmarks chose, and how much of a campaign's time was timed."""

import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark
from parity.core.wording import listed
from parity.measure.documents import BLOCK, RECORD
from parity.plan.plan import PLAN, read_plan
from parity.records.dataset import block_records
from parity.records.parse import left_by_blocks, outputs_of


def recorded_sizes(runs: pd.DataFrame) -> dict[str, str]:
    """The size of each case's work, in words; empty where its parameters say all.

    The same parameters are another problem on a node with another cache, and on nodes that differ
    they are several: then all sizes are listed. `runs`: the table RUNS; only final valid runs
    count.
    """
    counted = runs[runs["final"] & (runs["stage"] == "valid")]
    known, found = benchmarks(), dict[str, set[str]]()
    commands = counted[["benchmark", "case", "command"]].drop_duplicates()
    for benchmark, case, command in commands.itertuples(index=False, name=None):
        if benchmark in known and command:
            found.setdefault(case, set()).add(known[benchmark].size(json.loads(command)))
    return {case: listed(sorted(sizes)) for case, sizes in found.items()}


def choosing_size(benchmark: Benchmark) -> set[str]:
    """The parameters of a benchmark that do nothing but choose this size."""
    return {name for name, rule in benchmark.parameters.items() if rule.get("chooses_size")}


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

    Raises UserError: the dataset cannot be read.
    """
    plan = read_plan(dataset / PLAN)
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for entry, raw in left_by_blocks(dataset / "records"):
        block = BLOCK.parse(entry["record"], f"the record of block {entry['block']}")
        runs = {run.name: run for run in block.runs}
        for row in (row for row in raw if row["record"]):
            run = runs[row["run"]]
            case = plan.case_in(plan.case(run.case), run.arm)
            record = RECORD.parse(row["record"], f"the record of {row['block']}, {row['run']}")
            outputs = outputs_of(case, block, run.arm, row, record)
            timed = case.definition.timed_seconds(outputs)
            # Two on one CPU take the same time.
            share = 2 if "group_seconds" in record.evidence else 1
            seconds[case.name].append((timed / share, sum(outputs.wall_seconds) / share))
    return [
        CaseTime(
            case.name, len(seconds[case.name]), *map(sum, zip(*seconds[case.name], strict=True))
        )
        for case in plan.run_cases
        if seconds[case.name]
    ]


def session_seconds(dataset: Path) -> float:
    """How long all sessions of a dataset lasted together: runs and what stands around them.

    Raises UserError: a block cannot be read.
    """
    lasted = [
        datetime.fromisoformat(session.end.ended) - datetime.fromisoformat(session.start.started)
        for block in block_records(dataset)
        for session in block.sessions
        if session.end
    ]
    return sum(each.total_seconds() for each in lasted)
