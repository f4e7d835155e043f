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


def write(table: schema.TableSchema, data: pd.DataFrame, folder: Path) -> None:
    """Write a table of the verdicts into a folder."""
    tables.write(table, data, folder / f"{table.name}.parquet")


def read(table: schema.TableSchema, folder: Path) -> pd.DataFrame:
    """A table of the verdicts from a folder."""
    data: pd.DataFrame = schema.read(table, folder / f"{table.name}.parquet").to_pandas()
    return data


def refuse_changed(verdicts: pd.DataFrame, results: Path) -> None:
    """Check the archived datasets that verdicts rest on.

    Args:
        results: the folder of all datasets.

    Raises:
        UserError: an archive was changed.
    """
    for name in sorted(set("; ".join(verdicts["datasets"]).split("; ")) - {""}):
        refuse_broken(results / name)
