import pytest
from benchmark_help import NODE, cuts, defaults, golden, values

from parity.benchmarks.model import Metric, Outputs
from parity.benchmarks.sysbench import BENCHMARK
from parity.core.errors import UserError


def parse(text, **parameters):
    return BENCHMARK.parse(Outputs(stdout=text, parameters=defaults(BENCHMARK, **parameters)))


def test_a_real_output():
    parsed = parse(golden("sysbench/real.txt"))
    assert parsed.valid
    assert parsed.metrics == (
        Metric("time", 1.0704, "s", "lower"),
        Metric("events_per_second", 2612.51, "1/s", "higher"),
    )
    assert set(BENCHMARK.primary) <= values(parsed).keys()


def test_a_run_that_did_fewer_events_than_it_was_asked_for():
    parsed = parse(golden("sysbench/failed.txt"), events=1_000_000)
    assert (parsed.valid, parsed.reason) == (False, "wrong-size")
    assert parsed.detail == "events: asked for 1000000, the output says 2654"


@pytest.mark.parametrize("parameter", ["prime", "threads", "events"])
def test_a_run_with_other_parameters(parameter):
    assert parse(golden("sysbench/real.txt"), **{parameter: 7}).reason == "wrong-size"


def test_a_truncated_output_is_never_valid():
    assert parse(golden("sysbench/truncated.txt")).reason == "truncated"
    assert not any(parse(text).valid for text in cuts(golden("sysbench/real.txt")))


def test_latencies_must_be_there():
    text = golden("sysbench/real.txt").replace("95th percentile:", "")
    assert parse(text).reason == "unparsable"


def test_the_command_line():
    program = BENCHMARK.program(defaults(BENCHMARK, threads=2), NODE)
    assert program.argv == (
        "/usr/bin/sysbench",
        "cpu",
        "--cpu-max-prime=10000",
        "--events=2800",
        "--time=0",
        "--threads=2",
        "run",
    )
    assert program.cpus == (0, 1)


def test_more_threads_than_cpus_is_refused():
    with pytest.raises(UserError, match="3 logical CPUs are asked for, and 2 may be used"):
        BENCHMARK.program(defaults(BENCHMARK, threads=3), NODE)
