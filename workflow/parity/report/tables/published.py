"""Published values beside ours: the nearest statistic of our runs, no test between them.

The published machine is another one, so the two columns answer whether the order
of magnitude is the same and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import pandas as pd

from parity.benchmarks import benchmarks
from parity.core import wording
from parity.core.errors import UserError, shown
from parity.core.files import finite, read_rows, row_of
from parity.core.wording import counted, span
from parity.report.tables.table import Table
from parity.report.view import View

METRICS = tuple(dict.fromkeys(q.metric for known in benchmarks().values() for q in known.metrics))


@dataclass(frozen=True)
class PublishedValue:
    """A row of config/published/values.csv: its columns in their order, as they are written.

    Attributes:
        statistic: which statistic of our runs comes nearest, a key of `STATISTICS`.
        arm: empty where the statistic is not of one arm.
        published: the number, with as many decimals as it was given with.
        place: where it stands in the paper.
    """

    study: str
    quantity: str
    benchmark: str
    metric: str
    statistic: str
    arm: str
    published: str
    unit: str
    place: str


COLUMNS = tuple(field.name for field in fields(PublishedValue))


# A statistic of our runs, and what it rests on in words; None without any.
Ours = tuple[float, str] | None


def load(path: Path, study: str) -> list[PublishedValue]:
    """The published values of a study from config/published/values.csv.

    Raises:
        UserError: the file has other columns, or a row an unknown statistic or metric,
            no number, or an arm where none belongs; with the line.
    """
    values = [PublishedValue(**row) for row in read_rows(path, COLUMNS)]
    for index, value in enumerate(values):
        _check(value, row_of(path, index))
    return [value for value in values if value.study == study]


def _check(row: PublishedValue, where: str) -> None:
    for key, said, known in (
        ("statistic", row.statistic, tuple(STATISTICS)),
        ("metric", row.metric, METRICS),
    ):
        if said not in known:
            raise UserError(f"unknown {key} {shown(said)}", where=where, allowed=", ".join(known))
    if bool(row.arm) != (row.statistic in OF_ONE_ARM):
        raise UserError(
            f"{row.statistic} and arm {shown(row.arm)} do not belong together",
            where=where,
            allowed=f"an arm with {', '.join(OF_ONE_ARM)}, none with any other statistic",
        )
    finite(row.published, "published", where)


def _spread(low: str, high: str, view: View, row: PublishedValue) -> Ours:
    """How far the largest `high` of an arm lies above the smallest `low`, in %."""
    arms = _of_benchmark(view, view.analysis.dispersion, row)
    if not len(arms):
        return None
    basis = f"{len(arms)} arms × {span(list(arms['runs']))}"
    return 100 * (arms[high].max() / arms[low].min() - 1), basis


def _paired_difference(view: View, row: PublishedValue) -> Ours:
    """The estimate of arm less reference within a block, which figures and claims have too."""
    compared = (view.comparisons(case, row.metric) for case in view.cases(row.benchmark))
    found = [of_case[row.arm] for of_case in compared if row.arm in of_case]
    if not found or not found[0].blocks:
        return None
    return found[0].estimate, counted(found[0].blocks, "block")


def _of_benchmark(view: View, table: pd.DataFrame, row: PublishedValue) -> pd.DataFrame:
    """The rows of a table of the analysis that are of this benchmark and metric."""
    cases = view.cases(row.benchmark)
    return table[table["case"].isin(cases) & (table["metric"] == row.metric)]


STATISTICS: dict[str, Callable[[View, PublishedValue], Ours]] = {
    "spread-of-medians": partial(_spread, "median", "median"),
    "spread-of-runs": partial(_spread, "minimum", "maximum"),
    "paired-difference": _paired_difference,
}
OF_ONE_ARM = ("paired-difference",)


def table(view: View, values: Sequence[PublishedValue]) -> Table:
    """Each published value with ours, or with `not measured`."""
    rows = [
        (row.quantity, f"{_as_published(row.published)} {row.unit}", _ours(view, row), row.place)
        for row in values
    ]
    return Table("published", rows)


def _as_published(text: str) -> str:
    """A published number with as many decimals as it was given with."""
    return wording.number(float(text), len(text.partition(".")[2]))


def _ours(view: View, row: PublishedValue) -> str:
    """The statistic with its unit and what it rests on."""
    ours = STATISTICS[row.statistic](view, row)
    if ours is None:
        return "not measured"
    return f"{wording.significant(ours[0], 2)} {row.unit} ({ours[1]})"
