"""Tables that need not fit into memory: files that are written and read part by part.

A part is a row group of the file. Columns of text hold 2 GiB at most (Arrow's `string`), which
is never reached in a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parity.records import schema
from parity.records.schema import TableSchema

# As much as is written at once. Archived tables have fewer rows, and so a single part.
MOST_ROWS, MOST_BYTES = 100_000, 64 * 2**20
# As many are read at once: one may hold what thousands of ranks wrote.
ROWS_AT_ONCE = 32

Row = Mapping[str, Any]


class Writer:
    """Writes a table as it comes: tables whose rows follow those before them in its order.

    The same tables give the same bytes.
    """

    def __init__(self, table: TableSchema, path: Path) -> None:
        self._schema, self._waiting, self._begun = table.arrow, list[pa.Table](), False
        self._rows = self._bytes = 0
        self._file = pq.ParquetWriter(path, self._schema, **schema.FORM)

    def add(self, rows: pa.Table) -> None:
        """Write these rows, or keep them until there are enough for a part."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= MOST_ROWS or self._bytes >= MOST_BYTES:
            self._write()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A file without any part would lack the pages of a table without rows.
        if kind is None and (self._waiting or not self._begun):
            self._write()
        self._file.close()

    def _write(self) -> None:
        whole = pa.concat_tables([self._schema.empty_table(), *self._waiting])
        self._file.write_table(whole.combine_chunks())
        self._waiting, self._begun = [], True
        self._rows = self._bytes = 0


def write(table: TableSchema, rows: Iterable[Row], path: Path) -> None:
    """Write rows that come in the table's order, few at a time in memory."""
    with Writer(table, path) as file:
        waiting, size = list[Row](), 0
        for row in rows:
            waiting.append(row)
            size += sum(len(value) for value in row.values() if isinstance(value, (str, bytes)))
            if size >= MOST_BYTES or len(waiting) >= MOST_ROWS:
                file.add(schema.to_table(table, waiting))
                waiting, size = [], 0
        file.add(schema.to_table(table, waiting))


def read(table: TableSchema, path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table, few at a time in memory.

    Raises:
        ValueError: as of `schema.read`.
    """
    with pq.ParquetFile(path) as file:
        schema.refuse_another(table, file.schema_arrow, path)
        for part in range(file.num_row_groups):
            for rows in file.iter_batches(ROWS_AT_ONCE, [part]):
                yield from rows.to_pylist()
