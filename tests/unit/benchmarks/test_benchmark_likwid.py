from dataclasses import replace

import pytest
from benchmark_help import NODE, defaults, golden, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.likwid import BENCHMARK, working_set
from parity.benchmarks.model import NodeFacts, Outputs
from parity.core.errors import UserError

# A runtime's own -w stands before the program's, as ch-run's and podman's do.
COMMAND = ("ch-run", "-w", "image", "--", "/usr/bin/likwid-bench", "-w", "N:1090512kB:1", "-i", "6")


def parse(text, kernel="stream", command=COMMAND, **parameters):
    parameters = defaults(BENCHMARK, kernel=kernel, **parameters)
    return BENCHMARK.parse(Outputs(stdout=text, parameters=parameters, command=command))


@pytest.mark.parametrize(
    ("kernel", "bandwidth", "time"),
    [
        ("copy", 13.15552, 0.4973632),
        ("stream", 14.49152, 0.4515105),
        ("triad", 14.39143, 0.4546504),
    ],
)
def test_real_outputs(kernel, bandwidth, time):
    parsed = parse(golden(f"likwid/real-{kernel}.txt"), kernel)
    assert parsed.valid
    assert values(parsed) == {"bandwidth": pytest.approx(bandwidth, rel=1e-12), "time": time}
    assert [metric.unit for metric in parsed.metrics] == ["GB/s", "s"]


def test_a_size_that_likwid_rounded_is_another_size():
    command = (*COMMAND[:-3], "N:1090518kB:1", "-i", "6")
    parsed = parse(golden("likwid/failed-rounded.txt"), command=command)
    assert parsed.reason == "wrong-size"
    assert parsed.detail == "Size (Byte): asked for 1090518000, the output says 1090517952"


def test_another_kernel_or_other_iterations_or_threads():
    text = golden("likwid/real-copy.txt")
    assert parse(text, "stream").reason == "wrong-size"
    assert parse(text, "copy", iterations=7).reason == "wrong-size"
    assert parse(text, "copy", threads=2).reason == "wrong-size"


def test_without_its_command_line_the_size_cannot_be_checked():
    assert parse(golden("likwid/real-copy.txt"), "copy", command=()).reason == "unparsable"


def test_a_killed_run():
    assert parse(golden("likwid/truncated.txt")).reason == "truncated"


@given(
    st.integers(2**20, 2**35),
    st.integers(2**30, 2**42),
    st.integers(1, 128),
    st.floats(1, 64),
)
def test_the_working_set_needs_no_rounding_and_stays_in_memory(cache, memory, threads, multiple):
    node = NodeFacts(tuple(range(threads)), cache, memory)
    parameters = defaults(BENCHMARK, threads=threads, cache_multiple=multiple)
    size = working_set(parameters, node) * 1000
    unit = 48000 * threads
    assert all(size % (streams * 4 * 8 * threads) == 0 for streams in (2, 3, 4))
    assert size <= max(unit, min(multiple * cache, memory / 4))
    assert size > min(multiple * cache, memory / 4) - unit


def test_a_given_working_set_is_taken():
    assert working_set(defaults(BENCHMARK, working_set_mib=100), NODE) == 104_832


def test_a_node_of_unknown_cache_is_refused():
    with pytest.raises(UserError, match="does not tell the size of its last-level cache"):
        BENCHMARK.program(
            defaults(BENCHMARK, kernel="copy"),
            replace(NODE, last_level_cache=0),
        )


@pytest.mark.parametrize("time", ["0", "2e-07", "5e5", "4.9e-01", "1", "nan"])
def test_a_time_that_likwid_does_not_print_is_refused(time):
    text = golden("likwid/real-copy.txt").replace("4.973632e-01", time)
    assert (parse(text, "copy").reason, parse(text, "copy").metrics) == ("unparsable", ())
