"""The data dictionary, docs/data-dictionary.md, from the schemas; `make docs` writes it."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from parity.records.schema import SCHEMA_VERSION, TableSchema

HEAD = """# Data dictionary

Generated from the schemas in `workflow/parity/records` and `workflow/parity/analysis`, version
{version}; do not edit. The tables up to `images` are in a dataset's `records/`, the others in
its `analysis/`. The same sentences are in the metadata of every Parquet file. A column that
is not marked as nullable always holds a value.
"""


def render(tables: Iterable[TableSchema]) -> str:
    """The dictionary of these tables as Markdown."""
    return "\n".join([HEAD.format(version=SCHEMA_VERSION), *map(_table, tables)])


def _table(table: TableSchema) -> str:
    lines = [f"## {table.name}", "", table.doc, "", f"Sorted by: {', '.join(table.order)}.", ""]
    lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *map(_column, table.columns), ""])


def _column(column: pa.Field) -> str:
    metadata = {key.decode(): value.decode() for key, value in (column.metadata or {}).items()}
    kind = f"{column.type}, nullable" if column.nullable else str(column.type)
    return f"| {column.name} | {kind} | {metadata.get('unit', '')} | {metadata['doc']} |"
