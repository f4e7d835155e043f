import json
import math
from dataclasses import replace

import pytest
from benchmark_help import NODE, cuts, defaults, golden, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.memory import BENCHMARK, plateau
from parity.benchmarks.model import Outputs

COMMAND = ("/usr/bin/likwid-bench", "-t", "stream", "-w", "N:1090512kB:1", "-i", "12")
MIB = 2**20


def samples(name="memory/samples.jsonl"):
    return [json.loads(line) for line in golden(name).splitlines()]


def parse(rows, text=None):
    text = golden("memory/real.txt") if text is None else text
    outputs = Outputs(
        stdout=text, samples=tuple(rows), parameters=defaults(BENCHMARK), command=COMMAND
    )
    return BENCHMARK.parse(outputs)


def test_a_real_run():
    parsed = parse(samples())
    assert parsed.valid
    assert values(parsed) == {
        "process_private": 1062.6640625,
        "process_private_dirty": 1054.3125,
        "node_used_median": 2268.51171875,
        "node_used_increment": 1082.2265625,
        "node_used_increment_published": 873.54296875,
    }
    assert {metric.unit for metric in parsed.metrics} == {"MiB"}


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


def test_only_samples_at_full_size_count():
    node, programs = plateau(PLANTED)
    assert [sample["seconds"] for sample in node] == [0.4, 0.6, 0.8]
    assert [sample["private_dirty"] // MIB for sample in programs] == [1000, 1000, 960]


def test_what_is_on_free_lists_is_not_in_use():
    found = values(parse(PLANTED))
    assert found["node_used_median"] == 1101
    assert found["node_used_increment"] == 1101 - 100
    assert found["node_used_increment_published"] == 1102 - 500
    assert found["process_private"] == 1010


def test_too_few_samples():
    assert parse(samples("memory/samples-few.jsonl")).reason == "too-few-samples"
    assert parse(PLANTED[:5]).reason == "too-few-samples"
    assert parse([row(-0.2)]).reason == "too-few-samples"


def test_no_sample_from_before_the_start():
    assert parse(PLANTED[1:]).reason == "no-background"
    assert parse([]).reason == "no-background"


def test_samples_that_do_not_tell_the_free_lists():
    rows = [{k: v for k, v in sample.items() if k != "node_free_per_cpu"} for sample in PLANTED]
    assert parse(rows).reason == "unparsable"


def test_a_moment_that_is_sampled_twice():
    assert parse(PLANTED + PLANTED).reason == "several-runs"
    assert parse([PLANTED[0], *PLANTED]).reason == "several-runs"


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


def test_the_program_itself_must_have_done_its_work():
    assert parse(samples(), golden("memory/truncated.txt")).reason == "truncated"
    assert not any(parse(samples(), text).valid for text in cuts(golden("memory/real.txt")))


def test_the_program_is_sampled_and_named():
    program = BENCHMARK.program(defaults(BENCHMARK), NODE)
    assert program.argv == COMMAND
    assert (program.sample_seconds, program.sample_processes) == (0.2, ("likwid-bench",))


@pytest.mark.parametrize("name", ["node_used_median", "node_used_increment"])
def test_the_node_is_compared_by_difference(name):
    assert name in BENCHMARK.differences
    assert "process_private" not in BENCHMARK.differences


def test_the_time_of_the_passes_is_told_whether_or_not_samples_are_enough():
    outputs = Outputs(
        stdout=golden("memory/real.txt"),
        wall_seconds=(9.0,),
        parameters=defaults(BENCHMARK),
        command=COMMAND,
    )
    assert BENCHMARK.parse(outputs).reason == "no-background"
    assert BENCHMARK.timed_seconds(outputs) == 1.25989
    assert BENCHMARK.timed_seconds(replace(outputs, stdout="")) == 0


@pytest.mark.parametrize("key", ["node_used", "node_free_per_cpu", "private_dirty"])
def test_less_than_no_memory_is_refused(key):
    rows = [{**sample, key: -1} if sample[key] is not None else sample for sample in PLANTED]
    assert (parse(rows).reason, parse(rows).metrics) == ("unparsable", ())
