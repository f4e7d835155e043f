"""Parses what blocks left into all other tables; pure, so the same raw rows give the same tables.

The fate of a run is told by its stage: `planned` (never started, or interrupted), `ran` (started,
but it ended badly or a gate did not hold), `parsed` (its gates held, but its output is incomplete
or failed the benchmark's own check), `valid`. The reason says why it came no further.
"""

import hashlib
import json
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from parity.benchmarks.description import CPU_BESIDE, CPU_SECONDS, FIXED, WORK, Metric
from parity.benchmarks.model import metrics_counted
from parity.core.documents import RESTORE, canonical
from parity.core.errors import UserError
from parity.measure.documents import BLOCK, RECORD, Binary, BlockRecord, RunRecord
from parity.measure.progress import INTERRUPTED, good_record, outputs_of
from parity.plan.plan import Case, Plan, Run
from parity.records import schema
from parity.software.images import ImageRecord

Row = dict[str, Any]
# A row of the BLOCKS table, and the block's rows of the RAW table.
Left = tuple[Row, list[Row]]
# A row of the RAW table, and its record; None if the attempt was interrupted.
Attempt = tuple[Mapping[str, Any], RunRecord | None]
OTHER_SESSION = "other-session"
OF_BLOCKS = ("runs", "metrics", "samples", "nodes", "binaries")  # they follow from blocks alone
WORTH_PROCESSES = 20_000  # with fewer attempts they take longer to start than they save
_MEASURED = ("wall_seconds", "user_seconds", "system_seconds", "steal_fraction", "load_before")
_DIGESTS = ("environment_sha256", "image_digest")
# Columns of a run that are fields of its record.
_COPIED = ("session", "reason", "detail", "exit_code", "started", *_MEASURED, *_DIGESTS)
# What other tables have of a run.
_KEY = ("campaign", "block", "block_number", "run", "attempt", "case", "arm")


def parse_block(
    plan: Plan, entry: Mapping[str, Any], raw: Iterable[Mapping[str, Any]]
) -> dict[str, list[Row]]:
    """What follows from one block, by the table's name (`OF_BLOCKS`), as `to_table` takes it.

    `entry`: its row of the BLOCKS table. `raw`: its rows of the RAW table. Raises UserError: a
    record is broken, or an attempt is of no run of its block; with the attempt.
    """
    block = BLOCK.parse(entry["record"], f"the record of block {entry['block']}")
    attempts: dict[str, list[Attempt]] = {run.name: [] for run in block.runs}
    for left in sorted(raw, key=itemgetter("run", "attempt")):
        where = f"the record of {left['block']}, {left['run']}, attempt {left['attempt']}"
        record = RECORD.parse(left["record"], where) if left["record"] else None
        if left["run"] not in attempts:
            what = f"block {block.name} has no run {left['run']}"
            raise UserError(what, where=where, action=RESTORE)
        attempts[left["run"]].append((left, record))
    good = {name: good_record([record for _, record in made]) for name, made in attempts.items()}
    # Only runs of one session may be compared. A good run of an earlier one is left behind
    # where its arm could not be started again when the others of its case were made anew.
    newest: dict[str, int] = {}
    for run in block.runs:
        if record := good[run.name]:
            newest[run.case] = max(record.session, newest.get(run.case, 0))
    tables: dict[str, list[Row]] = {name: [] for name in OF_BLOCKS}
    for position, run in enumerate(block.runs, start=1):
        case = plan.case_in(plan.case(run.case), run.arm)
        blank = _planned(plan, block, run, case) | {"position": position}
        # A run that was begun, and that a later session could not start, ends with its reason.
        stopped = None if good[run.name] else block.not_started.get(run.name)
        if stopped:
            tables["runs"].append(blank | {"reason": stopped.reason, "detail": stopped.detail})
        for left, record in (made := attempts[run.name]):
            is_final = left is made[-1][0] and not stopped
            row = blank | {"attempt": left["attempt"], "final": is_final}
            if record:
                _add_started(plan, block, (run, case, row, left, record), newest, tables)
            tables["runs"].append(row)
    tables["metrics"] += length_rows(plan, tables["runs"], tables["metrics"])
    tables["nodes"] += node_rows(block)
    for session in block.sessions:
        # Binaries that are others on another node keep an arm out: the first node's speak for all.
        shared = {"campaign": block.campaign, "block": block.name, "session": session.number}
        tables["binaries"] += [shared | msgspec.to_builtins(b) for b in session.start.binaries]
    return tables


