"""Tables: every column described, wrong rows refused, the same rows the same bytes."""

import filecmp
import random
import tempfile
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parity.core.errors import UserError
from parity.core.package import PACKAGE
from parity.core.settings import load_yaml
from parity.records import schema

FILES = sorted(PACKAGE.rglob("tables.yaml"))
ARCHIVES = sorted((PACKAGE.parents[1] / "results/archive").iterdir())

ROW = {"campaign": "a-b", "block": "a-b-b0001-0", "block_number": 1, "record": "{}"}
SAMPLES = {"double": 1.5, "int64": 3, "bool": True, "string": "x", "binary": b"x"}


def _row(table: schema.TableSchema, number: int) -> dict:
    row, last = {c.name: SAMPLES.get(str(c.type), []) for c in table.columns}, table.order[-1]
    return row | {last: f"n{number}" if isinstance(row[last], str) else number}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_file_of_tables_is_sound(path: Path) -> None:
    tables = schema.tables_beside(str(path))
    # By Python's loader, which refuses a table or a column that is given twice.
    assert list(tables) == list(load_yaml(path)["tables"])
    for table in tables.values():
        assert set(table.order) <= {column.name for column in table.columns}, table.name
        for text in (table.doc, *(column.metadata[b"doc"].decode() for column in table.columns)):
            assert text.endswith((".", "?")) and text == " ".join(text.split()), text
        for column in table.columns if table.name in schema.TABLES else ():
            if column.type == pa.float64() and column.name != "value":
                assert column.metadata[b"unit"], column.name
    # A column that is kept for several tables has several.
    uses = [event for event in yaml.parse(path.read_text()) if isinstance(event, yaml.AliasEvent)]
    for name in load_yaml(path)["common"]:
        assert sum(use.anchor == name for use in uses) > 1, name


@pytest.mark.parametrize(("column", "problem"), [
    ("{type: string, doc: A., nulable: true}", "unknown field `nulable`"),
    ("{type: string}", "missing required field `doc`"),
    ("{type: text, doc: A.}", "No type alias for text"),
    ("{type: string, doc: A., unit: 1}", "Expected `str`, got `int`"),
])  # fmt: skip
def test_a_column_that_is_written_wrong_is_refused(tmp_path: Path, column: str, problem: str):
    text = f"common: {{}}\ntables: {{a: {{doc: A., order: [b], columns: {{b: {column}}}}}}}\n"
    (tmp_path / "tables.yaml").write_text(text)
    with pytest.raises((msgspec.ValidationError, ValueError), match=problem):
        schema.tables_beside(str(tmp_path / "module.py"))


@pytest.mark.parametrize("name", schema.TABLES)
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_the_archive_s_tables_are_these(archive: Path, name: str, tmp_path: Path) -> None:
    """As they come out of a file: columns, sentences, units and version."""
    schema.write(schema.TABLES[name], [], tmp_path / "now.parquet")
    archived = pq.read_schema(archive / f"records/{name}.parquet")
    assert archived.equals(pq.read_schema(tmp_path / "now.parquet"), check_metadata=True)


@pytest.mark.parametrize("name", schema.TABLES)
def test_the_same_rows_give_the_same_bytes_in_any_order(name: str, tmp_path: Path) -> None:
    table = schema.TABLES[name]
    rows = [_row(table, number) for number in range(20)]
    schema.write(table, rows, tmp_path / "a.parquet")
    random.Random(1).shuffle(rows)
    schema.write(table, rows, tmp_path / "b.parquet")
    assert filecmp.cmp(tmp_path / "a.parquet", tmp_path / "b.parquet", shallow=False)
    assert schema.read(table, tmp_path / "a.parquet").num_rows == 20


@pytest.mark.parametrize(("row", "key"), [
    ({**ROW, "colour": "red"}, "colour"),
    ({k: v for k, v in ROW.items() if k != "record"}, "record"),
    ({**ROW, "record": None}, "record"),
])  # fmt: skip
def test_a_row_that_does_not_fit_is_refused_by_name(row: dict, key: str) -> None:
    with pytest.raises(ValueError, match=f"table blocks, row 1.*{key}"):
        schema.to_table(schema.BLOCKS, [ROW, row])


@pytest.mark.parametrize("version", [{}, {b"schema_version": b"0"}], ids=["none", "0"])
def test_a_file_of_another_version_is_refused(tmp_path: Path, version: dict) -> None:
    path, table = tmp_path / "old.parquet", schema.to_table(schema.BLOCKS, [ROW])
    kept = {key: v for key, v in table.schema.metadata.items() if key != b"schema_version"}
    pa.parquet.write_table(table.replace_schema_metadata(kept | version), path)
    said = version.get(b"schema_version", b"none").decode()
    with pytest.raises(ValueError, match=rf"old\.parquet.*version {said}.*version 1"):
        schema.read(schema.BLOCKS, path)


numbers = st.lists(st.integers(0, 10**6), max_size=30, unique=True).map(sorted)


def _rows(names: list[int]) -> list[dict]:
    return [ROW | {"block": f"{name:07d}"} for name in names]


@given(numbers)
def test_few_rows_are_written_as_in_one_piece(names: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "one"), Path(folder, "other")
        schema.write(schema.BLOCKS, _rows(names), one)
        schema.write_rows(schema.BLOCKS, _rows(names), other)
        assert filecmp.cmp(one, other, shallow=False)
        assert list(schema.read_rows(schema.BLOCKS, other)) == _rows(names)


def test_many_rows_make_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MOST_ROWS", 10)
    path = tmp_path / "blocks.parquet"
    schema.write_rows(schema.BLOCKS, iter(_rows(list(range(35)))), path)
    assert pq.ParquetFile(path).num_row_groups == 4
    assert list(schema.read_rows(schema.BLOCKS, path)) == _rows(list(range(35)))
    assert schema.read(schema.BLOCKS, path).to_pylist() == _rows(list(range(35)))


def test_columns_of_more_than_two_gibibytes_are_gathered(tmp_path: Path) -> None:
    """Arrow's columns of text end there: 160 runs of 8,192 ranks each were beyond it."""
    path, said = tmp_path / "blocks.parquet", "x" * 13_500_000
    rows = (row | {"record": said} for row in _rows(list(range(160))))
    schema.write_rows(schema.BLOCKS, rows, path)
    assert pq.read_metadata(path).num_rows == 160
    assert all(row["record"] == said for row in schema.read_rows(schema.BLOCKS, path))


def test_a_file_that_failed_half_way_is_no_table_and_one_of_another_is_refused(tmp_path) -> None:
    def broken():
        yield from _rows([1])
        raise OSError("gone")

    path = tmp_path / "blocks.parquet"
    with pytest.raises(OSError, match="gone"):
        schema.write_rows(schema.BLOCKS, broken(), path)
    assert not list(schema.read_rows(schema.BLOCKS, path))
    schema.write_rows(schema.BLOCKS, [], path)
    with pytest.raises(UserError, match=r"columns of table raw .* differ in .*, stdout"):
        list(schema.read_rows(schema.RAW, path))
