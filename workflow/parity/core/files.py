"""JSON files that are whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document atomically: readers see the old file or the whole new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(document, file, sort_keys=True, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON document that `write_json` wrote."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def files_below(folder: Path) -> list[Path]:
    """All files of a folder, sorted; what Python leaves beside its sources does not count."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
