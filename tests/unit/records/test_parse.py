"""Parsing gathered rows: what becomes of a run that was interrupted, stopped or left behind."""

import filecmp
import json
from pathlib import Path

import pytest
from plans import block_record_of, changed, plan_of, run_record_of

from parity.core.documents import canonical
from parity.core.errors import UserError
from parity.measure.documents import Binary
from parity.measure.progress import outputs_of
from parity.plan.plan import read_plan
from parity.records import parse, schema
from parity.records.dataset import parse_dataset
from parity.records.parse import OF_BLOCKS, measured_binary, parse_block

TESTS = Path(__file__).parents[2]
GOLDEN = TESTS / "golden/sysbench/real.txt"
ARCHIVE = TESTS.parent / "results/archive/machine-2026-11-20"
PARAMETERS = {"prime": 10000, "events": 2800, "threads": 1}
CASE = {"case": "sysbench", "benchmark": "sysbench", "parameters": PARAMETERS, "primary": ["time"]}
RUNTIMES = {"native-a": "native", "docker": "docker"}
PLAN = plan_of({"cases": [CASE], "arms": [*RUNTIMES], "arm_runtimes": RUNTIMES})
KEY = {"campaign": "planted-smoke", "block": "b", "block_number": 1}


def _entry(*arms: str, **block) -> dict:
    """The row of a block that runs the case in these arms."""
    runs = [{"run": f"sysbench.{arm}", "case": "sysbench", "arm": arm} for arm in arms]
    return KEY | {"record": canonical(block_record_of(runs=runs, **block))}


def _raw(arm: str, number: int = 1, **said) -> dict:
    """The row of an attempt, and what its record says that is not as usual."""
    return KEY | {
        "run": f"sysbench.{arm}", "attempt": number, "record": canonical(run_record_of(**said)),
        "stdout": GOLDEN.read_bytes(), "stderr": b"", "files": "{}", "samples": "",
    }  # fmt: skip


def _fates(tables: dict, arm: str) -> list[tuple]:
    rows = [row for row in tables["runs"] if row["arm"] == arm]
    return [(row["attempt"], row["final"], row["stage"], row["reason"]) for row in rows]


# Each attempt by its session; None for one that was interrupted.
@pytest.mark.parametrize(("native", "docker", "absent", "fates"), [
    ([1], [1], [], [(1, True, "valid", "")]),
    # A case that was made anew, without it and with it.
    ([None, 2], [1], ["docker"], [(1, True, "ran", "other-session")]),
    ([None, 2], [1, 2], [], [(1, False, "ran", "other-session"), (2, True, "valid", "")]),
    # What a later session could not start.
    ([2], [None], ["docker"],
     [(0, True, "planned", "not-tested"), (1, False, "planned", "interrupted")]),
])  # fmt: skip
def test_what_becomes_of_a_run(native, docker, absent, fates) -> None:
    why = {"reason": "not-tested", "detail": "daemon not running"}
    entry = _entry(*RUNTIMES, sessions=2, not_started={f"sysbench.{arm}": why for arm in absent})
    raw = [
        _raw(arm, number, session=session) if session else _raw(arm, number) | {"record": ""}
        for arm, sessions in (("native-a", native), ("docker", docker))
        for number, session in enumerate(sessions, start=1)
    ]
    tables = parse_block(PLAN, entry, raw)
    for name, rows in tables.items():
        schema.to_table(schema.TABLES[name], rows)
    assert _fates(tables, "docker") == fates
    assert _fates(tables, "native-a")[-1] == (len(native), True, "valid", "")
    valid = [row for row in tables["metrics"] if row["valid"]]
    counted = {(row["arm"], row["attempt"]) for row in valid if row["primary"]}
    last = {("docker", fates[-1][0])} if fates[-1][2] == "valid" else set()
    assert counted == {("native-a", len(native))} | last
    assert {(row["arm"], row["attempt"]) for row in valid} == counted


def test_what_the_kernel_counted_of_a_network_is_no_primary_metric_of_the_run() -> None:
    counters = {"tcp_timeouts": "3", "queue_drops": "40", "network.mtu": "1500"}
    tables = parse_block(PLAN, _entry("docker"), [_raw("docker", evidence=counters)])
    rows = {row["metric"]: row for row in tables["metrics"]}
    found = {name: row["value"] for name, row in rows.items() if row["clock"] == "external"}
    assert found == {"tcp_timeouts": 3, "queue_drops": 40, "tcp_timeouts_seen": 1}
    assert all(rows[name]["valid"] and not rows[name]["primary"] for name in found)
    assert rows["time"]["primary"]


