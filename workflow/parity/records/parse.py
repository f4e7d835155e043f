"""Parses the gathered tables into all others; pure, so the same raw rows give the same tables.

The fate of a run is told by its stage: `planned` (never started, or interrupted), `ran`
(started, but it ended badly or a gate did not hold), `parsed` (it ended well and passed
its gates, so its output was parsed, but that was incomplete or failed the benchmark's own
check), `valid`. The reason says why it came no further.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parity.benchmarks.description import Metric
from parity.benchmarks.model import Outputs, metrics_counted
from parity.core.documents import canonical
from parity.measure.documents import BLOCK, RECORD, BlockRecord, RunRecord
from parity.measure.progress import INTERRUPTED, good_record
from parity.plan.plan import Plan, Run
from parity.records.surroundings import (
    all_binaries,
    binary_rows,
    measured_binary,
    node_rows,
    node_sizes,
)
from parity.runtimes import every_arm

Row = dict[str, Any]
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
