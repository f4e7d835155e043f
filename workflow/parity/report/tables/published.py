"""Published values beside ours: the nearest statistic of our runs, no test between them.

The published machine is another one, so the two columns answer whether the order
of magnitude is the same and nothing more.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parity.benchmarks import benchmarks
from parity.core.errors import UserError
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import View

COLUMNS = (
    "study", "quantity", "benchmark", "metric", "statistic", "arm", "published", "unit", "place",
)  # fmt: skip
METRICS = tuple(dict.fromkeys(q.metric for known in benchmarks().values() for q in known.metrics))
Row = Mapping[str, str]


@dataclass(frozen=True)
class Ours:
    """A statistic of our runs, and what it rests on in words."""

    value: float
    basis: str


def load(path: Path, study: str) -> list[dict[str, str]]:
    """The published values of a study from config/published/values.csv.

    Raises:
        UserError: the file has other columns, or a row an unknown statistic or metric,
            no number, or an arm where none belongs; with the line.
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
        _check(row, f"{path}: line {number}")
    return [row for row in rows if row["study"] == study]


def _check(row: Row, where: str) -> None:
    for key, known in (("statistic", STATISTICS), ("metric", METRICS)):
        if row[key] not in known:
            raise UserError(f"unknown {key} {row[key]!r}", where=where, allowed=", ".join(known))
    if bool(row["arm"]) != (row["statistic"] in OF_ONE_ARM):
        raise UserError(
            f"{row['statistic']} and arm {row['arm']!r} do not belong together",
            where=where,
            allowed=f"an arm with {', '.join(OF_ONE_ARM)}, none with any other statistic",
        )
    try:
        number = float(row["published"])
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"published is {row['published']!r}, not a number", where=where)


def _spread_of_medians(view: View, row: Row) -> Ours | None:
    """How far the largest median of an arm lies above the smallest, in %."""
    return _spread(_dispersion(view, row), "median", "median")


def _spread_of_runs(view: View, row: Row) -> Ours | None:
    """How far the largest value of any arm lies above the smallest, in %."""
    return _spread(_dispersion(view, row), "minimum", "maximum")


def _dispersion(view: View, row: Row) -> pd.DataFrame:
    found = view.analysis.dispersion
    cases = view.cases(row["benchmark"])
    return found[found["case"].isin(cases) & (found["metric"] == row["metric"])]


def _spread(found: pd.DataFrame, low: str, high: str) -> Ours | None:
    if not len(found):
        return None
    runs = dict.fromkeys((found["runs"].min(), found["runs"].max()))
    basis = f"{len(found)} arms × {' to '.join(map(str, runs))}"
    return Ours(100 * (found[high].max() / found[low].min() - 1), basis)


def _median_of_paired_differences(view: View, row: Row) -> Ours | None:
    """Median over blocks of arm less reference within the block.

    Memory of a node drifts from block to block, so medians of the two arms over
    all blocks would differ by that drift as soon as one run is missing.
    """
    found = view.analysis.pairs
    cases = view.cases(row["benchmark"])
    of_arm = (found["metric"] == row["metric"]) & (found["arm"] == row["arm"])
    found = found[found["case"].isin(cases) & of_arm]
    if not len(found):
        return None
    differences = found["value"] - found["reference_value"]
    return Ours(differences.median(), f"{len(found)} block{'' if len(found) == 1 else 's'}")


STATISTICS: dict[str, Callable[[View, Row], Ours | None]] = {
    "spread-of-medians": _spread_of_medians,
    "spread-of-runs": _spread_of_runs,
    "median-of-paired-differences": _median_of_paired_differences,
}
OF_ONE_ARM = ("median-of-paired-differences",)


def table(view: View, published: list[dict[str, str]]) -> Table:
    """Each published value with ours, or with `not measured`."""
    rows = [
        (
            row["quantity"],
            f"{_as_published(row['published'])} {row['unit']}",
            _ours(view, row),
            row["place"],
        )
        for row in published
    ]
    head = ("quantity", "published", "here", "section")
    empty = "nothing published is entered for this study"
    return Table("published", r"L{3.2cm}lL{2.8cm}l", head, rows, empty, breaks=False)


def _as_published(text: str) -> str:
    """A published number with as many decimals as it was given with."""
    return formatting.number(float(text), len(text.partition(".")[2]))


def _ours(view: View, row: Row) -> str:
    """The statistic with its unit and what it rests on."""
    ours = STATISTICS[row["statistic"]](view, row)
    if ours is None:
        return "not measured"
    return f"{formatting.significant(ours.value, 2)} {row['unit']} ({ours.basis})"
