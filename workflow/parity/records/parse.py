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

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs, Parsed
from parity.core.documents import canonical
from parity.plan.plan import Plan
from parity.records.surroundings import (
    audited_binaries,
    binary_rows,
    image_rows,
    measured_binary,
    node_rows,
    node_sizes,
)
from parity.software.images import ImageRecord

Row = dict[str, Any]
OTHER_SESSION = "other-session"


@dataclass(frozen=True)
class Context:
    """What the rows of one block have in common.

    Attributes:
        plan: the campaign's plan.
        block: the block's parsed record.
        binaries: (session, arm, benchmark) to the audit rows of its executables.
        sessions: case to the newest session that made a good run of it.
    """

    plan: Plan
    block: Mapping[str, Any]
    binaries: Mapping[tuple[int, str, str], Sequence[Mapping[str, Any]]]
    sessions: Mapping[str, int]


def parse_all(
    plan: Plan,
    raw: Sequence[Mapping[str, Any]],
    blocks: Sequence[Mapping[str, Any]],
    images: Mapping[str, ImageRecord],
) -> dict[str, list[Row]]:
    """Every parsed table by name, from the RAW and BLOCKS rows.

    Args:
        plan: the campaign's plan.
        images: records of the image formats, by format.

    Returns:
        runs, metrics, samples, nodes, binaries, images; rows as `schema.to_table` takes them.
    """
    tables: dict[str, list[Row]] = {
        name: [] for name in ("runs", "metrics", "samples", "nodes", "binaries", "images")
    }
    by_run: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in sorted(raw, key=lambda row: (row["block"], row["run"], row["attempt"])):
        by_run.setdefault((row["block"], row["run"]), []).append(row)
    for entry in blocks:
        block = json.loads(entry["record"])
        context = Context(plan, block, audited_binaries(block), _newest_sessions(block, by_run))
        for position, planned in enumerate(block["runs"], start=1):
            attempts = by_run.get((block["block"], planned["run"]), [])
            _parse_run(context, position, planned, attempts, tables)
        tables["nodes"] += node_rows(block)
        tables["binaries"] += binary_rows(block)
    tables["images"] = image_rows(plan.campaign, images)
    return tables


def _parse_run(
    context: Context,
    position: int,
    planned: Mapping[str, str],
    attempts: Sequence[Mapping[str, Any]],
    tables: dict[str, list[Row]],
) -> None:
    """Rows of one planned run: one for each attempt, or one for the run that never started."""
    # A run that was begun, and that a later session could not start, ends with its reason.
    stopped = planned["run"] in context.block["not_started"] and not _is_good(attempts)
    if stopped:
        tables["runs"].append(_not_started(context, position, planned))
    for index, attempt in enumerate(attempts):
        record = json.loads(attempt["record"]) if attempt["record"] else None
        run = _run_row(context, position, planned, attempt, record)
        run["final"] = index == len(attempts) - 1 and not stopped
        if record:
            outputs = _outputs(context, planned, attempt, record)
            if not record["reason"] and record["session"] < context.sessions.get(run["case"], 0):
                run |= {"reason": OTHER_SESSION, "detail": "the others of its case ran later"}
            parsed = _parse(run["benchmark"], outputs) if not run["reason"] else None
            if parsed:
                run |= {
                    "stage": "valid" if parsed.valid else "parsed",
                    "reason": parsed.reason,
                    "detail": parsed.detail,
                }
                tables["metrics"] += _metric_rows(context, run, parsed)
            tables["samples"] += _sample_rows(run, outputs)
        tables["runs"].append(run)


def _newest_sessions(
    block: Mapping[str, Any], by_run: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
) -> dict[str, int]:
    """Each case's newest session with a good run.

    Only runs of one session may be compared. A good run of an earlier one is left behind
    where its arm could not be started again when the others of its case were made anew.
    """
    newest: dict[str, int] = {}
    for planned in block["runs"]:
        attempts = by_run.get((block["block"], planned["run"]), [])
        if _is_good(attempts):
            session = json.loads(attempts[-1]["record"])["session"]
            newest[planned["case"]] = max(session, newest.get(planned["case"], 0))
    return newest


