import json
import math
from dataclasses import replace

import pytest
from benchmark_help import cuts, defaults, golden, outcome, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.memory import BENCHMARK, plateau
from parity.benchmarks.model import Outputs

COMMAND = ("/usr/bin/likwid-bench", "-t", "stream", "-w", "N:1090512kB:1", "-i", "12")
MIB, TEXT = 2**20, golden("memory/real.txt")


def samples(name="memory/samples.jsonl"):
    return [json.loads(line) for line in golden(name).splitlines()]


def parse(rows, text=TEXT):
    return outcome(BENCHMARK, {}, stdout=text, samples=tuple(rows), command=COMMAND)


def test_a_real_run():
    parsed = parse(samples())
    assert parsed.valid
    assert values(parsed) == {
        "process_private": 1062.6640625, "process_private_dirty": 1054.3125,
        "node_used_median": 2268.51171875, "node_used_increment": 1082.2265625,
        "node_used_increment_published": 873.54296875,
    }  # fmt: skip
    assert {metric.unit for metric in parsed.metrics} == {"MiB"}
    assert {"node_used_median", "node_used_increment"} <= set(BENCHMARK.differences)
    assert "process_private" not in BENCHMARK.differences


def row(seconds, process="", used=0, on_lists=0, writable=None, dirty=None):
    return {
        "seconds": seconds, "process": process, "pid": 7 if process else 0,
        "node_used": None if process else used * MIB,
        "node_free_per_cpu": None if process else on_lists * MIB,
        "private_writable": writable and writable * MIB, "private_dirty": dirty and dirty * MIB,
    }  # fmt: skip


def moment(seconds, used, on_lists, writable, dirty):
    return [row(seconds, "", used, on_lists), row(seconds, "p", writable=writable, dirty=dirty)]


PLANTED = [
    row(-0.2, "", 500, 400),
    *moment(0.2, 700, 200, 1010, 300),  # still filling its arrays
    *moment(0.4, 1102, 2, 1010, 1000),
    *moment(0.6, 1102, 1, 1010, 1000),
    *moment(0.8, 1102, 0, 1010, 960),
    *moment(1.0, 600, 0, 20, 10),  # tearing down
]


def test_only_samples_at_full_size_count_and_what_is_on_free_lists_is_not_in_use():
    node, programs = plateau(PLANTED)
    assert [sample["seconds"] for sample in node] == [0.4, 0.6, 0.8]
    assert [sample["private_dirty"] // MIB for sample in programs] == [1000, 1000, 960]
    found = values(parse(PLANTED))
    assert found["node_used_median"] == 1101
    assert found["node_used_increment"] == 1101 - 100
    assert found["node_used_increment_published"] == 1102 - 500
    assert found["process_private"] == 1010


@pytest.mark.parametrize(("rows", "reason"), [
    (samples("memory/samples-few.jsonl"), "too-few-samples"),
    (PLANTED[:5], "too-few-samples"), ([row(-0.2)], "too-few-samples"),
    # None from before the start.
    (PLANTED[1:], "no-background"), ([], "no-background"),
    ([{k: it[k] for k in it if k != "node_free_per_cpu"} for it in PLANTED], "unparsable"),
    (PLANTED + PLANTED, "several-runs"), ([PLANTED[0], *PLANTED], "several-runs"),
    # Less than no memory.
    *(
        ([s | ({key: -1} if s[key] is not None else {}) for s in PLANTED], "unparsable")
        for key in ("node_used", "node_free_per_cpu", "private_dirty")
    ),
])  # fmt: skip
def test_samples_that_tell_nothing_are_refused(rows, reason):
    assert (parse(rows).reason, parse(rows).metrics) == (reason, ())


@given(
    number=st.integers(0, len(PLANTED) - 1),
    key=st.sampled_from(sorted(PLANTED[0])),
    value=st.sampled_from([None, "", "7", True, math.nan, math.inf, -math.inf, -1, ...]),
)
def test_a_sample_that_lacks_something_is_passed_over_or_refused(number, key, value):
    changed = {**PLANTED[number], key: value}
    if value is ...:
        del changed[key]
    parsed = parse([*PLANTED[:number], changed, *PLANTED[number + 1 :]])
    assert parsed.valid or parsed.detail
    assert all(math.isfinite(metric.value) for metric in parsed.metrics)


def test_the_program_must_have_done_its_work_whose_time_is_told_without_samples() -> None:
    assert parse(samples(), golden("memory/truncated.txt")).reason == "truncated"
    assert not any(parse(samples(), text).valid for text in cuts(TEXT))
    outputs = Outputs(TEXT, wall_seconds=(9.0,), parameters=defaults(BENCHMARK), command=COMMAND)
    assert BENCHMARK.parse(outputs).reason == "no-background"
    assert BENCHMARK.timed_seconds(outputs) == 1.25989
    assert BENCHMARK.timed_seconds(replace(outputs, stdout="")) == 0
