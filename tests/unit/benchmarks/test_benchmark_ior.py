import json

import pytest
from benchmark_help import NODE, defaults, golden, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.ior import BENCHMARK
from parity.benchmarks.model import Outputs
from parity.core.errors import UserError

KINDS = [(file, access) for file in ("own", "shared") for access in ("buffered", "direct")]
LEVELS = {"file": "own", "access": "buffered"}


def case(**levels):
    return defaults(BENCHMARK, nodes=1, ranks=2, block_mib=8) | LEVELS | levels


def parse(text, stdout="", **levels):
    return BENCHMARK.parse(
        Outputs(
            stdout, golden("openmpi/one-node.txt"), {"ior.json": text}, parameters=case(**levels)
        )
    )


@pytest.mark.parametrize(("file", "access"), KINDS)
def test_a_real_output(file, access):
    parsed = parse(golden(f"ior/real-{file}-{access}.json"), file=file, access=access)
    assert parsed.valid, parsed.detail
    assert list(values(parsed)) == ["write", "read"] == list(BENCHMARK.primary)
    assert {metric.unit for metric in parsed.metrics} == {"MiB/s"}


def test_the_numbers_of_a_real_output():
    found = json.loads(golden("ior/real-own-direct.json"))["summary"]
    parsed = values(parse(golden("ior/real-own-direct.json"), access="direct"))
    assert parsed == {"write": found[0]["bwMeanMIB"], "read": found[1]["bwMeanMIB"]}


def test_data_that_come_back_other_than_they_were_written():
    # The summary beside it is whole, and tells of no error.
    whole = golden("ior/failed.json")
    assert parse(whole).valid
    assert parse(whole, golden("ior/failed.txt")).reason == "validation-failed"
    assert parse("", golden("ior/failed.txt")).reason == "validation-failed"


@pytest.mark.parametrize(
    "wrong", [{"file": "shared"}, {"block_mib": 9}, {"transfer_kib": 64}, {"nodes": 2}]
)
def test_another_run_than_the_one_asked_for(wrong):
    assert parse(golden("ior/real-own-buffered.json"), **wrong).reason in (
        "wrong-size",
        "transport",
    )


@pytest.mark.parametrize("key", ["checkWrite", "fsync", "reorderTasks"])
def test_what_makes_a_result_is_not_left_out(key):
    text = golden("ior/real-own-buffered.json")
    assert f'"{key}": 1' in text
    assert parse(text.replace(f'"{key}": 1', f'"{key}": 0')).reason == "wrong-size"


def test_direct_access_is_what_ior_itself_was_told():
    # Nothing else in the summary differs between the two.
    for asked, done in (("direct", "buffered"), ("buffered", "direct")):
        parsed = parse(golden(f"ior/real-own-{done}.json"), access=asked)
        assert parsed.reason == "wrong-size"
        assert parsed.detail.startswith("--posix.odirect: asked for ")


@pytest.mark.parametrize("rate", ["0.0000", "-nan", '"inf"', "null", "[]"])
def test_a_rate_must_be_a_number_above_zero(rate):
    text = golden("ior/real-own-direct.json")
    number = json.loads(text)["summary"][1]["bwMeanMIB"]
    changed = text.replace(f'"bwMeanMIB": {number:.4f}', f'"bwMeanMIB": {rate}')
    assert changed != text
    assert not parse(changed, access="direct").valid


def test_a_killed_run():
    assert parse(golden("ior/truncated.json")).reason == "truncated"
    assert parse("").reason == "unparsable"


@given(data=st.data())
def test_a_summary_with_a_piece_missing_or_doubled_is_read_or_refused(data):
    text = golden("ior/real-own-buffered.json")
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(0, len(text)))
    parsed = parse(text[:begin] + text[end:])
    assert parsed.valid or (parsed.reason and not parsed.metrics)


def test_transfers_that_do_not_fill_a_block_are_refused():
    with pytest.raises(UserError, match="transfers of 3072 KiB do not fill a block of 8 MiB"):
        BENCHMARK.program(case(transfer_kib=3072), NODE)


def test_several_nodes_need_a_folder_that_they_share():
    with pytest.raises(UserError, match="each node's working folder is its own"):
        BENCHMARK.program(case(nodes=2), NODE)
    assert BENCHMARK.program(case(nodes=2, folder="/scratch"), NODE).nodes == 2
