"""What selfish's trace says, and which traces are refused."""

import pytest
from benchmark_help import GOLDEN, defaults, values
from hypothesis import given
from hypothesis import strategies as st
from traces import trace

from parity.benchmarks.model import Outputs, Parsed
from parity.benchmarks.selfish import BENCHMARK, NOT_LOCKED, TRACE
from parity.benchmarks.traces import MODES, read_trace
from parity.core.files import as_text

REAL = {name: (GOLDEN / f"selfish/real-{name}.trace").read_bytes() for name in (*MODES, "limited")}


def parse(content: bytes, mode="detours", seconds=1.0, **other) -> Parsed:
    parameters = defaults(BENCHMARK, mode=mode, seconds=seconds, **other)
    return BENCHMARK.parse(Outputs(files={TRACE: as_text(content)}, parameters=parameters))


def test_numbers_of_a_trace():
    lengths = [1_000 * number for number in range(1, 1001)]
    entries = [(number * 500_000, length) for number, length in enumerate(lengths)]
    parsed = parse(trace(entries))
    assert parsed.valid and not parsed.detail
    assert values(parsed) == pytest.approx(
        {
            "noise_share": 0.5005,
            "events_per_second": 1000,
            "duration_p50": 500e-6,
            "duration_p99": 990e-6,
            "duration_p999": 999e-6,
            "duration_longest": 1e-3,
            "loop_minimum": 10e-9,
            "looked": 1,
            "cpu_share": 0.75,
            "quota_in_force": 0,
            "quota_above_one_percent": 0,
            # Those of 0.5 to 1 ms come every 0.5 ms.
            "periodic_millisecond_events": 501,
        }
    )
    of_a_limit = {"cpu_quota", "cpu_period", "throttled"}
    assert [metric.name for metric in parsed.metrics] == [
        quantity.metric for quantity in BENCHMARK.metrics if quantity.metric not in of_a_limit
    ]


def test_a_quiet_run_has_no_lengths():
    nothing = ("noise_share", "events_per_second", "quota_in_force")
    nothing += ("quota_above_one_percent", "periodic_millisecond_events")
    expected = dict.fromkeys(nothing, 0) | {
        "loop_minimum": 1e-8, "looked": 1, "cpu_share": 0.75,
    }  # fmt: skip
    assert values(parse(trace([]))) == expected


def test_quanta_lose_what_they_take_beyond_the_shortest_and_the_threshold():
    entries = [(0, 1_000_000), (1_000_000, 1_005_400), (2_005_400, 1_100_000)]
    content = trace(entries, "fwq", 1.0, minimum=1_000_100, threshold=300)
    parsed = parse(content, "fwq")
    assert values(parsed)["events_per_second"] == 2
    assert values(parsed)["noise_share"] == pytest.approx(105_400e-9)


def test_a_limit_is_told_and_in_force_by_the_numbers_of_either_version() -> None:
    limited = trace([(0, 400)], quota_us=75_000, periods=10, throttled=9)
    found = values(parse(limited))
    assert (found["cpu_quota"], found["cpu_period"]) == (0.75, 0.1)
    assert (found["throttled"], found["quota_in_force"]) == (0.9, 1)
    limit = {"quota_us": 50_000, "period_us": 100_000, "burst_us": 0, "shares": 128, "weight": 5}
    for shares in ({"shares": 128}, {"shares": 0, "weight": 5}):
        parsed = inside(limit, quota_us=50_000, periods=9, throttled=9, **shares)
        assert parsed.valid, parsed.detail


@pytest.mark.parametrize(("throttled", "above"), [(0, 0), (5, 0), (20, 0.01), (2000, 0.99)])
def test_detours_of_the_quota_are_as_many_as_the_kernel_counted(throttled, above):
    entries = [(1000 * number, 400) for number in range(1000)]
    content = trace(entries, quota_us=75_000, periods=3000, throttled=max(1, throttled))
    assert values(parse(content))["quota_above_one_percent"] == pytest.approx(above)


def millisecond(starts, length=1_000_000):
    parsed = parse(trace([(int(1e6 * start), length) for start in starts]))
    return values(parsed)["periodic_millisecond_events"]


def test_detours_of_a_millisecond_are_regular_or_not():
    regular = range(0, 1000, 20)
    assert millisecond(regular) == 50
    assert millisecond(regular, 400_000) == millisecond(regular, 2_100_000) == 0
    # In bursts they vary by more than half their mean, and few may be so by chance.
    assert millisecond([second + at for second in range(0, 1000, 100) for at in (0, 2)]) == 0
    assert millisecond(range(0, 200, 20)) == 0
    assert millisecond(range(0, 220, 20)) == 11


def inside(limit, **head):
    outputs = Outputs(
        files={TRACE: as_text(trace([(0, 400)], **head))},
        parameters=defaults(BENCHMARK, mode="detours", seconds=1.0),
        limit=limit,
    )
    return BENCHMARK.parse(outputs)


