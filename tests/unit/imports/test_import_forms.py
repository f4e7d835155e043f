"""What others wrote, as rows: a table, ReFrame's run report, Ramble's results; and bad tables."""

import json
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.imports import ramble, reframe, table
from parity.imports.rows import Options, Row, checked, converters

GOLDEN = Path(__file__).parents[2] / "golden/imports"
HEAD = "block,case,arm,metric,value,unit,better\n"
GOOD = "1,lammps,native,time,10.5,s,lower\n1,lammps,podman,time,10.75,s,lower\n"


@pytest.fixture
def read(written):
    """The checked rows of a table."""
    return lambda text: checked(table.CONVERTER.rows(written("table.csv", text), Options()))


def test_a_row_is_a_number_with_all_that_is_said_of_it(tmp_path, written, read):
    raw, where = str(written("out.txt", "Loop time of 10.5")), f"{tmp_path}/table.csv: line 2"
    first, lost = read(
        "better,unit,value,metric,arm,case,block,source,valid,raw\n"
        "lower,s,10.5,time,native,lammps,1,page 3,yes,out.txt\n"
        "lower,s,,time,podman,lammps,1,,no,\n"
    )
    expected = Row("1", "lammps", "native", "time", 10.5, "s", "lower", True, "page 3", raw, where)
    assert first == expected
    assert (lost.valid, lost.arm, lost.raw) == (False, "podman", "")


def test_a_mark_of_byte_order_and_no_unit_are_no_mistake(read):
    rows = read("\ufeff" + HEAD + GOOD.replace(",s,", ",,"))
    assert [row.unit for row in rows] == ["1", "1"]


