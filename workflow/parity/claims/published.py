"""The published numbers, each with its unit."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from parity.core.errors import UserError

COLUMNS = (
    "claim", "study", "benchmark", "runtime", "nodes", "metric", "value", "unit", "place",
)  # fmt: skip


@dataclass(frozen=True)
class Published:
    """A row of config/published/claims.csv: a number with its unit."""

    value: float
    unit: str


def load_published(path: Path) -> dict[str, dict[str, Published]]:
    """The numbers of config/published/claims.csv by claim and `<metric>/<runtime>`.

    Raises:
        UserError: other columns, a value that is no number, or a key given twice.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), tuple(reader.fieldnames or ())
    except OSError as error:
        raise UserError(f"the published numbers cannot be read: {error}", where=str(path)) from None
    if columns != COLUMNS:
        raise UserError(
            "the columns are not those of published claims",
            where=str(path),
            allowed=", ".join(COLUMNS),
        )
    found: dict[str, dict[str, Published]] = {}
    for line, row in enumerate(rows, start=2):
        where, key = f"{path}: line {line}", f"{row['metric']}/{row['runtime']}"
        of_claim = found.setdefault(row["claim"], {})
        if key in of_claim:
            raise UserError(f"{row['claim']} has {key} twice", where=where)
        of_claim[key] = Published(_number(row["value"], where), row["unit"])
    return found


def _number(text: str | None, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"value is {text!r}, not a number", where=where)
    return value
