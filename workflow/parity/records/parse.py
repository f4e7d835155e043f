"""Rows about what surrounds the runs of a block: nodes, binaries, images."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import to_builtins
from msgspec.structs import replace

from parity.benchmarks.description import Metric
from parity.benchmarks.model import Outputs, metrics_counted
from parity.core.documents import canonical
from parity.measure.documents import BLOCK, RECORD, Binary, BlockRecord, RunRecord
from parity.measure.progress import INTERRUPTED, good_record
from parity.plan.plan import Plan, Run
from parity.records import schema
from parity.runtimes import every_arm
from parity.software.images import ImageRecord

Row = dict[str, Any]


def measured_binary(audited: Sequence[Binary], command: Sequence[str]) -> Binary | None:
    """The executable that a run measured: the first that is a word of its command line.

    A benchmark may have several, one for each level of a factor; and one that a script
    starts need not be a word, so the first stands for it. None if none was audited.
    """
    named = [binary for binary in audited if binary.path in command]
    return next(iter([*named, *audited]), None)


def all_binaries(audited: Sequence[Binary]) -> Binary | None:
    """Several executables as one that is another if any of them is; None if one is not there."""
    if len(audited) < 2 or not all(binary.sha256 for binary in audited):
        return next((binary for binary in audited if len(audited) == 1), None)
    digests = (
        hashlib.sha256("".join(f"{getattr(each, field)}\n" for each in audited).encode())
        for field in ("sha256", "closure_sha256")
    )
    one, closure = (digest.hexdigest() for digest in digests)
    return replace(audited[0], sha256=one, closure_sha256=closure)


def node_sizes(facts: Mapping[str, str]) -> dict[str, int]:
    """Last-level cache and memory of a node in bytes, from its facts; 0 where it does not tell."""
    names = {"last_level_cache": "last_level_cache", "memory": "memory_total"}
    return {size: _bytes(facts.get(fact, "")) for size, fact in names.items()}


def _bytes(text: str) -> int:
    number, _, unit = text.partition(" ")
    return int(number) * {"B": 1, "kB": 1024}.get(unit, 0) if number.isdecimal() else 0


def node_rows(block: BlockRecord) -> Iterable[Row]:
    """Rows of the NODES table: the facts before and after each session of a block.

    What the batch system says of the allocation stands with the first node, on which the
    block's job runs; the other nodes are asked before the block only.
    """
    for session in block.sessions:
        start, suffix = session.start, f"-{session.number}" if session.number > 1 else ""
        states = [(start.node_name, "before", start.facts | start.allocation)]
        states += [(other.node_name, "before", other.facts) for other in start.other_nodes]
        states += [(start.node_name, "after", session.end.facts)] if session.end else []
        for node, phase, facts in states:
            for fact, value in facts.items():
                yield {
                    "campaign": block.campaign,
                    "block": block.name,
                    "node": node,
                    "phase": phase + suffix,
                    "fact": fact,
                    "value": value,
                }


def binary_rows(block: BlockRecord) -> Iterable[Row]:
    """Rows of the BINARIES table: what each session of a block audited on its first node.

    An arm whose binaries are others on another node cannot be used in that block, so the
    first node's speak for all.
    """
    for session in block.sessions:
        shared = {"campaign": block.campaign, "block": block.name, "session": session.number}
        for binary in session.start.binaries:
            yield shared | to_builtins(binary)


def image_rows(campaign: str, images: Mapping[str, ImageRecord]) -> list[Row]:
    """Rows of the IMAGES table: the digest chain."""
    columns = ("digest", "parent", "parent_digest", "bytes", "seconds", "tool", "reason")
    return [
        {"campaign": campaign, "format": name} | {key: getattr(record, key) for key in columns}
        for name, record in images.items()
    ]


OTHER_SESSION = "other-session"
# The tables that follow from blocks alone.
OF_BLOCKS = ("runs", "metrics", "samples", "nodes", "binaries")
_MEASURED = ("wall_seconds", "user_seconds", "system_seconds", "steal_fraction", "load_before")
_DIGESTS = ("environment_sha256", "image_digest")
# Columns of a run that are fields of its record.
_COPIED = ("session", "reason", "detail", "exit_code", "started", *_MEASURED, *_DIGESTS)


@dataclass(frozen=True)
class Attempt:
    """An attempt: its row of the RAW table, and its record; None if it was interrupted."""

    raw: Mapping[str, Any]
    record: RunRecord | None


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan and what it has behind it.

    Attributes:
        position: in the block, from 1.
        is_stopped: whether its block ended without being able to start it (again).
    """

    run: Run
    position: int
    attempts: Sequence[Attempt]
    is_stopped: bool

    @property
    def good_record(self) -> RunRecord | None:
        """The record by which it is good, None if it is not."""
        return good_record([attempt.record for attempt in self.attempts])


@dataclass(frozen=True)
class Context:
    """What the rows of one block have in common.

    Attributes:
        newest_sessions: case to the newest session that made a good run of it.
    """

    plan: Plan
    block: BlockRecord
    newest_sessions: Mapping[str, int]


