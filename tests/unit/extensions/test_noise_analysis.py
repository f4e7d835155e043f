"""Tails, quantiles, limits, and replay: closed forms, laws by brute force, planted truths."""

import json
import math
from pathlib import Path

import claims_data
import numpy as np
import pandas as pd
import pytest
from benchmark_help import defaults
from scipy import stats
from traces import trace

import parity.report
from parity.analysis import methods, tables
from parity.benchmarks.model import Outputs
from parity.benchmarks.selfish import BENCHMARK, TRACE
from parity.core.files import as_text
from parity.extensions.noise.analysis import durations, replay, study
from parity.extensions.noise.analysis.durations import Window, quota_law
from parity.plan.plan import write_plan
from parity.records import events, schema
from parity.records.events import LOOKED, PERIOD, QUOTA

MS = 1_000_000
SECOND = 1000 * MS


def window(starts, lengths, duration=SECOND, block="b1", number=0) -> Window:
    return Window((block, number), duration, np.array(starts, int), np.array(lengths, int))


def poisson(seed: int, rate: float, length: int, seconds: float = 30.0) -> Window:
    """Events at random moments, of exponential lengths."""
    random = np.random.default_rng(seed)
    work = np.sort(random.integers(0, round(seconds * 9e8), round(rate * seconds)))
    lengths = random.exponential(length, len(work)).astype(int) + 1
    starts = work + np.cumsum(lengths) - lengths
    duration = max(round(seconds * 1e9), int(starts[-1] + lengths[-1]) + 1)
    return window(starts, lengths, duration, f"b{seed}")


ONCE = np.ones((1, 1))


@pytest.mark.parametrize("step", [1e-4, 1e-3, 1e-2, 0.05])
def test_periodic_events_slow_programs_as_their_closed_form_says(step: float) -> None:
    """Of a period P with an event L, and steps w < P - L.

    A rank that has just worked waits for L with probability w/(P - L). One that may come out of
    any moment of an event waits for x in (0, L) with density 1/P, and for L with probability w/P.
    """
    period, length, work = 100 * MS, 10 * MS, step * 1e9
    starts = np.arange(50 * MS, 30 * SECOND, period)
    recorded = window(starts, np.full(len(starts), length), 30 * SECOND)
    found = replay.delays([recorded], step)
    law = replay.laws(found, ONCE)[0]
    below = found.values < 0.999 * length
    assert law[0, below][0] == pytest.approx(1 - work / (period - length), rel=1e-6)
    assert found.stopped[0, 0].sum() == 0
    # The longest wait is one of L / sqrt 2, so events that began longer ago are left out.
    held = math.sqrt(0.5) * length
    ranged = period - length + held
    assert law[-1, 0] == pytest.approx(1 - (work + held) / ranged, rel=1e-3)
    assert law[-1, below][-1] == pytest.approx(1 - work / ranged, rel=0.01)
    slowdowns = replay.slowdowns(found, ONCE)[0]
    assert slowdowns[0] == pytest.approx(period / (period - length), rel=2e-4)
    assert slowdowns[-1] == pytest.approx(1 + length / work, rel=2e-3)
    # Ranks that meet the same events lose what one rank loses.
    assert replay.together(found, ONCE) == pytest.approx(period / (period - length), rel=1e-12)


def test_a_quota_stops_a_large_program_for_all_of_it_in_each_step() -> None:
    # 50 of 100 ms and a step of 1 ms: one plus what is left of the period over the step.
    starts = np.arange(0, 30 * SECOND, 100 * MS) + 50 * MS
    recorded = window(starts, np.full(len(starts), 50 * MS), 30 * SECOND)
    slowdowns = replay.slowdowns(replay.delays([recorded], 1e-3), ONCE)[0]
    assert slowdowns[0] == pytest.approx(2, rel=1e-3)
    assert slowdowns[-1] == pytest.approx(51, rel=2e-3)


