"""Published values beside ours: the same descriptive statistic of both, no test between them.

The published machine is another one, so the two columns answer whether the order
of magnitude is the same and nothing more.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from parity.errors import UserError
from parity.present import words
from parity.present.tables import Table
from parity.present.view import View

COLUMNS = (
    "study", "quantity", "benchmark", "metric", "statistic", "arm", "published", "unit", "place",
)  # fmt: skip


def load(path: Path, study: str) -> list[dict[str, str]]:
    """The published values of a study from config/published/values.csv.

    Raises:
        UserError: the file has other columns or an unknown statistic.
    """
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise UserError(
                "the columns are not those of published values",
                where=str(path),
                allowed=", ".join(COLUMNS),
            )
        rows = list(reader)
    for number, row in enumerate(rows, start=2):
        if row["statistic"] not in STATISTICS:
            raise UserError(
                f"unknown statistic {row['statistic']!r}",
                where=f"{path}: line {number}",
                allowed=", ".join(STATISTICS),
            )
    return [row for row in rows if row["study"] == study]


def _spread_of_medians(found: pd.DataFrame, _arm: str, _reference: str) -> float:
    return 100 * (found["median"].max() / found["median"].min() - 1)


def _spread_of_runs(found: pd.DataFrame, _arm: str, _reference: str) -> float:
    return 100 * (found["maximum"].max() / found["minimum"].min() - 1)


def _median_added(found: pd.DataFrame, arm: str, reference: str) -> float | None:
    medians = found.set_index("arm")["median"]
    return medians[arm] - medians[reference] if {arm, reference} <= set(medians.index) else None


STATISTICS: dict[str, Callable[[pd.DataFrame, str, str], float | None]] = {
    "spread-of-medians": _spread_of_medians,
    "spread-of-runs": _spread_of_runs,
    "median-added": _median_added,
}


def table(view: View, published: list[dict[str, str]]) -> Table:
    """Each published value with ours, or with `not measured`."""
    rows = [
        (
            row["quantity"],
            f"{words.number(float(row['published']), _decimals(row['published']))} {row['unit']}",
            _ours(view, row),
            row["place"],
        )
        for row in published
    ]
    head = ("quantity", "published", "here", "place")
    empty = "nothing published is entered for this study"
    return Table("published", r"L{3.1cm}lll", head, rows, empty, breaks=False)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _ours(view: View, row: dict[str, str]) -> str:
    """The statistic over the cases of the benchmark that this dataset holds."""
    found = view.analysis.dispersion
    cases = view.cases(row["benchmark"])
    found = found[found["case"].isin(cases) & (found["metric"] == row["metric"])]
    if not len(found):
        return "not measured"
    value = STATISTICS[row["statistic"]](found, row["arm"], view.plan["reference"])
    return "not measured" if value is None else f"{words.significant(value, 2)} {row['unit']}"