def _planned(plan: Plan, block: BlockRecord, run: Run, case: Case) -> Row:
    """A run's row as far as the plan alone can fill it: that of one that was interrupted."""
    return {
        "campaign": plan.campaign, "block": block.name, "block_number": block.number,
        "run": run.name, "attempt": 0, "benchmark": case.benchmark, "case": run.case,
        "arm": run.arm, "runtime": plan.arm_runtimes[run.arm],
        "parameters": canonical(case.parameters), "final": True, "stage": "planned",
        "reason": INTERRUPTED, "detail": "the runner was ended before this attempt was",
        "started": "", "command": "[]", "evidence": "{}",
        **dict.fromkeys(("session", "exit_code", *_MEASURED)),
        **dict.fromkeys((*_DIGESTS, "binary_sha256", "closure_sha256", "stdout_sha256"), ""),
    }  # fmt: skip


def _add_started(
    plan: Plan, block: BlockRecord, made: tuple[Run, Case, Row, Mapping[str, Any], RunRecord],
    newest: Mapping[str, int], tables: dict[str, list[Row]],
) -> None:  # fmt: skip
    """Fill in the row of an attempt that was started, and add its numbers and samples."""
    run, case, row, left, record = made
    definition, command = case.definition, record.last_command
    start, own = block.session(record.session).start, (run.arm, case.benchmark)
    audited = [binary for binary in start.binaries if (binary.arm, binary.benchmark) == own]
    whole = definition.measures_all_binaries
    binary = all_binaries(audited) if whole else measured_binary(audited, command)
    row |= {column: getattr(record, column) for column in _COPIED}
    row |= {
        "stage": "ran", "command": json.dumps(command), "evidence": canonical(record.evidence),
        "binary_sha256": binary.sha256 if binary else "",
        "closure_sha256": binary.closure_sha256 if binary else "",
        "stdout_sha256": hashlib.sha256(left["stdout"]).hexdigest(),
    }  # fmt: skip
    if not row["reason"] and record.session < newest.get(run.case, 0):
        row |= {"reason": OTHER_SESSION, "detail": "the others of its case ran later"}
    outputs = outputs_of(case, run.arm, left, record, start.facts)
    key = {column: row[column] for column in _KEY}
    if not row["reason"]:
        parsed = definition.parse(outputs)
        stage = "valid" if parsed.valid else "parsed"
        row |= {"stage": stage, "reason": parsed.reason, "detail": parsed.detail}
        shared = key | {"benchmark": case.benchmark, "valid": stage == "valid" and row["final"]}
        work = plan.extra_work(plan.case(run.case), run.arm)
        metrics = cpu_metrics(record.evidence)
        # By its own clock a program that shares its CPU tells nothing.
        if not plan.in_pairs(case.name):
            counted = metrics_counted(record.evidence, record.parameters)
            metrics = (*parsed.metrics, *counted, *metrics)
        tables["metrics"] += [shared | _number(each.credited(work), case) for each in metrics]
    tables["samples"] += [key | dict(sample) for sample in outputs.samples]


def length_rows(plan: Plan, runs: Sequence[Row], metrics: Sequence[Row]) -> list[Row]:
    """Rows of METRICS: of each arm that ran a case at both lengths, its work alone and the rest.

    A run that does the share s of the work takes T(s) = fixed + s work, by the clock of what is
    timed, which starts with the container where the program itself tells no time. So work is
    (T(1) - T(s)) / (1 - s), and fixed what the whole shorter run took but for its share of that.
    """
    counted = {(r["case"], r["arm"]): r for r in runs if r["final"] and r["stage"] == "valid"}
    told = {(r["case"], r["arm"], r["metric"]): r["value"] for r in metrics if r["valid"]}
    found: list[Row] = []
    for shorter in plan.shorter:
        case = plan.case(shorter.of)
        is_pair = plan.in_pairs(case.name)
        clock = CPU_SECONDS.metric if is_pair else case.definition.timed
        for arm in plan.arms:
            names = (case.name, shorter.case.name)
            if not all((name, arm) in counted for name in names):
                continue
            walls = [counted[name, arm]["wall_seconds"] for name in names]
            timed = [told.get((name, arm, clock)) for name in names] if clock else walls
            if None in timed:
                continue
            long, short = map(float, timed)
            work = (long - short) / (1 - shorter.share)
            whole = short if is_pair else walls[1]
            of_run = {column: counted[case.name, arm][column] for column in (*_KEY, "benchmark")}
            both = WORK.measured(work), FIXED.measured(whole - shorter.share * work)
            found += [of_run | _number(each, case) | {"valid": True} for each in both]
    return found


