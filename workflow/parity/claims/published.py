"""What publications say, from config/published: numbers, tables and bars, checked statements."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parity.core.errors import UserError, shown
from parity.core.files import finite, read_rows, row_of

COLUMNS = ("claim", "study", "benchmark", "runtime", "nodes", "metric", "value", "unit", "place")
TABLE_1, FIGURES = "ruiz_table1.csv", "ruiz_figures.csv"


@dataclass(frozen=True)
class Published:
    """A row of config/published/claims.csv: a number with its unit."""

    value: float
    unit: str


@dataclass(frozen=True)
class Defect:
    """A row of config/published/statements.csv: a statement that arithmetic alone can check.

    tests/unit/claims/test_published.py makes it. Nothing is mended, the discussion says it.
    """

    study: str
    place: str
    says: str
    gives: str
    holds: bool  # whether the statement, or the rule that it is held against, comes out
    sentence: str  # both in one sentence, for the paper's discussion


def load_published(path: Path) -> dict[str, dict[str, Published]]:
    """Numbers of config/published/claims.csv by claim and `<metric>/<runtime>`; or UserError."""
    numbers: dict[str, dict[str, Published]] = {}
    for index, row in enumerate(read_rows(path, COLUMNS)):
        where, key = row_of(path, index), f"{row['metric']}/{row['runtime']}"
        of_claim = numbers.setdefault(row["claim"], {})
        if key in of_claim:
            raise UserError(f"{shown(row['claim'], str)} has {shown(key, str)} twice", where=where)
        of_claim[key] = Published(finite(row["value"], "value", where), row["unit"])
    return numbers


def defects(path: Path) -> tuple[Defect, ...]:
    """The statements of config/published/statements.csv, in their order; or UserError."""
    answers = {"yes": True, "no": False}
    statements = []
    for index, row in enumerate(read_rows(path, tuple(Defect.__annotations__))):
        if row["holds"] not in answers:
            problem = f"holds is {shown(row['holds'])}, neither yes nor no"
            raise UserError(problem, where=row_of(path, index))
        study, place, says, gives, holds, sentence = row.values()
        statements.append(Defect(study, place, says, gives, answers[holds], sentence))
    return tuple(statements)


def published_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Table 1 of Ruiz et al. and the bars of their figures, by the names of their files.

    The table has a row per code and columns of value (percent or time_ms), configuration and
    component; the bars, s, a row per figure, code and what the x axis has, and a column per series.
    Raises UserError: a value is missing, no number, or there twice.
    """
    named, numbers = ["configuration", "component"], ["percent", "time_ms"]
    columns = [*named, "benchmark", *numbers]
    given = _values(folder / TABLE_1, columns, [*named, "benchmark"], numbers)
    table = given.pivot(index=["benchmark"], columns=named, values=numbers)
    if table.isna().any(axis=None):
        raise UserError(f"a cell of {TABLE_1} is missing", where=str(folder))
    rows, columns = ["place", "benchmark", "x"], ["place", "figure", "benchmark", "x", "series"]
    bars = _values(folder / FIGURES, [*columns, "seconds"], [*rows, "series"], ["seconds"])
    return {TABLE_1: table, FIGURES: bars.pivot(index=rows, columns="series", values="seconds")}


def _values(path: Path, columns: list[str], named: list[str], values: list[str]) -> pd.DataFrame:
    """The rows of a file whose `values` are numbers, each named once."""
    given = pd.DataFrame(rows := read_rows(path, columns), columns=columns)
    if (twice := given.duplicated(named).to_numpy()).any():
        raise UserError("this value is there twice", where=row_of(path, int(twice.argmax())))
    for name in values:
        given[name] = [finite(row[name], name, row_of(path, i)) for i, row in enumerate(rows)]
    return given