# What is no table at all is refused as by every reader of one (`core/test_input_files.py`).
BAD = {
    "empty": ("", "missing columns: case, arm, metric, value, unit, better"),
    "head alone": (HEAD, "the table has no rows"),
    "no column better": (HEAD.replace(",better", "") + GOOD, "missing columns: better"),
    "another column": (HEAD.replace("block", "blck") + GOOD, "the columns are not those"),
    "a column twice": (HEAD.replace("block", "arm") + GOOD, "the columns are not those"),
    "a head alone": (HEAD, "to do:   add a row a run"),
    "too few cells": (HEAD + GOOD + "2,lammps,native\n", "3 cells instead of 7"),
    "twice": (HEAD + GOOD + GOOD, "comes twice in block 1"),
    "a unit that changes": (HEAD + GOOD + "2,lammps,native,time,9,ms,lower\n", "it was in s"),
    "a way that changes": (HEAD + GOOD + "2,lammps,native,time,9,s,higher\n", "higher is better"),
    "NaN": (HEAD + GOOD.replace("10.5", "nan"), "value is 'nan', not a number"),
    "negative": (HEAD + GOOD.replace("10.5", "-1"), "value is -1.0, not a number from 0 on"),
    "words": (HEAD + GOOD.replace("10.5", "10.5 s"), "value is '10.5 s', not a number"),
    "a decimal comma": (HEAD + GOOD.replace("10.5", '"10,5"'), "value is '10,5', not a number"),
    "neither way": (HEAD + GOOD.replace("lower", "neither"), "better is 'neither'"),
    "a slash": (HEAD + GOOD.replace("lammps", "lammps/lj"), "'lammps/lj' is no name"),
    "no arm": (HEAD + GOOD.replace("podman", ""), "'' is no name"),
    "a metric of words": (HEAD + GOOD.replace("time", "wall time"), "'wall time' is no name"),
    "one arm": (HEAD + GOOD.replace("podman", "native").replace("\n1", "\n2"), "one arm, native"),
    "no raw output": (
        "raw," + HEAD + GOOD.replace("1,lammps", "out.txt,1,lammps"),
        "there is no such file: 'out.txt'"),
    "neither valid nor not": (
        "valid," + HEAD + GOOD.replace("1,lammps", "perhaps,1,lammps"), "valid is 'perhaps'"),
    "a metric less": (HEAD + GOOD + "1,lammps,native,rate,9,1/s,higher\n", "lacks rate"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=list(BAD))
def test_a_bad_table_is_one_message(read, text, said):
    with pytest.raises(UserError) as error:
        read(text)
    assert said in str(error.value)


def test_more_rows_than_can_be_archived_in_minutes_are_refused(read):
    row = "1,a,b,c,1,s,lower\n"
    with pytest.raises(UserError, match="the table has 100001 rows"):
        read(HEAD + row * 100_001)
    with pytest.raises(UserError, match="larger than 15625 kB"):
        read(HEAD + row * 1_000_000)


def test_a_real_report_of_reframe_gives_its_numbers():
    """Golden: ReFrame 4.10.4 ran sysbench in three arms, six times each, on this machine."""
    path = GOLDEN / "reframe.json"
    rows = checked(reframe.CONVERTER.rows(path, Options()))
    assert len(rows) == 3 * 6 * 2
    first = rows[0]._replace(where="", told=("", ""))
    content = json.loads(path.read_text())["runs"][0]["testcases"][0]
    value = content["perfvalues"]["generic:default:total_time"][0]
    told = ("0.0", "sysbench-threads=1", "native-a", "total_time", value, "s", "lower")
    assert first == Row(*told, source=content["unique_name"])
    assert {(row.metric, row.unit, row.better) for row in rows} == {
        ("total_time", "s", "lower"),
        ("events_per_second", "1/s", "higher"),
    }
    assert {row.block for row in rows} == {f"0.{number}" for number in range(6)}


def test_a_failed_case_is_not_valid_and_a_reference_tells_the_way(altered):
    def change(content):
        case = content["runs"][0]["testcases"][0]
        case["result"] = "fail"
        case["perfvalues"] = {"generic:default:score": [5, 4, None, 0.1, "points", "fail"]}

    row = reframe.CONVERTER.rows(altered(GOLDEN / "reframe.json", change), Options())[0]
    assert (row.metric, row.unit, row.better, row.valid) == ("score", "points", "lower", False)


def test_what_a_report_does_not_say_is_asked_for(altered):
    path = GOLDEN / "reframe.json"
    with pytest.raises(UserError, match="has no runtime") as error:
        reframe.CONVERTER.rows(path, Options(arm="runtime"))
    assert "arm, threads" in str(error.value)

    def change(content):
        values = content["runs"][0]["testcases"][0]["perfvalues"]
        values["generic:default:score"] = [5, 0, None, None, "points", "pass"]

    file = altered(path, change)
    with pytest.raises(UserError, match="which way score in points is better"):
        reframe.CONVERTER.rows(file, Options())
    assert reframe.CONVERTER.rows(file, Options(better={"score": "higher"}))[2].better == "higher"


def test_a_report_of_another_version_is_refused(altered):
    def change(content):
        content["session_info"]["data_version"] = "3.1"

    with pytest.raises(UserError, match=r"no run report of data version 4: 3\.1"):
        reframe.CONVERTER.rows(altered(GOLDEN / "reframe.json", change), Options())


def test_ramble_s_repeats_are_numbers_and_its_summaries_are_none():
    """Golden: written after Ramble's documentation and its tests of reports."""
    rows = ramble.CONVERTER.rows(GOLDEN / "results.latest.json", Options(arm="runtime"))
    assert [(row.block, row.arm, row.value, row.valid, row.source) for row in rows] == [
        ("1", "native", 10200.5, True, "stream.standard.native.1"),
        ("2", "native", 10100.0, True, "stream.standard.native.2"),
        ("1", "apptainer", 9000.0, False, "stream.standard.apptainer.1"),
    ]
    assert {row[1:2] + row[3:4] + row[5:7] for row in rows} == {
        ("stream_standard-nodes=1", "Triad", "MB/s", "higher")
    }
    with pytest.raises(UserError, match="has no arm"):
        ramble.CONVERTER.rows(GOLDEN / "results.latest.json", Options())


@pytest.mark.parametrize(
    ("name", "text"),
    [("csv", HEAD), ("reframe", '{"session_info": {}}'), ("ramble", '{"experiments": []}')],
)
def test_a_file_is_taken_by_the_converter_of_its_form(name, text):
    assert [each.name for each in converters().values() if each.takes(text)] == [name]


@pytest.mark.parametrize("text", ["[]", "{}", '{"runs": []}', '{"experiments": []}', "{"])
def test_documents_that_are_no_results_are_one_message(written, text):
    for name in ("reframe", "ramble"):
        with pytest.raises(UserError):
            converters()[name].rows(written("file.json", text), Options())
