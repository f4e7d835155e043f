"""Gathers what blocks left on disk, verbatim, into two tables; nothing is interpreted here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from parity.core.documents import read_text
from parity.measure.block_folder import BLOCK, RECORD, refuse_another_system
from parity.measure.documents import BlockRecord

Row = dict[str, Any]


def gather_blocks(folders: Iterable[Path], system: str) -> list[Row]:
    """Rows of the BLOCKS table: one for each block folder.

    Args:
        system: name of the system that they must come from.

    Raises:
        UserError: a block is broken, or was measured on another system; its name would
            not tell.
    """
    rows = []
    for folder in folders:
        path = folder / BLOCK.file
        text = read_text(path)
        block = BLOCK.parse(text, str(path))
        refuse_another_system(folder, block.sessions, system)
        rows.append(_key(block) | {"record": text})
    return rows


def gather_raw(folders: Iterable[Path]) -> list[Row]:
    """Rows of the RAW table: one for each attempt of each run, interrupted ones included.

    Raises:
        UserError: a block is broken.
    """
    return [row for folder in folders for row in _attempts(folder, BLOCK.read_in(folder))]


def _key(block: BlockRecord) -> Row:
    return {"campaign": block.campaign, "block": block.name, "block_number": block.number}


def _attempts(folder: Path, block: BlockRecord) -> Iterator[Row]:
    for attempt in folder.glob("runs/*/attempt-*"):
        yield _key(block) | {
            "run": attempt.parent.name,
            "attempt": int(attempt.name.removeprefix("attempt-")),
            "record": _text(attempt / RECORD.file),
            "stdout": _bytes(attempt / "stdout"),
            "stderr": _bytes(attempt / "stderr"),
            "files": json.dumps(_files(attempt / "files"), sort_keys=True),
            "samples": _text(attempt / "samples.jsonl"),
        }


def _files(folder: Path) -> dict[str, str]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in paths}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
