"""The tables of the verdicts, in the same form as those of the analysis."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parity.analysis import tables
from parity.analysis.dataset import refuse_broken
from parity.records import schema

TABLES = schema.tables_beside(__file__)
VERDICTS = TABLES["verdicts"]
EVIDENCE = TABLES["evidence"]


def write(table: schema.TableSchema, data: pd.DataFrame, dataset: Path) -> None:
    """Write a table of the verdicts into a dataset's folder."""
    tables.write(table, data, _path(table, dataset))


def read(table: schema.TableSchema, dataset: Path) -> pd.DataFrame:
    """A table of the verdicts from a dataset's folder; an archived dataset is checked first.

    Raises:
        UserError: the archive was changed.
    """
    refuse_broken(dataset)
    data: pd.DataFrame = schema.read(table, _path(table, dataset)).to_pandas()
    return data


def _path(table: schema.TableSchema, dataset: Path) -> Path:
    return dataset / "claims" / f"{table.name}.parquet"
