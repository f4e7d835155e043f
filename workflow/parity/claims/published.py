"""The published numbers, each with its unit."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
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

    @classmethod
    def of(cls, row: Mapping[str, str], where: str) -> Published:
        """The number of a row.

        Raises:
            UserError: it is no finite number.
        """
        try:
            value = float(row["value"])
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise UserError(f"value is {row['value']!r}, not a number", where=where)
        return cls(value, row["unit"])


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
        of_claim[key] = Published.of(row, where)
    return found