def _is_good(attempts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last attempt ended well and passed its gates."""
    last = attempts[-1]["record"] if attempts else ""
    return bool(last) and not json.loads(last)["reason"]


def _parse(benchmark: str, outputs: Outputs) -> Parsed:
    return benchmarks()[benchmark].parse(outputs)


def _case(context: Context, name: str) -> Mapping[str, Any]:
    return next(case for case in context.plan.cases if case["case"] == name)


def _key(context: Context, planned: Mapping[str, str], attempt: int) -> Row:
    return {
        "campaign": context.plan.campaign,
        "block": context.block["block"],
        "block_number": context.block["number"],
        "run": planned["run"],
        "attempt": attempt,
    }


def _blank(context: Context, position: int, planned: Mapping[str, str], attempt: int) -> Row:
    """A run's row as far as the plan alone can fill it."""
    case = _case(context, planned["case"])
    return _key(context, planned, attempt) | {
        "position": position,
        "benchmark": case["benchmark"],
        "case": planned["case"],
        "arm": planned["arm"],
        "runtime": context.plan.arm_runtimes[planned["arm"]],
        "parameters": canonical(case["parameters"]),
        "final": True,
        "session": None,
        "stage": "planned",
        "reason": "interrupted",
        "detail": "the runner was ended before this attempt was",
        "exit_code": None,
        "started": "",
        "wall_seconds": None,
        "user_seconds": None,
        "system_seconds": None,
        "steal_fraction": None,
        "load_before": None,
        "command": "[]",
        "environment_sha256": "",
        "evidence": "{}",
        "image_digest": "",
        "binary_sha256": "",
        "closure_sha256": "",
        "stdout_sha256": "",
    }


def _not_started(context: Context, position: int, planned: Mapping[str, str]) -> Row:
    why = context.block["not_started"][planned["run"]]
    return _blank(context, position, planned, 0) | why


def _run_row(
    context: Context,
    position: int,
    planned: Mapping[str, str],
    attempt: Mapping[str, Any],
    record: Mapping[str, Any] | None,
) -> Row:
    row = _blank(context, position, planned, attempt["attempt"])
    if record is None:
        return row
    command = record["commands"][-1] if record["commands"] else []
    audited = context.binaries.get((record["session"], planned["arm"], row["benchmark"]), [])
    binary = measured_binary(audited, command)
    copied = (
        "session",
        "reason",
        "detail",
        "exit_code",
        "started",
        "wall_seconds",
        "user_seconds",
        "system_seconds",
        "steal_fraction",
        "load_before",
        "environment_sha256",
        "image_digest",
    )
    return (
        row
        | {name: record[name] for name in copied}
        | {
            "stage": "ran",
            "command": json.dumps(command),
            "evidence": canonical(record["evidence"]),
            "binary_sha256": binary.get("sha256", ""),
            "closure_sha256": binary.get("closure_sha256", ""),
            "stdout_sha256": hashlib.sha256(attempt["stdout"]).hexdigest(),
        }
    )


def _outputs(
    context: Context,
    planned: Mapping[str, str],
    attempt: Mapping[str, Any],
    record: Mapping[str, Any],
) -> Outputs:
    return Outputs(
        stdout=attempt["stdout"].decode("utf-8", "replace"),
        stderr=attempt["stderr"].decode("utf-8", "replace"),
        files=json.loads(attempt["files"]),
        wall_seconds=tuple(record["starts_wall_seconds"]),
        command=tuple(record["commands"][-1] if record["commands"] else ()),
        samples=tuple(json.loads(line) for line in attempt["samples"].splitlines()),
        parameters=_case(context, planned["case"])["parameters"],
        **node_sizes(context.block, record["session"]),
    )


def _metric_rows(context: Context, run: Mapping[str, Any], parsed: Parsed) -> Iterable[Row]:
    primary = _case(context, run["case"])["primary"]
    shared = {
        key: run[key]
        for key in (
            *("campaign", "block", "block_number", "run", "attempt"),
            *("benchmark", "case", "arm"),
        )
    }
    for metric in parsed.metrics:
        yield shared | {
            "metric": metric.name,
            "value": float(metric.value),
            "unit": metric.unit,
            "better": metric.better,
            "clock": metric.clock,
            "primary": metric.name in primary,
            "valid": run["stage"] == "valid" and run["final"],
        }


def _sample_rows(run: Mapping[str, Any], outputs: Outputs) -> Iterable[Row]:
    keys = ("campaign", "block", "block_number", "run", "attempt", "arm", "case")
    shared = {key: run[key] for key in keys}
    return [shared | dict(sample) for sample in outputs.samples]
