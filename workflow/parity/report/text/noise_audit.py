"""What the harness itself costs, as the audit of a system found it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.core.errors import UserError
from parity.plan.system_kind import kind_of
from parity.report.text import formatting

FILE = "harness.json"
KEYS = ("program", "pairs", "ratio", "low95", "high95", "system", "scale_label", "measured")
Audit = Mapping[str, Any]


def load(folder: Path) -> Audit | None:
    """The audit beside a dataset's plan; None if there is none.

    Raises:
        UserError: the file is not JSON, or lacks a key.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"not JSON: {error}", where=str(path)) from error
    if missing := [key for key in KEYS if key not in found]:
        raise UserError(f"missing: {', '.join(missing)}", where=str(path), allowed=", ".join(KEYS))
    return found


def sentence(audit: Audit | None) -> str:
    """The ratio of a block job's time to a bare script's, with all that it rests on."""
    if audit is None:
        return "not measured on this system"
    ratio, low, high = (formatting.number(audit[key]) for key in ("ratio", "low95", "high95"))
    label = audit["scale_label"]
    note = kind_of([label]).note.removesuffix(".")
    return (
        f"{ratio} [{low}, {high}] for {audit['program']} over {audit['pairs']} pairs, measured "
        f"{audit['measured'][:10]} on {audit['system']} ({label})"
        + (f"; {note[0].lower()}{note[1:]}" if note else "")
    )
