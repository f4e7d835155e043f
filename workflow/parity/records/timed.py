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
from parity.measure.progress import outputs_of
from parity.plan.plan import PLAN, read_plan
from parity.records.dataset import block_records
from parity.records.parse import left_by_blocks


def recorded_sizes(runs: pd.DataFrame) -> dict[str, str]:
    """The size of each case's work by the table RUNS, in words; empty where parameters say all.

    The same parameters are another problem on a node with another cache: then all are listed. Only
    final valid runs count.
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
    """Where the time of a case's attempts went, in seconds."""

    case: str
    runs: int
    # In the sections whose time or rate the program tells, else 0; of a start-up, all.
    timed: float
    running: float  # from the start of the arm to its end


def case_times(dataset: Path) -> list[CaseTime]:
    """The time of each case with any attempts, in the plan's order; UserError: a file is broken."""
    plan = read_plan(dataset / PLAN)
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for entry, raw in left_by_blocks(dataset / "records"):
        block = BLOCK.parse(entry["record"], f"the record of block {entry['block']}")
        runs = {run.name: run for run in block.runs}
        for row in (row for row in raw if row["record"]):
            run = runs[row["run"]]
            case = plan.case_in(plan.case(run.case), run.arm)
            record = RECORD.parse(row["record"], f"the record of {row['block']}, {row['run']}")
            session = block.session(record.session)
            if not session.end:
                continue  # nobody knows how long it lasted
            outputs = outputs_of(case, run.arm, row, record, session.start.facts)
            timed = case.definition.timed_seconds(outputs)
            # Two on one CPU take the same time.
            share = 2 if "group_seconds" in record.evidence else 1
            seconds[case.name].append((timed / share, sum(outputs.wall_seconds) / share))
    took = [(case.name, of) for case in plan.run_cases if (of := seconds[case.name])]
    return [CaseTime(name, len(of), *map(sum, zip(*of, strict=True))) for name, of in took]


def session_seconds(dataset: Path) -> float:
    """How long all sessions lasted together, runs and the rest; UserError: a block is broken."""
    sessions = (session for block in block_records(dataset) for session in block.sessions)
    moments = ((each.start.started, each.end.ended) for each in sessions if each.end)
    lasted = [datetime.fromisoformat(end) - datetime.fromisoformat(begin) for begin, end in moments]
    return sum(each.total_seconds() for each in lasted)
