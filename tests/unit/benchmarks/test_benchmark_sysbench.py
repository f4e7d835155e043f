from statistics import fmean, pstdev

import pytest
from benchmark_help import NODE, defaults, golden, values
from hypothesis import given
from hypothesis import strategies as st

from parity.benchmarks.model import Metric, Outputs
from parity.benchmarks.reading import Refused, printed
from parity.benchmarks.sysbench import BENCHMARK, Share, require_balance
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


def test_a_killed_run():
    assert parse(golden("sysbench/truncated.txt")).reason == "truncated"


def test_latencies_must_be_there():
    text = golden("sysbench/real.txt").replace("95th percentile:", "")
    assert parse(text).reason == "unparsable"


@pytest.mark.parametrize(
    ("events", "busy", "reason"),
    [
        ("1400.0000/12.00", "0.5349/0.00", ""),
        ("1400.0000/1399.99", "0.5349/0.03", ""),  # one processor is slow
        ("1400.0000/1400.00", "0.5349/0.53", "unbalanced"),  # one of the two did everything
        ("1300.0000/12.00", "0.5349/0.00", "contradictory"),
        ("1400.0000/12.00", "0.6349/0.00", "contradictory"),
    ],
)
def test_two_threads_share_the_work(events, busy, reason):
    text = golden("sysbench/real.txt").replace("threads: 1", "threads: 2")
    text = text.replace("2800.0000/0.00", events).replace("1.0697/0.00", busy)
    assert parse(text, threads=2).reason == reason


@pytest.mark.parametrize("mean", ["2800.0000", "1.0697"])
def test_one_thread_has_nobody_to_differ_from(mean):
    text = golden("sysbench/real.txt").replace(f"{mean}/0.00", f"{mean}/0.01")
    assert parse(text).reason == "unbalanced"


@given(events=st.lists(st.integers(0, 10_000), min_size=1, max_size=63), each=st.floats(1e-6, 1))
def test_a_thread_that_did_nothing_is_always_found(events, each):
    events = [0, *events]
    shares = [
        Share(printed(f"{fmean(parts):.4f}", "mean"), printed(f"{pstdev(parts):.2f}", "scatter"))
        for parts in (events, [each * event for event in events])
    ]
    with pytest.raises(Refused):
        require_balance(shares, len(events))


def test_more_threads_than_cpus_is_refused():
    with pytest.raises(UserError, match="3 logical CPUs are asked for, and 2 may be used"):
        BENCHMARK.program(defaults(BENCHMARK, threads=3), NODE)
