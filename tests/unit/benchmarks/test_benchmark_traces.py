"""What the files of selfish and of steps say, and which are refused."""

import zlib
from functools import partial

import pytest
from benchmark_help import GOLDEN, case, golden, outcome, values
from hypothesis import given
from hypothesis import strategies as st
from traces import packed, trace

from parity.benchmarks import steps
from parity.benchmarks.model import Outputs, Parsed
from parity.benchmarks.selfish import BENCHMARK, NOT_LOCKED, TRACE
from parity.benchmarks.traces import HEAD, MODES, STEPS_MAGIC, STEPS_VERSION, VERSION, read_trace
from parity.core.files import as_text

NAMES = (*MODES, "limited", "packed")
REAL = {name: (GOLDEN / f"selfish/real-{name}.trace").read_bytes() for name in NAMES}
STEPS = {ranks: (GOLDEN / f"steps/real-{ranks}.bin").read_bytes() for ranks in (1, 2)}
PLACED = {"nodes": 1, "ranks": 2}


def parse(content: bytes, mode="detours", seconds=1.0, limit=None, **other) -> Parsed:
    asked = {"mode": mode, "seconds": seconds, **other}
    return outcome(BENCHMARK, asked, files={TRACE: as_text(content)}, limit=limit or {})


def test_numbers_of_a_trace():
    lengths = [1_000 * number for number in range(1, 1001)]
    entries = [(number * 500_000, length) for number, length in enumerate(lengths)]
    parsed = parse(trace(entries))
    assert parsed.valid and not parsed.detail
    assert values(parsed) == pytest.approx({
        "noise_share": 0.5005, "events_per_second": 1000, "duration_p50": 500e-6,
        "duration_p99": 990e-6, "duration_p999": 999e-6, "duration_longest": 1e-3,
        "loop_minimum": 10e-9, "looked": 1, "cpu_share": 0.75, "quota_in_force": 0,
        # Detours of 0.5 to 1 ms come every 0.5 ms.
        "quota_above_one_percent": 0, "periodic_millisecond_events": 501,
    })  # fmt: skip
    assert parse(trace([(0, 400)], locked=0)).detail == NOT_LOCKED


def test_a_quiet_run_has_no_lengths():
    nothing = ("noise_share", "events_per_second", "quota_in_force")
    nothing += ("quota_above_one_percent", "periodic_millisecond_events")
    seen = {"loop_minimum": 1e-8, "looked": 1, "cpu_share": 0.75}
    assert values(parse(trace([]))) == dict.fromkeys(nothing, 0) | seen


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
    return parse(trace([(0, 400)], **head), limit=limit)


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


@given(st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 2)), st.integers(1, VERSION))
def test_entries_are_read_as_they_were_written(entries, version):
    assert read_trace(trace(entries, version=version)).entries.tolist() == entries


def test_a_packed_number_of_more_bytes_than_any_has_is_refused():
    begin = trace([], count=1)[:-4] + b"\xff" * 10 + b"\x01\x01"
    content = begin + zlib.crc32(begin).to_bytes(4, "little")
    assert parse(content).detail == "a number of the file is longer than any is"


def test_a_limit_that_was_never_reached_shows_nothing():
    assert parse(trace([(0, 400)], quota_us=75_000, periods=10)).reason == "limit-not-in-force"
    others = trace([(0, 400)], quota_us=75_000, periods=10, cpu_ns=700_000_000)
    assert parse(others).reason == "limit-not-reached"
    # Two CPUs are more than a loop can take, and what is not seen is no limit.
    assert parse(trace([(0, 400)], quota_us=200_000, periods=10)).valid
    assert "cpu_quota" not in values(parse(trace([(0, 400)], quota_us=0, period_us=0)))


@pytest.mark.parametrize(("name", "mode"), [*zip(MODES, MODES, strict=True), ("packed", "detours")])
def test_real_traces(name, mode):
    parsed = parse(REAL[name], mode, 0.1)
    assert parsed.valid, parsed.detail
    assert 0 < values(parsed)["noise_share"] < 1
    found = read_trace(REAL[name])
    ends = found.entries["start"][:-1] + found.entries["length"][:-1]
    assert len(ends) and (found.entries["start"][1:] >= ends - 1).all()


def test_a_real_trace_under_a_limit():
    found, parsed = read_trace(REAL["limited"]), parse(REAL["limited"], seconds=0.1)
    assert parsed.valid, parsed.detail
    assert (found.quota_us, found.period_us, found.burst_us) == (10_000, 50_000, 10_000)
    assert (found.throttled, found.periods, found.shares, found.cpus) == (1, 2, 1024, 1)
    # The burst was left from before the first look: 28 of 100 ms, where the quota allows 20.
    assert values(parsed)["cpu_share"] == pytest.approx(0.2802, abs=1e-4)