@pytest.mark.parametrize(("limit", "head", "name"), [
    ({"quota_us": 50_000, "period_us": 100_000}, {}, "quota_us"),
    ({"quota_us": 50_000, "period_us": 50_000}, {"quota_us": 50_000}, "period_us"),
    ({"burst_us": 5}, {}, "burst_us"), ({"shares": 128, "weight": 5}, {}, "shares"),
    ({"shares": 128, "weight": 5}, {"shares": 0, "weight": 100}, "weight"),
])  # fmt: skip
def test_a_limit_that_is_not_there_inside_is_not_in_force(limit, head, name):
    parsed = inside(limit, throttled=1, **head)
    assert (parsed.valid, parsed.reason) == (False, "limit-not-in-force")
    assert parsed.detail.startswith(f"{name} is to be {limit[name]}, and is ")


def test_a_trace_of_version_1_is_read_and_tells_less():
    content = trace([(5, 400)], version=1, quota_us=75_000, periods=10, throttled=9)
    found = read_trace(content)
    assert (found.quota_us, found.throttled, found.entries.tolist()) == (75_000, 9, [(5, 400)])
    assert (found.burst_us, found.shares, found.cpus, found.cpu_ns) == (0, 0, 0, 0)
    assert "cpu_share" not in values(parse(content))


def test_a_limit_that_was_never_reached_shows_nothing():
    assert parse(trace([(0, 400)], quota_us=75_000, periods=10)).reason == "limit-not-in-force"
    others = trace([(0, 400)], quota_us=75_000, periods=10, cpu_ns=700_000_000)
    assert parse(others).reason == "limit-not-reached"
    # Two CPUs are more than a loop can take, and what is not seen is no limit.
    assert parse(trace([(0, 400)], quota_us=200_000, periods=10)).valid
    assert "cpu_quota" not in values(parse(trace([(0, 400)], quota_us=0, period_us=0)))


def test_memory_that_could_not_be_locked_is_told():
    assert parse(trace([(0, 400)], locked=0)).detail == NOT_LOCKED


@pytest.mark.parametrize("mode", MODES)
def test_real_traces(mode):
    parsed = parse(REAL[mode], mode, 0.1)
    assert parsed.valid, parsed.detail
    assert 0 < values(parsed)["noise_share"] < 1
    found = read_trace(REAL[mode])
    ends = found.entries["start"][:-1] + found.entries["length"][:-1]
    assert len(ends) and (found.entries["start"][1:] >= ends - 1).all()


def test_a_real_trace_under_a_limit():
    found, parsed = read_trace(REAL["limited"]), parse(REAL["limited"], seconds=0.1)
    assert parsed.valid, parsed.detail
    assert (found.quota_us, found.period_us, found.burst_us) == (10_000, 50_000, 10_000)
    assert (found.throttled, found.periods, found.shares, found.cpus) == (1, 2, 1024, 1)
    # The burst was left from before the first look: 28 of 100 ms, where the quota allows 20.
    assert values(parsed)["cpu_share"] == pytest.approx(0.2802, abs=1e-4)


@pytest.mark.parametrize("name", REAL)
def test_no_changed_byte_is_read_over(name):
    mode = name if name in MODES else "detours"
    for place in range(0, len(REAL[name])):
        content = bytearray(REAL[name])
        content[place] ^= 1 << place % 8
        parsed = parse(bytes(content), mode, 0.1)
        assert not parsed.valid and not parsed.metrics, place


@given(st.integers(0, len(REAL["detours"]) - 1))
def test_no_part_is_a_whole(length):
    parsed = parse(REAL["detours"][:length], seconds=0.1)
    assert parsed.reason in ("truncated", "unparsable")


@pytest.mark.parametrize(("content", "asked", "reason"), [
    (trace([(0, 400)]) + b"more", {}, "several-runs"),
    (trace([(0, 400)], version=3), {}, "unparsable"),
    (trace([(0, 400)]), {"mode": "fwq"}, "wrong-size"),
    (trace([(0, 400)]), {"quantum": 3}, "wrong-size"),
    (trace([(0, 400)]), {"multiple": 6}, "wrong-size"),
    (trace([(0, 400)], seconds=0.5), {}, "wrong-size"),
    (b"text", {}, "unparsable"),
    # Traces that are whole and cannot be.
    (trace([(0, 2_000_000_000)]), {}, "contradictory"),
    (trace([(2_000_000_000, 400)]), {}, "contradictory"),
    (trace([(0, 2**63), (1, 2**63)]), {}, "contradictory"),
    (trace([(0, 400)], minimum=float("nan")), {}, "unparsable"),
    (trace([(0, 400)], threshold=float("inf")), {}, "unparsable"),
    (trace([(0, 400)], threshold=-350.0), {}, "unparsable"),
    (trace([(0, 400)], hz=0), {}, "unparsable"), (trace([], duration_ns=0), {}, "unparsable"),
])  # fmt: skip
def test_what_is_no_trace_of_this_run(content, asked, reason):
    assert parse(content, **asked).reason == reason


def test_a_run_that_was_killed_or_left_no_trace():
    assert (
        parse((GOLDEN / "selfish/truncated.trace").read_bytes(), seconds=0.1).reason == "truncated"
    )
    parsed = BENCHMARK.parse(Outputs(parameters=defaults(BENCHMARK, mode="detours")))
    assert (parsed.reason, parsed.detail) == ("unparsable", "the run left no trace")