def parse_block(
    plan: Plan, entry: Mapping[str, Any], raw: Iterable[Mapping[str, Any]]
) -> dict[str, list[Row]]:
    """What follows from one block, by the table's name.

    Args:
        plan: the campaign's plan.
        entry: the block's row of the BLOCKS table.
        raw: its rows of the RAW table.

    Returns:
        runs, metrics, samples, nodes, binaries; rows as `schema.to_table` takes them.

    Raises:
        UserError: a record is broken; with the attempt and the key.
    """
    tables: dict[str, list[Row]] = {name: [] for name in OF_BLOCKS}
    by_run: dict[str, list[Attempt]] = {}
    for row in sorted(raw, key=lambda row: (row["run"], row["attempt"])):
        by_run.setdefault(row["run"], []).append(_attempt(row))
    block = BLOCK.parse(entry["record"], f"the record of block {entry['block']}")
    runs = _planned_runs(block, by_run)
    context = Context(plan, block, _newest_sessions(runs))
    for planned in runs:
        _parse_run(context, planned, tables)
    tables["nodes"] += node_rows(block)
    tables["binaries"] += binary_rows(block)
    return tables


def _attempt(row: Mapping[str, Any]) -> Attempt:
    if not row["record"]:
        return Attempt(row, None)
    where = f"the record of {row['block']}, {row['run']}, attempt {row['attempt']}"
    return Attempt(row, RECORD.parse(row["record"], where))


def _planned_runs(block: BlockRecord, by_run: Mapping[str, Sequence[Attempt]]) -> list[PlannedRun]:
    planned = []
    for position, run in enumerate(block.runs, start=1):
        attempts = by_run.get(run.name, ())
        is_good = good_record([attempt.record for attempt in attempts]) is not None
        # A run that was begun, and that a later session could not start, ends with its reason.
        is_stopped = run.name in block.not_started and not is_good
        planned.append(PlannedRun(run, position, attempts, is_stopped))
    return planned


def _newest_sessions(runs: Iterable[PlannedRun]) -> dict[str, int]:
    """Each case's newest session with a good run.

    Only runs of one session may be compared. A good run of an earlier one is left behind
    where its arm could not be started again when the others of its case were made anew.
    """
    newest: dict[str, int] = {}
    for planned in runs:
        if good := planned.good_record:
            newest[planned.run.case] = max(good.session, newest.get(planned.run.case, 0))
    return newest


def _parse_run(context: Context, planned: PlannedRun, tables: dict[str, list[Row]]) -> None:
    """Rows of one planned run: one for each attempt, or one for the run that never started."""
    if planned.is_stopped:
        why = context.block.not_started[planned.run.name]
        row = _blank(context, planned, 0) | {"reason": why.reason, "detail": why.detail}
        tables["runs"].append(row)
    newest = context.newest_sessions.get(planned.run.case, 0)
    for attempt in planned.attempts:
        row = _run_row(context, planned, attempt)
        is_last = attempt is planned.attempts[-1]
        row["final"] = is_last and not planned.is_stopped
        if attempt.record:
            outputs = outputs_of(context.plan, context.block, attempt.raw, attempt.record)
            if not row["reason"] and attempt.record.session < newest:
                row |= {"reason": OTHER_SESSION, "detail": "the others of its case ran later"}
            if not row["reason"]:
                parsed = context.plan.case(row["case"]).definition.parse(outputs)
                row |= {
                    "stage": "valid" if parsed.valid else "parsed",
                    "reason": parsed.reason,
                    "detail": parsed.detail,
                }
                made = attempt.record
                counted = metrics_counted(made.evidence, made.parameters)
                tables["metrics"] += _metric_rows(context, row, (*parsed.metrics, *counted))
            tables["samples"] += _sample_rows(row, outputs)
        tables["runs"].append(row)


def _blank(context: Context, planned: PlannedRun, attempt: int) -> Row:
    """A run's row as far as the plan alone can fill it."""
    run = planned.run
    case = context.plan.case_in(context.plan.case(run.case), run.arm)
    return {
        "campaign": context.plan.campaign,
        "block": context.block.name,
        "block_number": context.block.number,
        "run": run.name,
        "attempt": attempt,
        "position": planned.position,
        "benchmark": case.benchmark,
        "case": run.case,
        "arm": run.arm,
        "runtime": context.plan.arm_runtimes[run.arm],
        "parameters": canonical(case.parameters),
        "final": True,
        "stage": "planned",
        "reason": INTERRUPTED,
        "detail": "the runner was ended before this attempt was",
        "started": "",
        "command": "[]",
        "evidence": "{}",
        **dict.fromkeys(("session", "exit_code", *_MEASURED)),
        **dict.fromkeys((*_DIGESTS, "binary_sha256", "closure_sha256", "stdout_sha256"), ""),
    }


