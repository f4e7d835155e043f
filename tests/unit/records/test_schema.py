"""Tables: every column described, wrong rows refused, the same rows the same bytes."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from parity.records import schema

ROW = {"campaign": "a-b", "block": "a-b-b0001-0", "block_number": 1, "record": "{}"}
SAMPLES = {"double": 1.5, "int64": 3, "bool": True, "string": "x", "binary": b"x"}


def _row(table: schema.TableSchema, number: int) -> dict:
    row = {c.name: SAMPLES.get(str(c.type), []) for c in table.columns}
    return row | {
        table.order[-1]: f"n{number}" if isinstance(row[table.order[-1]], str) else number
    }


@pytest.mark.parametrize("name", schema.TABLES)
def test_every_column_says_what_it_holds(name: str) -> None:
    for column in schema.TABLES[name].columns:
        assert column.metadata[b"doc"].endswith((b".", b"valid.")), column.name
        if column.type == pa.float64() and column.name != "value":
            assert column.metadata[b"unit"], column.name


@pytest.mark.parametrize("name", schema.TABLES)
def test_the_same_rows_give_the_same_bytes_in_any_order(name: str, tmp_path: Path) -> None:
    table = schema.TABLES[name]
    rows = [_row(table, number) for number in range(20)]
    schema.write(table, rows, tmp_path / "a.parquet")
    random.Random(1).shuffle(rows)
    schema.write(table, rows, tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert schema.read(table, tmp_path / "a.parquet").num_rows == 20


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({**ROW, "colour": "red"}, "colour"),
        ({k: v for k, v in ROW.items() if k != "record"}, "record"),
        ({**ROW, "record": None}, "record"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_name(row: dict, key: str) -> None:
    with pytest.raises(ValueError, match=f"table blocks, row 1.*{key}"):
        schema.to_table(schema.BLOCKS, [ROW, row])


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    pa.parquet.write_table(pa.table({"campaign": ["a"]}), path)
    with pytest.raises(ValueError, match=r"old\.parquet.*version none.*version 1"):
        schema.read(schema.BLOCKS, path)


def test_a_file_of_another_version_with_the_same_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    table = schema.to_table(schema.BLOCKS, [ROW])
    old = {**table.schema.metadata, b"schema_version": b"0"}
    pa.parquet.write_table(table.replace_schema_metadata(old), path)
    with pytest.raises(ValueError, match=r"version 0.*version 1"):
        schema.read(schema.BLOCKS, path)


def test_units_survive_the_file(tmp_path: Path) -> None:
    schema.write(schema.RUNS, [], tmp_path / "runs.parquet")
    field = schema.read(schema.RUNS, tmp_path / "runs.parquet").schema.field("wall_seconds")
    assert field.metadata[b"unit"] == b"s"