@pytest.mark.parametrize("work", [3, 17, 60, 200, 1000])
def test_the_law_of_delays_is_that_of_each_nanosecond(work: int) -> None:
    """Against a clock that goes on by one nanosecond at a time; some events touch each other."""
    starts, lengths, duration = [0, 11, 15, 40, 90], [5, 4, 10, 1, 10], 100
    stopped = np.zeros(2 * duration, bool)
    for start, length in zip(starts, lengths, strict=True):
        stopped[2 * start : 2 * (start + length)] = True
    delays = []
    # From the middle of a nanosecond on, so that no step ends just where an event begins.
    for moment in range(1, 2 * duration, 2):
        worked = wall = 0
        while worked < 2 * work:
            worked += not stopped[(moment + wall) % (2 * duration)]
            wall += 1
        delays.append(wall / 2 - work)
    stopped = stopped[1::2]
    found = replay.delays([window(starts, lengths, duration)], work / 1e9)
    assert found.working.sum() == duration - sum(lengths)
    waits = [0, *(int(each) for each in found.longest[1:] / math.sqrt(2))]
    within = [sum(min(length, wait) for length in lengths) for wait in waits]
    assert found.stopped[0].sum(axis=1) == pytest.approx(within)
    assert found.moments.sum() == sum(np.array(delays)[~stopped])
    longest = max(delays)
    assert replay.slowdowns(found, ONCE)[0][-1] == pytest.approx(1 + longest / work, rel=0.02)
    alone = np.mean(np.array(delays)[~stopped])
    assert replay.slowdowns(found, ONCE)[0][0] == pytest.approx(1 + alone / work, rel=0.01)


def _stepped(recorded: Window, ranks: int, work: int, steps: int) -> float:
    """Slowdown of a program whose ranks really go on from step to step, each from its own start."""
    random = np.random.default_rng(ranks)
    at = recorded.starts - (np.cumsum(recorded.lengths) - recorded.lengths)
    ends, lost = recorded.starts + recorded.lengths, np.cumsum(recorded.lengths)
    busy = recorded.duration - lost[-1]
    now = random.integers(0, recorded.duration, ranks)
    began = now.copy()
    for _ in range(steps):
        turn, moment = np.divmod(now, recorded.duration)
        passed = np.searchsorted(ends, moment, "right")
        inside = np.searchsorted(recorded.starts, moment, "right") > passed
        before = np.where(passed > 0, lost[passed - 1], 0)
        worked = np.where(inside, at[np.minimum(passed, len(at) - 1)], moment - before) + work
        more, worked = np.divmod(worked, busy)
        stops = np.searchsorted(at, worked)
        done = worked + np.where(stops > 0, lost[stops - 1], 0)
        took = (turn + more) * recorded.duration + done - now
        now = now + took.max()
    return float((now - began)[0]) / (steps * work)


