"""Imported rows as a dataset, and so as an archive: plan, blocks, and runs with what they said.

The numbers of a run are the standard output that it would have left, and the parameters of its
case say how they are read, so that all else follows as from any measurement.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.core.code_identity import identity
from parity.core.documents import as_document, canonical
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.imports.planned import IMPORTED, Request, Together, blocks_of, cases_of, plan_of
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
    Block,
    Plan,
    Run,
    write_plan,
)
from parity.records import parts, schema
from parity.records.dataset import archive_dataset, parse_dataset
from parity.software.images import IMAGES, write_images


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
    for arm in (asked.reference, asked.double):
        if arm not in {row.arm for row in rows}:
            raise UserError(
                f"no row is of the arm {arm or 'that others are compared with'}",
                where=asked.named,
                allowed=", ".join(dict.fromkeys(row.arm for row in rows)),
                action="name the reference by --reference, and its double by --double",
            )
    cases = cases_of(rows, asked)
    together = blocks_of(rows, asked.study, {row: case.name for row, case in cases.items()})
    plan = plan_of(rows, asked, tuple(cases.values()), together)
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        live = Path(folder)
        (live / "records").mkdir()
        write_plan(live / PLAN, plan)
        write_images(live / IMAGES, {})
        blocks, raw = _block_rows(plan, moment), _raw_rows(plan, together, moment)
        parts.write(schema.BLOCKS, blocks, live / "records/blocks.parquet")
        parts.write(schema.RAW, raw, live / "records/raw.parquet")
        parse_dataset(live, live / "records")
        root.mkdir(parents=True, exist_ok=True)
        return archive_dataset(live, root, IMPORTED)


def _block_rows(plan: Plan, moment: str) -> Iterator[dict[str, Any]]:
    """Rows of the BLOCKS table, in its order: a session of which nothing else is known."""
    session = SessionRecord(
        number=1,
        start=SessionStart(
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
        ),
        end=SessionEnd(ended=moment, busy_fraction=None, facts={}),
    )
    for block in plan.blocks:
        record = BlockRecord(
            campaign=plan.campaign,
            name=block.name,
            number=block.number,
            runs=block.runs,
            sessions=(session,),
            not_started={},
        )
        yield _key(plan, block) | {"record": canonical(record)}


def _raw_rows(plan: Plan, together: Sequence[Together], moment: str) -> Iterator[dict[str, Any]]:
    """Rows of the RAW table, in its order: one attempt of each run."""
    for block, label, runs in together:
        for run in sorted(block.runs, key=lambda run: run.name):
            record = _record(run, moment)
            rows = runs[run.name]
            raw = {
                Path(row.raw).name: as_text(Path(row.raw).read_bytes()) for row in rows if row.raw
            }
            yield _key(plan, block) | {
                "run": run.name,
                "attempt": 1,
                "record": canonical(record),
                "stdout": _said(label, rows).encode(),
                "stderr": b"",
                "files": json.dumps(raw, sort_keys=True),
                "samples": "",
            }


def _record(run: Run, moment: str) -> RunRecord:
    """An attempt of which nothing but its output is known; what must be a number is 0."""
    return RunRecord(
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


def _key(plan: Plan, block: Block) -> dict[str, Any]:
    return {"campaign": plan.campaign, "block": block.name, "block_number": block.number}


def _said(label: str, rows: Sequence[Row]) -> str:
    """The rows of a run as text, in the lines that its case's patterns read."""
    lines = [f"block: {label}"] if label else []
    lines += ["valid" if all(row.valid for row in rows) else "not valid"]
    for row in rows:
        lines += [f"{row.metric} = {row.value!r}"] if row.value is not None else []
        lines += [f"source: {row.source}"] if row.source else []
    return "".join(f"{line}\n" for line in lines)
