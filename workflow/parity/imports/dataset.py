"""The plan of what was imported: cases that say how their numbers are read, and the blocks."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.core.documents import as_document, canonical
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.core.package import identity
from parity.core.spack_paths import DISTRIBUTION
from parity.imports.rows import Row
from parity.measure.documents import (
    BlockRecord,
    ProgramIdentity,
    RunRecord,
    SessionEnd,
    SessionRecord,
    SessionStart,
)
from parity.plan.plan import (
    PLAN,
    PLAN_VERSION,
    Block,
    Case,
    Plan,
    PlannedComparison,
    Run,
    write_plan,
)
from parity.records import schema
from parity.records.dataset import archive_dataset, parse_dataset
from parity.runtimes import every_arm
from parity.software.images import IMAGES, write_images

# System, scale and kind of what is imported. The names of its cases begin with it, too, so that
# no claim on a benchmark that is measured here takes them for its own.
IMPORTED = "imported"
NOTE = (
    "Imported from {file} (SHA-256 {digest}): that the runs were in random order is not known,"
    " nor which binaries ran, and no gate looked at them."
)
NO_BLOCKS = " Runs without a block are compared with nothing: their values are described."


@dataclass(frozen=True)
class Request:
    """What is imported, and what whoever imports it says of it.

    Attributes:
        files: that the rows are from.
        study: name of the new study.
        reference: the arm that others are compared with.
        double: the reference once more, which is the control; the reference itself for none.
        margin: as a fraction, for all cases; None to report differences only.
    """

    files: tuple[Path, ...]
    study: str
    title: str
    reference: str
    double: str
    margin: float | None = None


def import_rows(rows: Sequence[Row], asked: Request, root: Path, now: datetime) -> Path:
    """Archive rows that are checked (`rows.checked`).

    Args:
        root: the folder of all archives.
        now: the moment that stands for all of theirs.

    Returns:
        The folder of the new archive.

    Raises:
        UserError: no row is of the reference, or there is an archive of this study and day.
    """
    arms = dict.fromkeys(row.arm for row in rows)
    for arm in (asked.reference, asked.double):
        if arm not in arms:
            raise UserError(
                f"no row is of the arm {arm or 'that others are compared with'}",
                where=_named(asked.files),
                allowed=", ".join(arms),
                action="name the reference by --reference, and its double by --double",
            )
    cases = _cases(rows, asked)
    blocks = _blocks(rows, asked.study, {row: case.name for row, case in cases.items()})
    first = dict.fromkeys((asked.reference, asked.double))
    plan = _plan(asked, tuple(first | arms), tuple(cases.values()), tuple(blocks))
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        live = Path(folder)
        (live / "records").mkdir()
        write_plan(live / PLAN, plan)
        write_images(live / IMAGES, {})
        planned, raw = _block_rows(plan, moment), _raw_rows(plan, blocks, moment)
        schema.write_rows(schema.BLOCKS, planned, live / "records/blocks.parquet")
        schema.write_rows(schema.RAW, raw, live / "records/raw.parquet")
        parse_dataset(live, live / "records")
        root.mkdir(parents=True, exist_ok=True)
        return archive_dataset(live, root, IMPORTED)


def _named(files: Sequence[Path]) -> str:
    first, *others = (file.name for file in files)
    return f"{first} and {len(others)} more" if others else first


def _cases(rows: Sequence[Row], asked: Request) -> dict[str, Case]:
    """The cases by their names in the rows; those of the same metrics are one benchmark's."""
    metrics: dict[str, dict[tuple[str, str, str], None]] = {}
    for row in rows:
        metrics.setdefault(row.case, {})[row.metric, row.unit, row.better] = None
    kinds = list(dict.fromkeys(map(tuple, metrics.values())))
    lacking = {(row.case, row.metric) for row in rows if row.value is None and row.valid}
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in asked.files)).hexdigest()
    note = NOTE.format(file=_named(asked.files), digest=digest[:12])
    note += "" if all(row.block for row in rows) else NO_BLOCKS
    cases = {}
    for case, of_case in metrics.items():
        number = kinds.index(tuple(of_case)) + 1
        benchmark = IMPORTED if len(kinds) == 1 else f"{IMPORTED}-{number}"
        primary = tuple(name for name, _, _ in of_case)
        command = {
            "title": asked.title if len(kinds) == 1 else f"{asked.title} ({number})",
            # Braces would be places to fill in.
            "program": [IMPORTED, _named(asked.files).replace("{", "{{").replace("}", "}}")],
            "binaries": [],
            "metrics": [
                {"name": name, "pattern": rf"^{name} = (\S+)$", "unit": unit, "better": better}
                | ({"may_lack": True} if (case, name) in lacking else {})
                for name, unit, better in of_case
            ],
            "valid": "^valid$",
            "note": note,
        }
        cases[case] = Case(
            name=f"{benchmark}-{case}",
            benchmark=benchmark,
            parameters={"command": command},
            margin=asked.margin,
            primary=primary,
            differences=() if asked.margin is not None else primary,
            timeout_seconds=0,
        )
    return cases