@pytest.mark.parametrize("ranks", [1, 2, 16, 64])
@pytest.mark.parametrize("work", [MS // 10, MS, 10 * MS])
@pytest.mark.parametrize(("rate", "length"), [(300, MS // 3), (10, 5 * MS)])
def test_programs_that_go_on_from_step_to_step_are_slowed_alike(ranks, work, rate, length) -> None:
    recorded = poisson(5, rate, length, seconds=90)
    place = replay.RANKS.index(ranks)
    told = replay.slowdowns(replay.delays([recorded], work / 1e9), ONCE)[0][place]
    steps = min(20_000, round(1e9 * 60 / work))
    assert _stepped(recorded, ranks, work, steps) == pytest.approx(told, rel=0.08)


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_whoever_waited_for_a_short_event_does_not_come_out_of_the_end_of_a_long_one(ranks: int):
    """Many short events and a few long ones, as a quiet machine has them."""
    random = np.random.default_rng(7)
    lengths = np.where(random.random(40_000) < 0.002, 4 * MS, 15_000)
    starts = np.cumsum(random.exponential(1.4 * MS, 40_000).astype(int) + 1) + np.cumsum(lengths)
    recorded = window(starts - lengths, lengths, int(starts[-1]) + MS)
    place = replay.RANKS.index(ranks)
    told = replay.slowdowns(replay.delays([recorded], 1e-3), ONCE)[0][place]
    assert told - 1 == pytest.approx(_stepped(recorded, ranks, MS, 20_000) - 1, rel=0.12)


def test_a_number_beyond_what_was_recorded_says_so() -> None:
    recorded = [poisson(seed, rate=20, length=MS, seconds=2) for seed in range(8)]
    rows = list(replay.replay(recorded, replay.delays(recorded, 1e-2)))
    assert [row["phases"] for row in rows[:2]] == [replay.RANDOM, replay.TOGETHER]
    for row in rows:
        assert row["low"] <= row["slowdown"] <= row["high"]
        spent = row["ranks"] * 1e-2 * row["slowdown"]
        assert row["beyond"] == (row["phases"] == replay.RANDOM and spent > 16.0)
    assert {row["beyond"] for row in rows} == {True, False}
    # Less is known of few windows, and steps that are longer than those.
    few = list(replay.replay(recorded[:5], replay.delays(recorded[:5], 5.0)))
    assert all(row["beyond"] and row["low"] is None and row["high"] is None for row in few)


def test_intervals_of_slowdowns_hold_what_is_true() -> None:
    """Of windows that differ in their rate: 95 % of the intervals hold the mean of many."""
    every = [poisson(seed, rate=20 + seed % 40, length=MS, seconds=1) for seed in range(400)]
    whole = replay.slowdowns(replay.delays(every, 1e-2), np.ones((1, 400)))[0][5]
    held = 0
    for some in np.array_split(np.random.default_rng(1).permutation(400), 20):
        of_some = [every[place] for place in some]
        rows = list(replay.replay(of_some, replay.delays(of_some, 1e-2)))
        held += rows[10]["low"] < whole < rows[10]["high"]
    assert rows[10]["ranks"] == 32 and held >= 16


def test_more_events_come_evenly_in_its_work_and_the_recorded_ones_stay() -> None:
    recorded = window([100 * MS, 1500 * MS], [10 * MS, 20 * MS], 3030 * MS)
    more = durations.interrupted(recorded, 1, 5 * MS)
    # In three seconds of work at 0.5, 1.5 and 2.5 s of it; the second was recorded at 1.49 s.
    assert (more.starts / MS).tolist() == [100, 510, 1505, 1535, 2540]
    assert (more.lengths / MS).tolist() == [10, 5, 20, 5, 5]
    assert (more.key, more.duration) == (recorded.key, 3045 * MS)
    none = durations.interrupted(window([], [], SECOND // 4), 1, 5 * MS)
    assert not len(none.lengths) and none.duration == SECOND // 4


@pytest.mark.parametrize("length", [MS // 100, 10 * MS])
def test_an_event_a_second_costs_one_rank_its_length_and_very_many_that_in_each_step(length: int):
    quiet = [durations.interrupted(window([], [], 30 * SECOND), 1, length)]
    slowdowns = replay.slowdowns(replay.delays(quiet, 1e-2), ONCE)[0]
    assert slowdowns[0] == pytest.approx(1 + length / SECOND, rel=1e-6)
    assert slowdowns[-1] == pytest.approx(1 + length / (10 * MS), rel=0.01)


def test_a_window_without_any_work_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is left of window"):
        replay.delays([window([0], [SECOND])], 1e-3)


def test_long_runs_are_parted_and_lose_no_event() -> None:
    starts = np.arange(0, 95 * SECOND, SECOND // 3)
    parted = durations.split("b", 95.0, starts, np.full(len(starts), 5))
    assert [each.key for each in parted] == [("b", 0), ("b", 1), ("b", 2)]
    assert sum(len(each.starts) for each in parted) == len(starts)
    assert all((each.starts >= 0).all() and each.starts[0] < SECOND for each in parted)
    assert len(durations.split("b", 29.99, starts[:50], starts[:50])) == 1


def test_quantiles_are_lengths_and_windows_are_what_is_independent() -> None:
    """Two natives whose detours come in bursts: around 50 % their order statistics never met."""
    lengths = np.random.default_rng(3).permutation(np.arange(1, 5001)) * 1000
    parted = [
        window(range(500), part, block=f"b{i}") for i, part in enumerate(lengths.reshape(10, -1))
    ]
    places, often = {each.key: place for place, each in enumerate(parted)}, methods.resampled(10)
    for row in durations.quantiles(parted, places, often).beside(None, 10):
        assert row["value"] == np.quantile(lengths, row["share"], method="inverted_cdf") / 1e9
        assert row["low"] <= row["value"] <= row["high"]
        assert (row["events"], row["seconds"]) == (5000, 10.0)
    random, held = np.random.default_rng(4), 0
    for _ in range(100):
        sizes = random.lognormal(0, 1, 20)
        of_each = [1e5 * size * random.exponential(size=200) + 1 for size in sizes]
        bursts = [window(range(200), of, block=f"b{i}") for i, of in enumerate(of_each)]
        found = durations.quantiles(
            bursts, {each.key: i for i, each in enumerate(bursts)}, methods.resampled(20)
        )
        (median, *_) = found.beside(None, 20)
        held += median["low"] <= BURSTS_MEDIAN <= median["high"]
    assert held >= 85


# Of an exponential of scale 0.1 ms times a lognormal, by four million draws: half are shorter.
BURSTS_MEDIAN = 6.36e-5


def test_ratios_of_quantiles_are_drawn_with_their_windows() -> None:
    def arm(factor: float) -> list[Window]:
        random = np.random.default_rng(9)
        # Windows differ much, and both arms alike.
        sizes = random.lognormal(0, 0.5, 20)
        return [
            window(range(2000), factor * size * random.exponential(1e5, 2000) + 1, block=f"b{i}")
            for i, size in enumerate(sizes)
        ]

    often, places = methods.resampled(20), {(f"b{i}", 0): i for i in range(20)}
    reference, twice = (durations.quantiles(arm(factor), places, often) for factor in (1.0, 2.0))
    for row in twice.beside(reference, 20)[:4]:
        assert row["ratio"] == pytest.approx(2, rel=1e-3)
        assert 1.9 < row["ratio_low"] <= 2.001 and 1.999 <= row["ratio_high"] < 2.1
    assert all(row["ratio"] is None for row in reference.beside(None, 20))
    few = twice.beside(reference, 5)
    assert few[0]["ratio"] and few[0]["ratio_low"] is None
    nothing = durations.quantiles([window([], [])], places, often)
    (first, *_) = nothing.beside(reference, 20)
    assert (first["events"], first["value"], first["ratio"], first["ratio_low"]) == (
        0, None, None, None,
    )  # fmt: skip


def test_a_law_of_any_weight_fits_its_own_sample_and_not_two_groups_of_lengths() -> None:
    """As a quota makes them: few of 0.1 ms, and many of 50 ms."""
    own = [durations.return_level(_pareto(2.5, seed, seconds=4)) for seed in range(6)]
    assert 0.05 < np.median([row["fit"] for row in own]) < 0.95
    assert np.median([row["shape"] for row in own]) == pytest.approx(2.5, rel=0.2)
    random = np.random.default_rng(1)
    both = np.concatenate([random.exponential(1e5, 12_000), random.normal(5e7, 1e5, 250)])
    row = durations.return_level([window(range(len(both)), np.abs(both) + 1, 12 * SECOND)])
    assert row["fit"] <= 0.02


@pytest.mark.parametrize("shape", [-0.25, -0.001, 0.3, 0.9])
def test_a_tail_is_fitted_as_scipy_fits_it(shape: float) -> None:
    sample = stats.genpareto(shape, scale=2e-5).rvs(1000, random_state=1)
    tail = durations.fitted([sample[:300], sample[300:]], np.ones((1, 2)))
    expected, _, scale = stats.genpareto.fit(sample / 2e-5, floc=0)
    assert tail.shape[0] == pytest.approx(expected, abs=0.005)
    assert tail.scale[0] == pytest.approx(scale * 2e-5, rel=0.005)
    # A group that is drawn twice is as one that is there twice.
    doubled = durations.fitted([sample[:300], sample[300:]], np.array([[2.0, 1.0]]))
    again = durations.fitted([np.concatenate([sample[:300], sample])], ONCE)
    assert doubled.shape[0] == pytest.approx(again.shape[0], abs=1e-3)


def _pareto(shape: float, seed: int, seconds: int = 30, rate: int = 1000) -> list[Window]:
    """Windows of a second each whose lengths above 10 µs have that law, scaled by 10 µs."""
    law = stats.genpareto(shape, loc=10_000, scale=10_000)
    lengths = law.rvs((seconds, rate), random_state=seed).astype(int)
    return [window(range(rate), each, block=f"b{i:03}") for i, each in enumerate(lengths)]


@pytest.mark.parametrize("shape", [-0.1, 0.2, 0.4])
def test_the_level_of_a_planted_tail_is_within_its_interval(shape: float) -> None:
    events_in_period = 1000 * durations.PERIOD_SECONDS
    true = 1e-5 + 1e-5 * math.expm1(shape * math.log(events_in_period)) / shape
    rows = [durations.return_level(_pareto(shape, seed)) for seed in range(8)]
    assert sum(row["low"] < true < row["high"] for row in rows) >= 6
    assert sum(row["shape_low"] < shape < row["shape_high"] for row in rows) >= 6
    assert np.median([row["level"] for row in rows]) == pytest.approx(true, rel=0.35)
    # p of a fit that is right is uniform.
    assert sum(row["fit"] > 0.1 for row in rows) >= 5
    # Whole nanoseconds may be alike at the threshold.
    assert {row["exceedances"] for row in rows} <= {999, 1000}
    alone = durations.level_of(_pareto(shape, 0))
    assert alone == pytest.approx(rows[0]["level"])


def test_what_is_too_little_for_a_tail_has_none() -> None:
    few = durations.return_level([window(range(599), range(1, 600), 30 * SECOND)])
    assert few["exceedances"] == 0 and few["level"] is None and few["longest"] == 599e-9
    one_length = durations.return_level([window(range(5000), [7] * 5000, 30 * SECOND)])
    assert one_length["exceedances"] == 0 and one_length["threshold"] is None
    # Half a second says nothing of a quarter of an hour.
    assert durations.level_of(_pareto(0.2, 1, seconds=8)) is None
    assert durations.level_of(_pareto(0.2, 1, seconds=9)) is not None
    assert durations.return_level([window([], [])])["longest"] is None


def test_detours_of_a_limit_are_told_apart_and_are_what_is_left_of_the_period() -> None:
    random = np.random.default_rng(2)
    due = (10 * MS + random.integers(-MS, MS, 301)).tolist()
    mixed = [*due, *random.integers(300, 50_000, 9699).tolist()]
    parts = [mixed[place::10] for place in range(10)]
    runs = [window(range(len(part)), part, 31 * SECOND // 10) for part in parts]
    law = quota_law(runs, 90_000, 100_000, 250.0)
    assert law["predicted"] == pytest.approx(0.010)
    assert law["observed"] == np.median(due) / 1e9
    assert law["low"] < law["observed"] < law["high"] < law["low"] + 6e-4
    assert law["residual"] == pytest.approx(law["observed"] - 0.010)
    assert (law["tick"], law["events"], law["share"]) == (0.004, 301, 0.0301)
    assert law["per_second"] == pytest.approx(10_000 / 31)
    assert law["per_cpu_second"] == pytest.approx(10_000 / (31 - sum(mixed) / 1e9))
    nothing = quota_law([window([], [])], 90_000, 100_000, None)
    assert (nothing["observed"], nothing["residual"], nothing["tick"]) == (None, None, None)
    assert (nothing["events"], nothing["share"]) == (0, None)


ARMS = {"native-a": "native", "native-b": "native", "box": "boxes", "held": "boxes"}


def dataset(folder: Path) -> Path:
    """An analysed dataset of selfish, ten seconds in seven blocks: `held` has 60 of each 100 ms."""
    parameters = defaults(BENCHMARK, mode="detours", seconds=10.0)
    case = {"case": "selfish-detours", "benchmark": "selfish", "parameters": parameters}
    every = {("selfish-detours", arm): [1.0] * 7 for arm in ARMS}
    made, _ = claims_data.dataset(every, [case], arms=ARMS)
    raw, values = [], []
    for row in made.runs.to_dict("records"):
        seed = row["block_number"] * 10 + list(ARMS).index(row["arm"])
        short = poisson(seed, rate=100, length=20_000, seconds=10.0)
        entries, limit = list(zip(short.starts.tolist(), short.lengths.tolist(), strict=True)), {}
        if row["arm"] == "held":
            entries = [(n * 100 * MS + 60 * MS, 40 * MS) for n in range(100)]
            limit = {"quota_us": 60_000, "periods": 100, "throttled": 100}
        left = as_text(trace(entries, seconds=10.0, **limit))
        parsed = BENCHMARK.parse(Outputs(files={TRACE: left}, parameters=parameters))
        assert parsed.valid
        own = {name: row[name] for name in ("case", "arm", "block", "run")}
        values += [
            own | {"metric": m.name, "value": m.value, "unit": m.unit, "better": m.better}
            for m in parsed.metrics
        ]
        key = {name: row[name] for name in ("campaign", "block", "run", "attempt", "block_number")}
        bytes_of = {"record": "{}", "stdout": b"", "stderr": b"", "samples": ""}
        raw.append(key | bytes_of | {"files": json.dumps({TRACE: left})})
    facts = [row | {"fact": "config_hz", "value": "250"} for row in made.nodes.to_dict("records")]
    for name in ("records", "analysis"):
        (folder / name).mkdir(parents=True)
    write_plan(folder / "plan.json", made.plan)
    schema.write_rows(schema.RAW, raw, folder / "records/raw.parquet")
    runs = made.runs.assign(parameters=json.dumps(parameters))
    tables.write(schema.RUNS, runs, folder / "records/runs.parquet")
    schema.write(schema.NODES, facts, folder / "records/nodes.parquet")
    schema.write(tables.VALUES, values, folder / "analysis/values.parquet")
    events.write_events(folder / "records", folder / "events")
    return folder


def test_a_dataset_s_tables_are_those_of_its_events(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "planted")
    found = study.shown(folder, folder / "events")
    levels = found["return_levels"].set_index("arm")
    assert list(levels.index) == sorted(ARMS)
    (law,) = found["quota_law"].to_dict("records")
    assert (law["arm"], law["quota_us"], law["period_us"]) == ("held", 60_000, 100_000)
    assert law["observed"] == pytest.approx(0.04) and law["residual"] == pytest.approx(0, abs=1e-9)
    assert (law["tick"], law["events"], law["share"]) == (0.004, 700, 1.0)
    assert law["per_cpu_second"] == pytest.approx(law["per_second"] / 0.6)
    quantile = found["quantiles"].set_index(["arm", "share"])
    assert quantile.loc["held", "value"].tolist() == pytest.approx([0.04] * 5)
    assert quantile.loc["native-a", "ratio"].isna().all()
    low, ratio, high = quantile.loc[("box", 0.5), ["ratio_low", "ratio", "ratio_high"]]
    assert 0.9 < low < ratio < high < 1.1
    simulated = found["replay"]
    assert len(simulated) == len(ARMS) * 21 * 5 * 2
    held = simulated[(simulated["arm"] == "held") & (simulated["step_seconds"] == 1e-3)]
    together = held[held["phases"] == "together"]
    assert together["slowdown"].to_numpy() == pytest.approx(100 / 60)
    of_runs = study.of_runs(folder, folder / "events")["event_values"]
    assert set(of_runs["metric"]) == {
        "duration_return_level", "millisecond_detours_per_second", "slowdown", "time"
    }  # fmt: skip
    name = study.injected_case("selfish-detours", 32, 1e-3, 10000)
    steps = of_runs[of_runs["case"] == name].groupby("arm")["value"].median()
    assert set(steps.index) == {"native-a", "native-b", study.INJECTED}
    # One of 32 ranks meets 10 ms in every 31st step, and another while all wait for it in a third.
    assert 0.32e-3 < steps[study.INJECTED] - steps["native-a"] < 0.32e-3 * 1.32
    name = study.replay_case("selfish-detours", 1024, 1e-3)
    assert name == "selfish-detours-replay-1024-0.001"
    quiet = of_runs[(of_runs["case"] == name) & (of_runs["arm"] == "box")]
    assert len(quiet) == 7 and set(quiet["run"]) == {"selfish-detours.box"}
    # 1024 ranks that wait 40 ms spend more than the ten seconds of a run: no run has a number.
    assert not ((of_runs["case"] == name) & (of_runs["arm"] == "held")).any()
    tables.write_added(parity.report, folder, folder / "events")
    for name, table in study.SHOWN.items():
        again = schema.read(table, folder / f"analysis/{name}.parquet").to_pandas()
        assert again.equals(found[name]), name


def test_without_events_all_tables_are_empty_and_have_their_columns(tmp_path: Path) -> None:
    made, analysed = claims_data.dataset(claims_data.quiet())
    (tmp_path / "records").mkdir()
    (tmp_path / "analysis").mkdir()
    write_plan(tmp_path / "plan.json", made.plan)
    tables.write(tables.VALUES, analysed.values, tmp_path / "analysis/values.parquet")
    schema.write(schema.NODES, tables.rows(made.nodes), tmp_path / "records/nodes.parquet")
    found = study.shown(tmp_path, tmp_path / "events")
    found |= study.of_runs(tmp_path, tmp_path / "events")
    for name, table in (study.SHOWN | study.VALUES).items():
        assert not len(found[name])
        assert list(found[name].columns) == [column.name for column in table.columns]


def test_an_arm_whose_runs_had_several_limits_follows_no_law() -> None:
    def limit_of(*runs: dict[str, float]) -> tuple[int, int] | None:
        made = pd.DataFrame({("a", f"b{number}"): run for number, run in enumerate(runs)}).T
        return study._limit(study._Recorded("c", made, Path()), "a")

    facts = {LOOKED: 1.0, QUOTA: 0.5, PERIOD: 0.1}
    assert limit_of(facts, facts) == (50_000, 100_000)
    for other in ({QUOTA: 0.4}, {QUOTA: 1.5}):
        assert limit_of(facts, facts | other) is None
    assert limit_of({LOOKED: 1.0}) is None


@pytest.mark.parametrize("shape", [0.5, 0.0, -0.3])
def test_the_distance_of_a_fit_is_kolmogorovs_as_scipy_has_it(shape: float) -> None:
    law = stats.genpareto(shape, scale=2.0)
    above = law.rvs(500, random_state=np.random.default_rng(1))
    found = durations._distance(above, durations.Tail(np.array([shape]), np.array([2.0])))
    assert found == pytest.approx(stats.ks_1samp(above, law.cdf).statistic)
