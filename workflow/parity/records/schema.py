"""The one registry of tables: Arrow types, units and a sentence for each column.

The tables are data: each package that has some lists them in a `tables.yaml`, which
docs/data-dictionary.md is generated from. A row with an unknown or a missing key is refused, as
Arrow would drop the one and fill the other with null. The same rows give the same bytes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from parity.core.documents import RESTORE, Document
from parity.core.errors import UserError

SCHEMA_VERSION = "1"
FORM: dict[str, Any] = {"compression": "zstd", "store_schema": True}  # of every file


@dataclass(frozen=True)
class TableSchema:
    """A table: its columns and the columns it is sorted by."""

    name: str
    doc: str
    order: tuple[str, ...]
    columns: tuple[pa.Field, ...]

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, with the table's own sentence and the schema's version."""
        about = {"table": self.name, "doc": self.doc, "schema_version": SCHEMA_VERSION}
        return pa.schema(self.columns, metadata=about)


class _Column(Document, frozen=True):
    """A column as `tables.yaml` has it: Arrow's name of its type, what it holds, its unit."""

    type: str | tuple[dict[str, str]]
    doc: str
    unit: str = ""
    nullable: bool = False

    def field(self, name: str) -> pa.Field:
        metadata = {"doc": self.doc} | ({"unit": self.unit} if self.unit else {})
        if isinstance(self.type, str):
            kind = pa.type_for_alias(self.type)
        else:
            members = [(key, pa.type_for_alias(each)) for key, each in self.type[0].items()]
            kind = pa.list_(pa.struct(members))
        return pa.field(name, kind, nullable=self.nullable, metadata=metadata)


class _Table(Document, frozen=True):
    doc: str
    order: tuple[str, ...]
    columns: dict[str, _Column]


class _File(Document, frozen=True):
    common: dict[str, _Column]
    tables: dict[str, _Table]


def tables_beside(module: str) -> dict[str, TableSchema]:
    """The tables of the file `tables.yaml` beside a module, by name and in the file's order."""
    text = Path(module).with_name("tables.yaml").read_bytes()
    tables = {}
    for name, table in msgspec.yaml.decode(text, type=_File).tables.items():
        columns = tuple(column.field(key) for key, column in table.columns.items())
        tables[name] = TableSchema(name, table.doc, table.order, columns)
    return tables


TABLES = tables_beside(__file__)
# A file of each run, made from the raw table when it is wanted; no part of a dataset.
EVENTS = TABLES.pop("events")
RAW, BLOCKS, RUNS = TABLES["raw"], TABLES["blocks"], TABLES["runs"]
METRICS, NODES, IMAGES = TABLES["metrics"], TABLES["nodes"], TABLES["images"]


def to_table(schema: TableSchema, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as a sorted Arrow table; ValueError: a row has an unknown, a missing or a null key."""
    rows = list(rows)
    names, required = {*schema.arrow.names}, [c.name for c in schema.columns if not c.nullable]
    if all(row.keys() == names for row in rows):
        table = pa.Table.from_pylist(rows, schema=schema.arrow)
        if not any(table[name].null_count for name in required):
            return table.sort_by([(key, "ascending") for key in schema.order])
    wrong = (
        {key for key in required if row.get(key, "") is None} | (names ^ row.keys()) for row in rows
    )
    number, keys = next((number, keys) for number, keys in enumerate(wrong) if keys)
    raise ValueError(f"table {schema.name}, row {number}: unknown, missing or null: {sorted(keys)}")


def write(schema: TableSchema, rows: Iterable[Mapping[str, Any]], path: Path | str) -> None:
    """Write rows as Parquet; the same rows give the same bytes."""
    pq.write_table(to_table(schema, rows), path, **FORM)


def read(
    schema: TableSchema, path: Path | str, columns: Collection[str] | None = None,
    repeated: Collection[str] = (),
) -> pa.Table:  # fmt: skip
    """Read a table, or these columns of those that it has; raises as `refuse_another`.

    `repeated`: columns that become dictionaries, as few of their texts differ.
    """
    refuse_another(schema, pq.read_schema(path), path)
    names = [each.name for each in schema.columns if columns is None or each.name in columns]
    return pq.read_table(path, columns=names, read_dictionary=list(repeated))


def refuse_another(schema: TableSchema, found: pa.Schema, path: Path | str) -> None:
    """Refuse a file of another schema version or other columns, with a ValueError that says so."""
    version = (found.metadata or {}).get(b"schema_version", b"none").decode()
    there = f"{path}: columns of table {schema.name} version {version}"
    if version != SCHEMA_VERSION:
        raise ValueError(f"{there}; this program reads version {SCHEMA_VERSION}")
    if not found.equals(schema.arrow):
        columns = [{(field.name, field.type) for field in each} for each in (found, schema.arrow)]
        others = sorted({name for name, _ in columns[0] ^ columns[1]})
        raise ValueError(f"{there} differ in {', '.join(others) or 'their order'}")


# As much as is written at once. Archived tables have fewer rows, and so a single part. Of what was
# gathered less, as a part is read whole.
MOST_ROWS, MOST_BYTES, MOST_GATHERED = 100_000, 64 * 2**20, 8 * 2**20
ROWS_AT_ONCE = 32  # that are read: one may hold what thousands of ranks wrote


class Writer:
    """Writes a table as it comes: tables whose rows follow those before them in its order."""

    def __init__(self, table: TableSchema, path: Path) -> None:
        self._schema, self._waiting, self._begun = table.arrow, list[pa.Table](), False
        self._rows = self._bytes = 0
        self._file = pq.ParquetWriter(path, self._schema, **FORM)

    def add(self, rows: pa.Table) -> None:
        """Write these rows, or keep them until there are enough for a part."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= MOST_ROWS or self._bytes >= MOST_BYTES:
            self.end_part()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.end_part()
        self._file.close()

    def end_part(self) -> None:
        """Write what was kept."""
        # A file without any part would lack the pages of a table without rows.
        if self._begun and not self._waiting:
            return
        whole = pa.concat_tables([self._schema.empty_table(), *self._waiting])
        self._file.write_table(whole.combine_chunks())
        self._waiting, self._begun = [], True
        self._rows = self._bytes = 0


def write_rows(table: TableSchema, rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows that come in the table's order, few at a time in memory."""
    with Writer(table, path) as file:
        waiting, size = list[Mapping[str, Any]](), 0
        for row in rows:
            waiting.append(row)
            size += sum(len(value) for value in row.values() if isinstance(value, (str, bytes)))
            if size >= MOST_GATHERED or len(waiting) >= MOST_ROWS:
                file.add(to_table(table, waiting))
                file.end_part()
                waiting, size = [], 0
        file.add(to_table(table, waiting))


def read_rows(table: TableSchema, path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table, few at a time in memory; raises UserError: it cannot be read."""
    with _readable(path), pq.ParquetFile(path) as file:
        refuse_another(table, file.schema_arrow, path)
        for part in range(file.num_row_groups):
            for rows in file.iter_batches(ROWS_AT_ONCE, [part]):
                yield from rows.to_pylist()


def rows_in(path: Path) -> int:
    """How many rows a table has; raises UserError: it cannot be read."""
    with _readable(path):
        return int(pq.read_metadata(path).num_rows)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        what = f"the table cannot be read: {error}".partition("\n")[0]
        raise UserError(what, where=str(path), action=RESTORE) from error
