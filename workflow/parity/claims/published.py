"""The published numbers, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parity.core.csv_files import finite, read_rows, row_of
from parity.core.errors import UserError, shown

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
    found: dict[str, dict[str, Published]] = {}
    for index, row in enumerate(read_rows(path, COLUMNS)):
        where, key = row_of(path, index), f"{row['metric']}/{row['runtime']}"
        of_claim = found.setdefault(row["claim"], {})
        if key in of_claim:
            raise UserError(f"{shown(row['claim'], str)} has {shown(key, str)} twice", where=where)
        of_claim[key] = Published(finite(row["value"], "value", where), row["unit"])
    return found
