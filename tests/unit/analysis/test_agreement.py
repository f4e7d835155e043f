"""Fresh data beside the archive: what is predicted, what is compared, what is never compared."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
import synthetic
from matplotlib import pyplot
from scipy import stats

from parity.analysis import agreement, prediction
from parity.analysis.analysis import Analysed, analysed
from parity.core.errors import UserError
from parity.records import schema
from parity.report import origin
from parity.report.figures import agreement as figure
from parity.report.text import summary

ARMS = ("native-a", "native-b", "docker", "lxc")


def _with(mean: float, deviation: float, count: int) -> np.ndarray:
    """Numbers with exactly this mean and standard deviation."""
    values = np.arange(count, dtype=float)
    return mean + deviation * (values - values.mean()) / values.std(ddof=1)


def test_the_prediction_is_that_of_spence_and_stanley() -> None:
    # The example of their R package: M = 2.53, SD = 1.02, n = 40, 80 replications; by hand
    # 2.53 -+ 2.022691 * 1.02 * sqrt(1/40 + 1/80).
    low, high = prediction.prediction_interval(_with(2.53, 1.02, 40), 80)
    assert (low, high) == (pytest.approx(2.13044, abs=1e-4), pytest.approx(2.92956, abs=1e-4))


@pytest.mark.parametrize(("archived", "fresh"), [(30, 3), (10, 10), (3, 30)])
def test_of_true_predictions_95_in_100_come_true(archived: int, fresh: int) -> None:
    random, repetitions = np.random.default_rng(archived), 3000
    inside = 0
    for _ in range(repetitions):
        low, high = prediction.prediction_interval(random.normal(0.01, 0.02, archived), fresh)
        inside += low <= random.normal(0.01, 0.02, fresh).mean() <= high
    # Four standard errors of a share of 3000.
    assert inside / repetitions == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / repetitions))


def test_another_truth_lies_outside() -> None:
    random = np.random.default_rng(1)
    for _ in range(100):
        low, high = prediction.prediction_interval(random.normal(0, 0.01, 30), 10)
        assert not low <= random.normal(math.log(1.05), 0.01, 10).mean() <= high


def test_the_difference_is_welch_s() -> None:
    random = np.random.default_rng(2)
    fresh, archived = random.normal(0.1, 0.05, 7), random.normal(0, 0.01, 30)
    expected = stats.ttest_ind(fresh, archived, equal_var=False).confidence_interval(0.95)
    assert prediction.difference_interval(fresh, archived) == pytest.approx(tuple(expected))
    assert prediction.difference_interval([0.1, 0.1], [0.0, 0.0]) == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize("effects", [[0.1], [0.1, math.nan]])
def test_nonsense_is_refused(effects: list[float]) -> None:
    with pytest.raises(ValueError):
        prediction.prediction_interval(effects, 3)


def test_the_expected_count_is_binomial_and_wider_where_arms_share_a_reference() -> None:
    binomial = tuple(int(stats.binom.ppf(tail, 40, 0.95)) for tail in (0.025, 0.975))
    assert prediction.count_range([8] * 5) == binomial
    assert prediction.count_range([]) == (0, 0)
    low, high = prediction.count_range([8] * 5, correlation=0.5)
    random, repetitions = np.random.default_rng(3), 20_000
    shared = random.normal(size=(repetitions, 5, 1))
    errors = (shared + random.normal(size=(repetitions, 5, 8))) / math.sqrt(2)
    counts = (np.abs(errors) < stats.norm.ppf(0.975)).sum(axis=(1, 2))
    assert low < binomial[0]
    assert (low, high) == tuple(np.quantile(counts, [0.025, 0.975]).astype(int))


def _measured(
    folder: Path,
    seed: int,
    blocks: int = 12,
    effects: synthetic.Effects | None = None,
    parameters: dict | None = None,
    arms: tuple[str, ...] = ARMS,
    noise: float = 0.02,
) -> Analysed:
    """A synthetic dataset with its own noise; `parameters` are those of sysbench."""
    plan = synthetic.plan(blocks, arms)
    first = msgspec.structs.replace(plan.cases[0], parameters=parameters or {})
    plan = msgspec.structs.replace(plan, cases=(first, *plan.cases[1:]))
    rows = synthetic.records(plan, effects=effects)
    random = np.random.default_rng(seed)
    for run in rows["runs"]:
        run["started"] = f"2026-02-{seed:02d}T00:00:00Z"
    for number in rows["metrics"]:
        if number["case"] != "memory":
            number["value"] *= float(np.exp(random.normal(0, noise)))
    return analysed(synthetic.write(folder, plan, rows))


def _row(found: agreement.Agreement, case: str, arm: str, metric: str = "time"):
    table = found.table
    chosen = table[(table["case"] == case) & (table["arm"] == arm) & (table["metric"] == metric)]
    return next(chosen.itertuples(index=False))


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Analysed:
    return _measured(tmp_path_factory.mktemp("there") / "live/synthetic-archive", 1)


@pytest.fixture(scope="module")
def shifted(tmp_path_factory, archive) -> agreement.Agreement:
    """Docker costs 15 % more in the fresh dataset, and LXC is not there."""
    fresh = _measured(
        tmp_path_factory.mktemp("here") / "live/synthetic-fresh",
        2,
        6,
        effects={("sysbench", "docker"): 1.15},
        arms=ARMS[:3],
    )
    return agreement.agree(fresh, archive)


def test_a_shifted_arm_is_outside_and_the_others_are_inside(shifted) -> None:
    row = _row(shifted, "sysbench", "docker")
    assert (row.outcome, row.counted, row.fresh_blocks, row.archive_blocks) == (
        "outside",
        True,
        6,
        12,
    )
    assert row.low95 < 1.15 < row.high95 and row.low95 > 1.05
    assert shifted.count.compared == 10 and shifted.count.expected == pytest.approx(9.5)
    counted = shifted.table[shifted.table["counted"]]
    assert shifted.count.inside == (counted["outcome"] == "inside").sum()


def test_of_whole_datasets_of_the_same_truth_95_in_100_ratios_are_inside(tmp_path) -> None:
    # The noise is far above the one that all synthetic datasets have in common.
    found = [
        agreement.agree(
            _measured(tmp_path / f"live/synthetic-f{number}", 2 * number, 4, noise=0.3),
            _measured(tmp_path / f"live/synthetic-a{number}", 2 * number + 1, 10, noise=0.3),
        ).count
        for number in range(1, 13)
    ]
    inside, compared = (sum(getattr(c, name) for c in found) for name in ("inside", "compared"))
    low, high = prediction.count_range([compared // 60] * 60, correlation=0.5)
    assert compared == 12 * 15 and low <= inside <= high


def test_the_control_is_compared_too(shifted) -> None:
    row = _row(shifted, "sysbench", "native-b")
    assert row.control and row.counted


def test_what_is_absolute_or_absent_is_named_and_not_compared(shifted) -> None:
    absolute = _row(shifted, "startup-cold", "docker", "start_seconds")
    assert (absolute.outcome, absolute.reason) == ("not-compared", agreement.ABSOLUTE)
    assert math.isnan(absolute.fresh_ratio)
    assert _row(shifted, "sysbench", "lxc").reason == "only in the archive"
    assert _row(shifted, "sysbench", "shifter").reason.startswith("not tested here")


def test_a_ratio_without_spread_predicts_nothing(shifted) -> None:
    row = _row(shifted, "memory", "docker", "process_private")
    assert (row.outcome, row.counted, row.reason) == ("constant", False, agreement.NO_SPREAD)


def test_other_parameters_are_named_and_not_counted(tmp_path, archive) -> None:
    fresh = _measured(tmp_path / "live/synthetic-fresh", 4, parameters={"events": 10})
    row = _row(agreement.agree(fresh, archive), "sysbench", "docker")
    assert row.outcome in ("inside", "outside") and not row.counted
    assert row.reason == "other parameters: events 10 here, not set in the archive"


def test_a_copy_of_the_archive_is_no_fresh_data(tmp_path, archive) -> None:
    with pytest.raises(UserError, match="they are the same measurements"):
        agreement.agree(_measured(tmp_path / "live/synthetic-fresh", 1, 3), archive)


def test_a_missing_dataset_is_one_message(tmp_path) -> None:
    with pytest.raises(UserError, match="there is no such dataset") as raised:
        agreement.refuse_missing(tmp_path / "results/live/synthetic-x")
    assert "snakemake all" in raised.value.action


def test_it_is_drawn_written_and_told(tmp_path, shifted) -> None:
    plan = synthetic.plan(6, ARMS[:3])
    written = []
    for name in ("one", "two"):
        figure.write(shifted, plan, "All in one host.", tmp_path / name)
        written.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert written[0] == written[1] and len(written[0]) == 4
    table = schema.read(agreement.AGREEMENT, tmp_path / "one/agreement.parquet")
    assert table.num_rows == len(shifted.table)
    drawn = figure.draw(shifted, plan)
    texts = " | ".join(text.get_text() for text in drawn.findobj(pyplot.Text))
    for words in ("margin ±1", "n 6/12", "out", "cost ratio to Native"):
        assert words in texts
    pyplot.close("all")
    where = origin.Origin({}, ("machine (vm)",), ("vm",), None)
    said = summary.agreement(shifted, [where, where])
    assert "of 10 fresh ratios lie where the archive predicts them" in said
    assert "not compared: lxc in" in said


def test_nothing_in_common_is_said_and_drawn(tmp_path, archive) -> None:
    plan = synthetic.scaling_plan(2, ARMS)
    rows = synthetic.records(plan)
    for run in rows["runs"]:
        run["started"] = "2026-03-01T00:00:00Z"
    fresh = analysed(synthetic.write(tmp_path / "live/scaling-fresh", plan, rows))
    found = agreement.agree(fresh, archive)
    assert found.count.compared == 0
    figure.write(found, plan, "", tmp_path / "made")
    pyplot.close("all")