def _blocks(
    rows: Sequence[Row], study: str, cases: Mapping[str, str]
) -> dict[Block, dict[str, list[Row]]]:
    """The rows of each run of each block, in their order; a run without a block is one of its own.

    Args:
        cases: names of cases by those in the rows.
    """
    together: dict[tuple[Any, ...], dict[str, list[Row]]] = {}
    for row in rows:
        runs = together.setdefault((row.block,) if row.block else row.run, {})
        runs.setdefault(f"{cases[row.case]}.{row.arm}", []).append(row)
    width = max(4, len(str(len(together))))
    blocks = {}
    for number, (key, runs) in enumerate(together.items(), start=1):
        digest = hashlib.sha256(repr([study, key, *runs.items()]).encode()).hexdigest()[:8]
        name = f"{study}-{IMPORTED}-b{number:0{width}d}-{digest}"
        planned = tuple(Run(run, cases[of[0].case], of[0].arm) for run, of in runs.items())
        blocks[Block(name, number, 1, planned)] = runs
    return blocks


def _plan(
    asked: Request, arms: tuple[str, ...], cases: tuple[Case, ...], blocks: tuple[Block, ...]
) -> Plan:
    """The plan that would have measured this, in the order of the rows."""
    known = every_arm()
    measured = {(run.case, run.arm) for block in blocks for run in block.runs}
    runtimes = {arm: known[arm].runtime if arm in known else arm for arm in arms}
    return Plan(
        version=PLAN_VERSION,
        study=asked.study,
        scale=IMPORTED,
        campaign=f"{asked.study}-{IMPORTED}",
        title=asked.title,
        reproduces="none",
        seed=0,
        reference=asked.reference,
        aa_pair=(asked.reference, asked.double),
        arms=arms,
        cases=cases,
        attempts=1,
        not_tested=(),
        provider=DISTRIBUTION,
        positive_control=None,
        looks=(),
        minutes=None,
        blocks_per_job=1,
        arm_titles={arm: known[arm].title if arm in known else arm for arm in arms},
        # Both are one thing, whatever it is called.
        arm_runtimes=runtimes | {asked.double: runtimes[asked.reference]},
        benchmark_titles={case.benchmark: case.parameters["command"]["title"] for case in cases},
        benchmark_notes={case.benchmark: case.parameters["command"]["note"] for case in cases},
        blocks=blocks,
        comparisons=tuple(
            PlannedComparison(case.name, metric, arm, asked.reference, case.margin)
            for case in cases
            for metric in case.primary
            for arm in arms
            if arm != asked.reference and (case.name, arm) in measured
        ),
    )


def _block_rows(plan: Plan, moment: str) -> Iterator[dict[str, Any]]:
    """Rows of the BLOCKS table, in its order: a session of which nothing else is known."""
    start = SessionStart(
        node_name=IMPORTED,
        facts={},
        busy_fraction=0.0,
        arms={},
        binaries=(),
        started=moment,
        program=as_document(identity(), ProgramIdentity, "this program"),
        system=IMPORTED,
        scale_label=IMPORTED,
        allocation={},
        other_nodes=(),
    )
    end = SessionEnd(ended=moment, busy_fraction=None, facts={})
    for block in plan.blocks:
        record = BlockRecord(
            campaign=plan.campaign,
            name=block.name,
            number=block.number,
            runs=block.runs,
            sessions=(SessionRecord(number=1, start=start, end=end),),
            not_started={},
        )
        yield _key(plan, block) | {"record": canonical(record)}


def _raw_rows(
    plan: Plan, blocks: Mapping[Block, Mapping[str, Sequence[Row]]], moment: str
) -> Iterator[dict[str, Any]]:
    """Rows of the RAW table, in its order: one attempt of each run.

    Nothing but its output is known of it, in the lines that its case's patterns read; what must
    be a number is 0.
    """
    for block, rows_of_run in blocks.items():
        for run in sorted(block.runs, key=lambda run: run.name):
            rows = rows_of_run[run.name]
            lines = [f"block: {rows[0].block}"] if rows[0].block else []
            lines += ["valid" if all(row.valid for row in rows) else "not valid"]
            for row in rows:
                lines += [f"{row.metric} = {row.value!r}"] if row.value is not None else []
                lines += [f"source: {row.source}"] if row.source else []
            files = {Path(row.raw) for row in rows if row.raw}
            record = RunRecord(
                session=1,
                run=run.name,
                case=run.case,
                arm=run.arm,
                parameters={},
                reason="",
                detail="",
                exit_code=None,
                started=moment,
                starts_wall_seconds=(),
                wall_seconds=None,
                user_seconds=None,
                system_seconds=None,
                steal_fraction=0.0,
                load_before=0.0,
                commands=(),
                environment={},
                environment_sha256="",
                evidence={},
                ranks=(),
                image_digest="",
                gates=(),
            )
            yield _key(plan, block) | {
                "run": run.name,
                "attempt": 1,
                "record": canonical(record),
                "stdout": "".join(f"{line}\n" for line in lines).encode(),
                "stderr": b"",
                "files": json.dumps(
                    {file.name: as_text(file.read_bytes()) for file in files}, sort_keys=True
                ),
                "samples": "",
            }


def _key(plan: Plan, block: Block) -> dict[str, Any]:
    return {"campaign": plan.campaign, "block": block.name, "block_number": block.number}
