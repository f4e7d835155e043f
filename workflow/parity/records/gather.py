"""Gathers what blocks left on disk, verbatim, into two tables; nothing is interpreted here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from parity.core.errors import UserError

Row = dict[str, Any]


def gather_blocks(folders: Iterable[Path], system: str) -> list[Row]:
    """Rows of the BLOCKS table: one for each block folder.

    Args:
        system: name of the system that they must come from.

    Raises:
        UserError: a block was measured on another system; its id would not tell.
    """
    rows = []
    for folder in folders:
        text = (folder / "block.json").read_text(encoding="utf-8")
        block = json.loads(text)
        if others := {each["start"]["system"] for each in block["sessions"]} - {system}:
            raise UserError(
                f"the block was measured on {', '.join(sorted(others))}, not on {system}",
                where=str(folder),
                action="use a clone for each system, or move results/ away",
            )
        rows.append(
            {
                "campaign": block["campaign"],
                "block": block["block"],
                "block_number": block["number"],
                "record": text,
            }
        )
    return rows


def gather_raw(folders: Iterable[Path]) -> list[Row]:
    """Rows of the RAW table: one for each attempt of each run, interrupted ones included."""
    rows: list[Row] = []
    for folder in folders:
        block = json.loads((folder / "block.json").read_text(encoding="utf-8"))
        rows.extend(_attempts(folder, block))
    return rows


def _attempts(folder: Path, block: Mapping[str, Any]) -> Iterator[Row]:
    for attempt in folder.glob("runs/*/attempt-*"):
        yield {
            "campaign": block["campaign"],
            "block": block["block"],
            "block_number": block["number"],
            "run": attempt.parent.name,
            "attempt": int(attempt.name.removeprefix("attempt-")),
            "record": _text(attempt / "record.json"),
            "stdout": _bytes(attempt / "stdout"),
            "stderr": _bytes(attempt / "stderr"),
            "files": json.dumps(_files(attempt / "files"), sort_keys=True),
            "samples": _text(attempt / "samples.jsonl"),
        }


def _files(folder: Path) -> dict[str, str]:
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in found}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