def _number(metric: Metric, case: Case) -> Row:
    return {
        "metric": metric.name, "value": float(metric.value), "unit": metric.unit,
        "better": metric.better, "clock": metric.clock, "primary": metric.name in case.primary,
    }  # fmt: skip


def cpu_metrics(evidence: Mapping[str, str]) -> tuple[Metric, ...]:
    """The CPU time of a program, where it was told; side by side, of all else in its group too."""
    told = [evidence.get(f"{mode}_seconds") for mode in ("user", "system")]
    if None in told:
        return ()
    own = sum(map(float, filter(None, told)))
    of_group = evidence.get("group_seconds")
    beside = () if of_group is None else (CPU_BESIDE.measured(float(of_group) - own),)
    return CPU_SECONDS.measured(own), *beside


def measured_binary(audited: Sequence[Binary], command: Sequence[str]) -> Binary | None:
    """What a run measured: the first executable that its command line names; None without any."""
    # What a script starts need not be a word of it: then the first of all stands for it.
    named = [binary for binary in audited if binary.path in command]
    return next(iter([*named, *audited]), None)


def all_binaries(audited: Sequence[Binary]) -> Binary | None:
    """Several executables as one that is another if any of them is; None if one is not there."""
    if len(audited) < 2 or not all(binary.sha256 for binary in audited):
        return audited[0] if len(audited) == 1 else None
    one, closure = (
        hashlib.sha256("".join(f"{getattr(each, field)}\n" for each in audited).encode())
        for field in ("sha256", "closure_sha256")
    )
    return replace(audited[0], sha256=one.hexdigest(), closure_sha256=closure.hexdigest())


def node_rows(block: BlockRecord) -> Iterable[Row]:
    """Rows of the NODES table: the facts before and after each session of a block."""
    for session in block.sessions:
        start, suffix = session.start, f"-{session.number}" if session.number > 1 else ""
        # The job runs on the first node; the others are asked before the block only.
        states = [(start.node_name, "before", start.facts | start.allocation)]
        states += [(other.node_name, "before", other.facts) for other in start.other_nodes]
        states += [(start.node_name, "after", session.end.facts)] if session.end else []
        for node, phase, facts in states:
            shared = {"campaign": block.campaign, "block": block.name, "node": node}
            shared["phase"] = phase + suffix
            yield from (shared | {"fact": fact, "value": value} for fact, value in facts.items())


def image_rows(campaign: str, images: Mapping[str, ImageRecord]) -> list[Row]:
    """Rows of the IMAGES table: the digest chain."""
    columns = ("digest", "parent", "parent_digest", "bytes", "seconds", "tool", "reason")
    return [
        {"campaign": campaign, "format": name} | {key: getattr(record, key) for key in columns}
        for name, record in images.items()
    ]


def left_by_blocks(records: Path) -> Iterator[Left]:
    """What each block left, in their names' order, as tables are; UserError: one has no record."""
    raw = groupby(schema.read_rows(schema.RAW, records / "raw.parquet"), key=itemgetter("block"))
    name, attempts = next(raw, ("", iter(())))
    for entry in schema.read_rows(schema.BLOCKS, records / "blocks.parquet"):
        if name == entry["block"]:
            yield entry, list(attempts)
            name, attempts = next(raw, ("", iter(())))
        elif name and name < entry["block"]:
            break  # blocks stand in the order of their names: one before this is of no block
        else:
            yield entry, []
    if name:
        problem = f"there are attempts of block {name}, and no record of it"
        raise UserError(problem, where=f"{records}/raw.parquet", action=RESTORE)


def parsed_blocks(plan: Plan, records: Path) -> Iterator[dict[str, pa.Table]]:
    """The parsed tables of each block by name, block by block in the order of their names.

    Many blocks are parsed by several processes side by side. Raises UserError: a record is broken,
    or of nothing that was planned; with the attempt.
    """
    lefts = left_by_blocks(records)
    if schema.rows_in(records / "raw.parquet") < WORTH_PROCESSES:
        yield from (_parsed(plan, left) for left in lefts)
        return
    # Started anew, because threads of Arrow's do not survive a fork.
    start, processes = multiprocessing.get_context("spawn"), os.cpu_count() or 1
    with ProcessPoolExecutor(processes, start) as pool:
        waiting: deque[Future[dict[str, pa.Table]]] = deque()
        for left in lefts:
            waiting.append(pool.submit(_parsed, plan, left))
            if len(waiting) > 4 * processes:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)


def _parsed(plan: Plan, left: Left) -> dict[str, pa.Table]:
    tables = parse_block(plan, *left)
    return {name: schema.to_table(schema.TABLES[name], rows) for name, rows in tables.items()}
