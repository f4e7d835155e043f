"""Published values beside the nearest statistic of our runs; no test, as machines differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parity.analysis.descriptive import dispersion
from parity.benchmarks import benchmarks
from parity.core import wording
from parity.core.errors import UserError, shown
from parity.core.files import finite, read_rows, row_of
from parity.report.tables.table import Table
from parity.report.view import View

METRICS = tuple(dict.fromkeys(q.metric for known in benchmarks().values() for q in known.metrics))
# Columns of our runs whose largest is held against the smallest; of one arm none.
STATISTICS = {"spread-of-medians": ("median", "median"), "spread-of-runs": ("minimum", "maximum"),
              "paired-difference": ()}  # fmt: skip


class PublishedValue(NamedTuple):
    """A row of config/published/values.csv: its columns in their order, as they are written."""

    study: str
    quantity: str
    benchmark: str
    metric: str
    statistic: str  # which of our runs comes nearest, a key of `STATISTICS`
    arm: str  # empty where the statistic is not of one arm
    published: str
    unit: str
    place: str


COLUMNS = PublishedValue._fields


def load(path: Path, study: str) -> list[PublishedValue]:
    """The published values of a study from config/published/values.csv.

    Raises UserError: other columns, an unknown statistic or metric, no number, or an arm where none
    belongs; with the line.
    """
    values = [PublishedValue(**row) for row in read_rows(path, COLUMNS)]
    seen = set[PublishedValue]()
    of_one_arm = ", ".join(name for name, of_all in STATISTICS.items() if not of_all)
    for index, row in enumerate(values):
        where = row_of(path, index)
        for key, said, known in (("statistic", row.statistic, tuple(STATISTICS)),
                                 ("metric", row.metric, METRICS)):  # fmt: skip
            if said not in known:
                problem = f"unknown {key} {shown(said)}"
                raise UserError(problem, where=where, allowed=", ".join(known))
        if bool(row.arm) == bool(STATISTICS[row.statistic]):
            problem = f"{row.statistic} and arm {shown(row.arm)} do not belong together"
            allowed = f"an arm with {of_one_arm}, none with any other statistic"
            raise UserError(problem, where=where, allowed=allowed)
        finite(row.published, "published", where)
        same = row._replace(published="", unit="", place="")
        if same in seen:
            raise UserError(f"{row.quantity} is there twice", where=where)
        seen.add(same)
    return [value for value in values if value.study == study]


def table(view: View, values: Sequence[PublishedValue]) -> Table:
    """Each published value with ours, its unit and what it rests on, or with `not measured`."""
    rows = []
    for row in values:
        # With as many decimals as it was given with.
        published = wording.number(float(row.published), len(row.published.partition(".")[2]))
        rows.append((row.quantity, f"{published} {row.unit}", _ours(view, row), row.place))
    return Table("published", rows)


def _ours(view: View, row: PublishedValue) -> str:
    """How far the largest of an arm lies above the smallest, in %, or arm less reference."""
    cases = view.cases(row.benchmark)
    if of_all := STATISTICS[row.statistic]:
        values = view.analysis.values
        is_asked = values["case"].isin(cases) & (values["arm"] != view.plan.positive_arm)
        values = values[is_asked & (values["metric"] == row.metric)]
        # Of blocks that hold every arm: a look may have stopped some.
        held = values.groupby(["case", "block"])["arm"].transform("nunique")
        arms = dispersion(values[held == values.groupby("case")["arm"].transform("nunique")])
        if not len(arms):
            return "not measured"
        value = 100 * (arms[of_all[1]].max() / arms[of_all[0]].min() - 1)
        basis = f"{len(arms)} arms × {wording.span(list(arms['runs']))}"
    else:
        # The estimate within blocks, which figures and claims have, too.
        compared = [view.comparisons(case, row.metric).get(row.arm) for case in cases]
        first = next(filter(None, compared), None)
        if first is None or not first.blocks:
            return "not measured"
        value, basis = first.estimate, wording.counted(first.blocks, "block")
    return f"{wording.significant(value, 2)} {row.unit} ({basis})"