def test_the_positive_control_is_parsed_by_its_own_work_and_credited_with_the_case_s() -> None:
    # The program did 2800 events, which are the case's 2500 and twelve per cent more.
    more = {"arm": "native-plus", "work_percent": 12, "parameters": {"sysbench": {"events": 2800}}}
    cases, arms = [CASE | {"parameters": PARAMETERS | {"events": 2500}}], ["native-a", more["arm"]]
    runtimes = dict.fromkeys(arms, "native")
    plan = changed(PLAN, cases=cases, arms=arms, arm_runtimes=runtimes, positive_control=more)
    tables = parse_block(plan, _entry(*arms), [_raw(arm) for arm in arms])
    # The reference did other work than the case asks for; the control did its own.
    assert _fates(tables, "native-a") == [(1, True, "parsed", "wrong-size")]
    assert _fates(tables, "native-plus") == [(1, True, "valid", "")]
    values = {row["metric"]: row["value"] for row in tables["metrics"]}
    assert values == {"time": 1.0704, "events_per_second": pytest.approx(2612.51 / 1.12)}


def test_the_measured_binary_is_the_one_that_the_command_names() -> None:
    empty = dict.fromkeys(("sha256", "build_id", "closure_sha256"), "") | {"closure": ()}
    first, second = (
        Binary(arm="native-a", benchmark="sysbench", path=path, **empty) for path in ("/a", "/b")
    )
    assert measured_binary([first, second], ["taskset", "/b", "-x"]) is second
    assert measured_binary([first, second], ["/bin/sh", "-c", "exec /b"]) is first
    assert measured_binary([first, second], ["/b", "/a"]) is first
    assert measured_binary([], ["/a"]) is None


def test_a_broken_record_is_named_with_its_attempt_and_its_key() -> None:
    raw = _raw("docker")
    raw["record"] = raw["record"].replace('"session":1', '"session":"one"')
    with pytest.raises(UserError, match="no run record") as refused:
        parse_block(PLAN, _entry(), [raw])
    assert refused.value.where == "the record of b, sysbench.docker, attempt 1: session"


def test_what_ours_said_is_for_no_pattern_of_a_program() -> None:
    left = _raw("docker") | {"stderr": b"a warning\nparity-evidence ended=5\n"}
    told = outputs_of(PLAN.case("sysbench"), "docker", left, run_record_of(), {})
    assert told.stderr == "a warning\n"


CPU = {"user_seconds": "0.5", "system_seconds": "0.25"}


@pytest.mark.parametrize(("told", "values"), [
    (CPU | {"group_seconds": "0.875"}, {"cpu_seconds": 0.75, "cpu_seconds_beside": 0.125}),
    (CPU, {"cpu_seconds": 0.75}), ({}, {}),
])  # fmt: skip
@pytest.mark.parametrize("design", [{"design": "side-by-side"}, {"pairs": ["sysbench"]}])
def test_side_by_side_its_cpu_time_is_all_that_counts_of_a_program(told, values, design) -> None:
    plan = changed(PLAN, **design, cases=[CASE | {"primary": ["cpu_seconds"]}])
    entry, raw = _entry("docker"), [_raw("docker", evidence=told)]
    rows, in_turn = (parse_block(each, entry, raw)["metrics"] for each in (plan, PLAN))
    assert {"time", *values} <= {row["metric"] for row in in_turn}
    assert {row["metric"]: row["value"] for row in rows} == values
    assert all(row["primary"] == (row["metric"] == "cpu_seconds") for row in rows)


@pytest.mark.parametrize(("of_raw", "lost"), [([2, 2, 3], ""), ([0, 2], "0"), ([3, 5], "5")])
def test_attempts_go_to_their_blocks_and_none_is_left_behind(tmp_path, of_raw, lost) -> None:
    """Attempts of blocks that nothing else tells of were passed over."""
    raw = [_raw("docker") | {"block": str(number)} for number in of_raw]
    blocks = [_entry() | {"block": str(number)} for number in (1, 2, 3, 4)]
    schema.write_rows(schema.RAW, raw, tmp_path / "raw.parquet")
    schema.write_rows(schema.BLOCKS, blocks, tmp_path / "blocks.parquet")
    if lost:
        with pytest.raises(UserError, match=f"attempts of block {lost}, and no record"):
            list(parse.left_by_blocks(tmp_path))
        return
    found = [(entry["block"], len(made)) for entry, made in parse.left_by_blocks(tmp_path)]
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
        list(parse.parsed_blocks(read_plan(ARCHIVE / "plan.json"), tmp_path))
    assert f"{raw[0]['block']}, {raw[0]['run']}, attempt 1" in refused.value.where
