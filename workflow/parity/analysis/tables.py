"""The tables that the analysis makes, in the same form as the tables of the records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from parity.core.package import extensions_with
from parity.records import schema

TABLES = schema.tables_beside(__file__)
# What `snakemake compare` makes of two datasets; it is no part of the analysis of one.
AGREEMENT = TABLES.pop("agreement")
# What the other methods say: it is shown, and decides nothing.
SENSITIVITY = TABLES.pop("sensitivity")
VALUES, PAIRS, CONCLUSIONS = TABLES["values"], TABLES["pairs"], TABLES["conclusions"]
TIMEOUTS, DISPERSION = TABLES["timeouts"], TABLES["dispersion"]
LEDGER, LOSSES, EXCLUSIONS = TABLES["ledger"], TABLES["losses"], TABLES["exclusions"]
# What the analysis asks of runs and their numbers, of millions of which all else is most of the
# memory: texts of which few differ, each of them kept once, and other columns.
_REPEATED = (
    "block", "run", "benchmark", "case", "arm", "command", "binary_sha256", "closure_sha256",
    "metric", "unit", "better",
)  # fmt: skip
_ANALYSED = (
    *_REPEATED, "attempt", "final", "stage", "reason", "detail", "started", "wall_seconds",
    "value", "valid",
)  # fmt: skip


def of_records(table: schema.TableSchema, records: Path, analysed: bool) -> pd.DataFrame:
    """A table of the records in a folder, or what the analysis asks of it.

    Categories are sorted as texts, as objects that rows share. Raises ValueError: as `schema.read`.
    """
    columns = (_ANALYSED, _REPEATED) if analysed else ()
    data: pd.DataFrame = schema.read(table, records / f"{table.name}.parquet", *columns).to_pandas()
    for name in data.select_dtypes("category").columns:
        texts = pd.Index(sorted(data[name].cat.categories), dtype=object)
        data[name] = data[name].cat.set_categories(texts)
    return data


def frame(table: schema.TableSchema, made: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a data frame with the table's columns and types, also when there are none."""
    data: pd.DataFrame = schema.to_table(table, made).to_pandas()
    return data


def rows(data: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a data frame, each by column."""
    return [{str(name): value for name, value in row.items()} for row in data.to_dict("records")]


def tuples(data: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The rows of some columns, without index."""
    return iter(data[list(columns)].itertuples(index=False, name=None))


def read_all(schemas: Mapping[str, schema.TableSchema], folder: Path) -> dict[str, pd.DataFrame]:
    """The tables in a folder by name, as `write` wrote them to `<folder>/<table>.parquet`."""
    files = {name: (table, folder / f"{name}.parquet") for name, table in schemas.items()}
    return {name: schema.read(*file).to_pandas() for name, file in files.items()}


def write(table: schema.TableSchema, data: pd.DataFrame, path: Path) -> None:
    """Write a data frame as Parquet; what is not a number becomes null where that is allowed.

    `data`: in the table's order, as `frame` makes it. Raises ValueError: it has other columns than
    the table, or null where that is not allowed.
    """
    names = [column.name for column in table.columns]
    if wrong := sorted(set(names).symmetric_difference(data.columns)):
        raise ValueError(f"table {table.name}: unknown or missing columns: {wrong}")
    with schema.Writer(table, path) as file:
        for start in range(0, len(data), schema.MOST_ROWS):
            some = data[names].iloc[start : start + schema.MOST_ROWS]
            made = pa.Table.from_pandas(some, schema=table.arrow, preserve_index=False)
            file.add(made.replace_schema_metadata(table.arrow.metadata))


class Added(NamedTuple):
    """Tables that an extension adds to a dataset's `analysis/`, as `ADDED` in one of its modules.

    Those of its room `analysis` are made with the analysis, have the columns of `VALUES`, and are
    what its claims compare; those of its room `report` are made when figures are drawn. `made`:
    makes the tables by the folder of a dataset and that of its events.
    """

    schemas: Mapping[str, schema.TableSchema]  # by name, from the file `tables.yaml` in that room
    made: Callable[[Path, Path], Mapping[str, pd.DataFrame]]


def write_added(package: ModuleType, dataset: Path, events: Path) -> None:
    """Write what extensions add to a package: `parity.analysis` or `parity.report`."""
    for added in extensions_with(package, "ADDED"):
        for name, data in added.made(dataset, events).items():
            write(added.schemas[name], data, dataset / f"analysis/{name}.parquet")