@pytest.mark.parametrize(("content", "asked", "reason"), [
    (trace([(0, 400)]) + b"more", {}, "several-runs"),
    (trace([(0, 400)], version=VERSION + 1), {}, "unparsable"),
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


def written(lengths, **head) -> bytes:
    """A file as steps writes it; of steps in ns."""
    said = dict.fromkeys(HEAD.names, 0) | {"magic": STEPS_MAGIC, "version": STEPS_VERSION}
    said |= {"ranks": 1, "work_ns": 99_999.5, "quantum": 50_000, "locked": 1, "count": len(lengths)}
    said |= {"quota_us": -1, "period_us": 100_000} | head
    return packed(said, HEAD, [(0, length) for length in lengths])


def of_steps(content: bytes, world="openmpi/one-node.txt", **asked) -> Parsed:
    stderr, files = golden(world) if "ranks" in asked else "", {steps.FILE: as_text(content)}
    return outcome(steps.BENCHMARK, {"steps": 200} | asked, stderr=stderr, files=files)


def test_numbers_of_steps():
    # A hundred of 0.1 ms, of which two are held up for 5 ms and 15 ms.
    lengths = [100_000] * 98 + [5_100_000, 15_100_000]
    assert values(of_steps(written(lengths), steps=100)) == pytest.approx({
        "slowdown": 3.0, "step_shortest": 100e-6, "step_p50": 100e-6, "step_p99": 5.1e-3,
        "step_longest": 15.1e-3, "work": 100e-6,
    }, rel=1e-5)  # fmt: skip
    assert of_steps(written(lengths, locked=0), steps=100).detail == NOT_LOCKED


def test_a_limit_of_steps_is_told_and_need_not_have_been_reached():
    limited = written([100_000], quota_us=25_000, periods=10)
    found = values(of_steps(limited, steps=1))
    assert (found["cpu_quota"], found["throttled"]) == (0.25, 0)


@pytest.mark.parametrize(("ranks", "asked"), [(1, {}), (2, PLACED | {"idle_us": 50})])
def test_real_steps(ranks, asked):
    parsed = of_steps(STEPS[ranks], **asked)
    assert parsed.valid, parsed.detail
    assert 1 <= values(parsed)["slowdown"] < 10


def test_ranks_of_steps_that_are_no_world_are_refused():
    parsed = of_steps(STEPS[2], "openmpi/singletons.txt", **PLACED, idle_us=50)
    assert parsed.reason == "singletons"


@pytest.mark.parametrize(("content", "asked", "reason"), [
    (written([100_000]) + b"more", {}, "several-runs"),
    (written([100_000], version=STEPS_VERSION + 1), {}, "unparsable"),
    (written([100_000], magic=b"\x89selfish"), {}, "unparsable"),
    (written([100_000], ranks=2), {}, "wrong-size"),
    (written([100_000] * 2), {}, "wrong-size"),
    (written([100_000], idle_us=5), {}, "wrong-size"),
    (written([100_000]), {"work_us": 200}, "wrong-size"),
    (written([49_000]), {}, "contradictory"), (written([100_000]), PLACED, "wrong-size"),
    (b"text", {}, "unparsable"),
    (written([100_000], work_ns=float("nan")), {}, "unparsable"),
    (written([100_000], work_ns=-1.0), {}, "unparsable"),
    (written([100_000], work_ns=0.0), {}, "unparsable"),
])  # fmt: skip
def test_what_is_not_of_this_run_of_steps(content, asked, reason):
    assert of_steps(content, **{"steps": 1} | asked).reason == reason


@pytest.mark.parametrize(("content", "read"), [
    *((REAL[name], partial(parse, mode=mode, seconds=0.1))
      for name, mode in zip(REAL, (*MODES, "detours", "detours"), strict=True)),
    (STEPS[1], of_steps),
], ids=(*REAL, "steps"))  # fmt: skip
def test_no_changed_byte_is_read_over(content, read):
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        parsed = read(bytes(changed))
        assert not parsed.valid and not parsed.metrics, place


@given(st.sampled_from(("detours", "packed")), st.floats(0, 1, exclude_max=True))
def test_no_part_of_a_trace_is_a_whole(name, part):
    parsed = parse(REAL[name][: int(part * len(REAL[name]))], seconds=0.1)
    assert parsed.reason in ("truncated", "unparsable")


@pytest.mark.parametrize("length", [0, 7, 8, 12, HEAD.itemsize - 1, HEAD.itemsize, 300, -1])
def test_no_part_of_steps_is_a_whole(length):
    assert of_steps(STEPS[1][:length]).reason in ("truncated", "unparsable")


@pytest.mark.parametrize(("benchmark", "killed", "what"), [
    (BENCHMARK, parse((GOLDEN / "selfish/truncated.trace").read_bytes(), seconds=0.1), "trace"),
    (steps.BENCHMARK, of_steps((GOLDEN / "steps/truncated.bin").read_bytes()), "steps"),
])  # fmt: skip
def test_a_run_that_was_killed_or_left_nothing(benchmark, killed, what):
    assert killed.reason == "truncated"
    parsed = benchmark.parse(Outputs(parameters=case(benchmark)))
    assert (parsed.reason, parsed.detail) == ("unparsable", f"the run left no {what}")
