"""Statements of the five papers that arithmetic alone can check, without a measurement.

They stand in `statements.yaml`, their arithmetic in `arithmetic`, and every number comes from
claims.csv, ruiz_table1.csv and ruiz_figures.csv of config/published; a limit from elsewhere
stands beside its source. Nothing is mended: what does not come out is said in the paper's
discussion.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from parity.claims.arithmetic import CHECKS
from parity.claims.published import load_published
from parity.core.csv_files import finite, read_rows, row_of
from parity.core.documents import Document
from parity.core.errors import UserError

TABLE_1, FIGURES = "ruiz_table1.csv", "ruiz_figures.csv"


@dataclass(frozen=True)
class Defect:
    """One checked statement.

    Attributes:
        study: key of the study in config/claims.yaml.
        place: where the statement stands in the paper.
        says: what the paper says, in short.
        gives: what arithmetic gives, in short.
        holds: whether the statement, or the rule that it is held against, comes out.
        sentence: both in one sentence, for the paper's discussion.
    """

    study: str
    place: str
    says: str
    gives: str
    holds: bool
    sentence: str


class _Statement(Document, frozen=True):
    """An entry of statements.yaml."""

    check: str
    study: str
    place: str
    numbers: dict[str, str | float | list[str]]
    says: str
    gives: str
    sentence: str


def defects(folder: Path) -> tuple[Defect, ...]:
    """Every statement that arithmetic can check, in the order of the studies.

    Args:
        folder: config/published.

    Raises:
        UserError: a number that a check needs is not there, or is no number.
    """
    text = Path(__file__).with_name("statements.yaml").read_bytes()
    known = published_tables(folder) | {
        f"{claim} {key}": number.value
        for claim, of_claim in load_published(folder / "claims.csv").items()
        for key, number in of_claim.items()
    }
    try:
        return tuple(
            _checked(statement, known)
            for statement in msgspec.yaml.decode(text, type=list[_Statement])
        )
    except KeyError as error:
        raise UserError(f"no published number {error}", where=str(folder)) from error


def published_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Table 1 of Ruiz et al. and the bars of their figures, in the forms of `arithmetic`.

    Raises:
        UserError: a value is missing, no number, or there twice.
    """
    return {TABLE_1: _table_1(folder / TABLE_1), FIGURES: _figures(folder / FIGURES)}


def _checked(statement: _Statement, known: dict[str, Any]) -> Defect:
    numbers = {name: _looked_up(of, known) for name, of in statement.numbers.items()}
    holds, derived = CHECKS[statement.check](**numbers)
    says, gives, sentence = (
        text.format(**numbers, **derived)
        for text in (statement.says, statement.gives, statement.sentence)
    )
    return Defect(statement.study, statement.place, says, gives, holds, sentence)


def _looked_up(of: str | float | list[str], known: dict[str, Any]) -> Any:
    """What `statements.yaml` calls so.

    Raises:
        KeyError: there is no such number.
    """
    if isinstance(of, list):
        return [known[name] for name in of]
    if not isinstance(of, str):
        return of
    if not of.endswith("/*"):
        return known[of]
    of_metric = [value for name, value in known.items() if name.startswith(of.removesuffix("*"))]
    if not of_metric:
        raise KeyError(of)
    return of_metric


def _table_1(path: Path) -> pd.DataFrame:
    """Table 1 of Ruiz et al.: a row per code; columns value, configuration and component."""
    named, values = ["configuration", "component"], ["percent", "time_ms"]
    given = _values(path, [*named, "benchmark", *values], [*named, "benchmark"], values)
    table = given.pivot(index=["benchmark"], columns=named, values=values)
    if table.isna().any(axis=None):
        raise UserError(f"a cell of {path.name} is missing", where=str(path.parent))
    return table


def _figures(path: Path) -> pd.DataFrame:
    """The bars of Ruiz et al., s: a row per figure, code and x; columns are series."""
    rows = ["place", "benchmark", "x"]
    columns = ["place", "figure", "benchmark", "x", "series", "seconds"]
    given = _values(path, columns, [*rows, "series"], ["seconds"])
    return given.pivot(index=rows, columns="series", values="seconds")


def _values(path: Path, columns: list[str], named: list[str], values: list[str]) -> pd.DataFrame:
    """Published values of a file, each named once.

    Raises:
        UserError: there is no such CSV file, a value is no number, or one is there twice.
    """
    rows = read_rows(path, columns)
    given = pd.DataFrame(rows, columns=columns)
    twice = given.duplicated(named).to_numpy()
    if twice.any():
        raise UserError("this value is there twice", where=row_of(path, int(twice.argmax())))
    for name in values:
        numbers = [finite(row[name], name, row_of(path, i)) for i, row in enumerate(rows)]
        given[name] = numbers
    return given
