"""One published number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