def _run_row(context: Context, planned: PlannedRun, attempt: Attempt) -> Row:
    row, record = _blank(context, planned, attempt.raw["attempt"]), attempt.record
    if record is None:
        return row
    definition = context.plan.case(row["case"]).definition
    key = (planned.run.arm, row["benchmark"])
    start = context.block.session(record.session).start
    audited = [each for each in start.binaries if (each.arm, each.benchmark) == key]
    binary = (
        all_binaries(audited)
        if definition.measures_all_binaries
        else measured_binary(audited, record.last_command)
    )
    return row | {
        "stage": "ran",
        **{column: getattr(record, column) for column in _COPIED},
        "command": json.dumps(record.last_command),
        "evidence": canonical(record.evidence),
        "binary_sha256": binary.sha256 if binary else "",
        "closure_sha256": binary.closure_sha256 if binary else "",
        "stdout_sha256": hashlib.sha256(attempt.raw["stdout"]).hexdigest(),
    }


def outputs_of(
    plan: Plan, block: BlockRecord, raw: Mapping[str, Any], record: RunRecord
) -> Outputs:
    """All that an attempt left, as its benchmark reads it.

    Args:
        raw: its row of the RAW table.
        record: what that row's `record` says.
    """
    run = next(run for run in block.runs if run.name == raw["run"])
    return Outputs(
        stdout=raw["stdout"].decode("utf-8", "replace"),
        stderr=raw["stderr"].decode("utf-8", "replace"),
        files=json.loads(raw["files"]),
        wall_seconds=record.starts_wall_seconds,
        cpu_seconds=(record.user_seconds or 0.0) + (record.system_seconds or 0.0),
        command=record.last_command,
        samples=tuple(map(msgspec.json.decode, raw["samples"].splitlines())),
        parameters=plan.case_in(plan.case(run.case), run.arm).parameters,
        limit=arm.limit.seen_inside if (arm := every_arm().get(run.arm)) else {},
        **node_sizes(block.session(record.session).start.facts),
    )


def _metric_rows(context: Context, run: Row, metrics: Iterable[Metric]) -> Iterable[Row]:
    case = context.plan.case(run["case"])
    work = context.plan.extra_work(case, run["arm"])
    keys = ("campaign", "block", "block_number", "run", "attempt", "benchmark", "case", "arm")
    shared = {key: run[key] for key in keys}
    for metric in (each.credited(work) for each in metrics):
        yield shared | {
            "metric": metric.name,
            "value": float(metric.value),
            "unit": metric.unit,
            "better": metric.better,
            "clock": metric.clock,
            "primary": metric.name in case.primary,
            "valid": run["stage"] == "valid" and run["final"],
        }


def _sample_rows(run: Row, outputs: Outputs) -> Iterable[Row]:
    keys = ("campaign", "block", "block_number", "run", "attempt", "arm", "case")
    shared = {key: run[key] for key in keys}
    return [shared | dict(sample) for sample in outputs.samples]


# With fewer attempts the processes take longer to start than they save.
WORTH_PROCESSES = 20_000

# A row of the BLOCKS table, and the block's rows of the RAW table.
Left = tuple[Row, list[Row]]


def left_by_blocks(records: Path) -> Iterator[Left]:
    """What each block left, in the order of their names; both tables have that order.

    Args:
        records: the folder of both.
    """
    raw = groupby(schema.read_rows(schema.RAW, records / "raw.parquet"), key=itemgetter("block"))
    name, attempts = next(raw, ("", iter(())))
    for entry in schema.read_rows(schema.BLOCKS, records / "blocks.parquet"):
        while name and name < entry["block"]:
            name, attempts = next(raw, ("", iter(())))
        yield entry, list(attempts) if name == entry["block"] else []


def parsed_blocks(plan: Plan, records: Path) -> Iterator[dict[str, pa.Table]]:
    """The parsed tables of each block by name, block by block in the order of their names.

    Raises:
        UserError: a record is broken; with the attempt and the key.
    """
    left = left_by_blocks(records)
    if pq.read_metadata(records / "raw.parquet").num_rows < WORTH_PROCESSES:
        yield from (_parsed(plan, each) for each in left)
        return
    # Started anew, because threads of Arrow's do not survive a fork.
    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), start, _remember, (plan,)) as pool:
        yield from _in_order(pool, left)


def _in_order(pool: ProcessPoolExecutor, left: Iterable[Left]) -> Iterator[dict[str, pa.Table]]:
    """The same by a pool, with a few blocks waiting for each process."""
    waiting: deque[Future[dict[str, pa.Table]]] = deque()
    for each in left:
        waiting.append(pool.submit(_parsed_by_process, each))
        if len(waiting) > 4 * (os.cpu_count() or 1):
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _parsed(plan: Plan, left: Left) -> dict[str, pa.Table]:
    tables = parse_block(plan, *left)
    return {name: schema.to_table(schema.TABLES[name], rows) for name, rows in tables.items()}


_PLANS: list[Plan] = []


def _remember(plan: Plan) -> None:
    """The plan of a process's own, which is large, and sent to it once."""
    _PLANS[:] = [plan]


def _parsed_by_process(left: Left) -> dict[str, pa.Table]:
    return _parsed(_PLANS[0], left)
