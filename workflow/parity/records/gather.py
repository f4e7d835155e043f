"""Gathers what blocks left on disk, verbatim, into two tables; nothing is interpreted here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from parity.core.documents import read_text
from parity.core.errors import UserError
from parity.core.files import as_text
from parity.measure import progress
from parity.measure.documents import (
    BATCH,
    BLOCK,
    BLOCK_FOLDERS,
    RECORD,
    BlockRecord,
    refuse_another_system,
)
from parity.plan.plan import Plan
from parity.records import parts, schema

Row = dict[str, Any]


def measured_blocks(batches: Iterable[Path]) -> list[Path]:
    """The folders of the blocks that batches measured, of which these are the records.

    Raises:
        UserError: such a record is broken, or one of its blocks is gone.
    """
    folders = []
    for path in batches:
        for name in BATCH.read(path).measured:
            if not BLOCK.is_in(BLOCK_FOLDERS / name):
                raise UserError(
                    f"block {name} was measured, and is not there any more",
                    where=str(path),
                    action="restore its folder; or delete this file, and it is measured anew",
                )
            folders.append(BLOCK_FOLDERS / name)
    return folders


def blocks_in_the_end(plan: Plan, folders: Sequence[Path], share: float = 1.0) -> int:
    """How many blocks of each node count there can be, if they go on as those of the last stage.

    Args:
        folders: of the blocks that are measured, at least one.
        share: as much of such a block goes on.
    """
    if plan.minutes is None or not share:
        return plan.looks[-1]
    spent, each = progress.lasted(plan, folders)
    more = (60 * plan.minutes - spent) / (each * share)
    node_counts = len({block.nodes for block in plan.blocks})
    return min(plan.looks[-1], (len(folders) + max(0, int(more))) // node_counts)


def gather_records(folders: Sequence[Path], system: str, records: Path) -> None:
    """Write the RAW and BLOCKS tables of these blocks; raises UserError as the functions below."""
    parts.write(schema.RAW, gather_raw(folders), records / "raw.parquet")
    parts.write(schema.BLOCKS, gather_blocks(folders, system), records / "blocks.parquet")


def gather_blocks(folders: Iterable[Path], system: str) -> Iterator[Row]:
    """Rows of the BLOCKS table, in its order: one for each block folder.

    Args:
        system: name of the system that they must come from.

    Raises:
        UserError: a block is broken, or was measured on another system; its name would
            not tell.
    """
    for folder in sorted(folders, key=lambda folder: folder.name):
        path = folder / BLOCK.file
        text = read_text(path)
        block = BLOCK.parse(text, str(path))
        refuse_another_system(folder, block.sessions, system)
        yield _key(block) | {"record": text}


def gather_raw(folders: Iterable[Path]) -> Iterator[Row]:
    """Rows of the RAW table, in its order: one for each attempt, interrupted ones included.

    Raises:
        UserError: a block is broken.
    """
    for folder in sorted(folders, key=lambda folder: folder.name):
        yield from _attempts(folder, BLOCK.read_in(folder))


def _key(block: BlockRecord) -> Row:
    return {"campaign": block.campaign, "block": block.name, "block_number": block.number}


def _attempts(folder: Path, block: BlockRecord) -> Iterator[Row]:
    made = [
        (path.parent.name, int(path.name.removeprefix("attempt-")), path)
        for path in folder.glob("runs/*/attempt-*")
    ]
    for run, number, attempt in sorted(made):
        yield _key(block) | {
            "run": run,
            "attempt": number,
            "record": _text(attempt / RECORD.file),
            "stdout": _bytes(attempt / "stdout"),
            "stderr": _bytes(attempt / "stderr"),
            "files": json.dumps(_files(attempt / "files"), sort_keys=True),
            "samples": _text(attempt / "samples.jsonl"),
        }


def _files(folder: Path) -> dict[str, str]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: as_text(path.read_bytes()) for path in paths}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
