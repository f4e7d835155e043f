"""Tables that are written and read part by part."""

import filecmp
import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.core.errors import UserError
from parity.plan.plan import PLAN, read_plan
from parity.records import parse, schema
from parity.records.dataset import parse_dataset
from parity.records.parse import OF_BLOCKS

ARCHIVES = Path(__file__).parents[3] / "results/archive"
ARCHIVE = ARCHIVES / "machine-2026-11-20"
ROW = {"campaign": "c", "block": "b", "block_number": 1, "record": "{}"}
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


@pytest.mark.parametrize(("of_raw", "lost"), [([2, 2, 3], ""), ([0, 2], "0"), ([3, 5], "5")])
def test_attempts_go_to_their_blocks_and_none_is_left_behind(tmp_path, of_raw, lost) -> None:
    """Attempts of blocks that nothing else tells of were passed over."""
    more = {"run": "r", "attempt": 1, "record": "", "stdout": b"", "stderr": b""}
    more |= {"files": "{}", "samples": ""}
    schema.write_rows(schema.RAW, [row | more for row in _rows(of_raw)], tmp_path / "raw.parquet")
    schema.write_rows(schema.BLOCKS, _rows([1, 2, 3, 4]), tmp_path / "blocks.parquet")
    if lost:
        with pytest.raises(UserError, match=f"attempts of block 000000{lost}, and no record"):
            list(parse.left_by_blocks(tmp_path))
        return
    found = [(entry["block"][-1], len(made)) for entry, made in parse.left_by_blocks(tmp_path)]
    assert found == [("1", 0), ("2", 2), ("3", 1), ("4", 0)]


def test_several_processes_write_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parse, "WORTH_PROCESSES", 1)
    parse_dataset(ARCHIVE, tmp_path)
    for name in (*OF_BLOCKS, "images"):
        file = f"{name}.parquet"
        assert filecmp.cmp(tmp_path / file, ARCHIVE / "records" / file, shallow=False), name


def test_a_broken_record_in_a_process_of_its_own_is_one_message(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parse, "WORTH_PROCESSES", 1)
    raw = list(schema.read_rows(schema.RAW, ARCHIVE / "records/raw.parquet"))
    raw[0]["record"] = json.dumps({"version": 99})
    schema.write_rows(schema.RAW, raw, tmp_path / "raw.parquet")
    blocks = schema.read_rows(schema.BLOCKS, ARCHIVE / "records/blocks.parquet")
    schema.write_rows(schema.BLOCKS, blocks, tmp_path / "blocks.parquet")
    with pytest.raises(UserError) as refused:
        list(parse.parsed_blocks(read_plan(ARCHIVE / PLAN), tmp_path))
    assert f"{raw[0]['block']}, {raw[0]['run']}, attempt 1" in refused.value.where
