"""Trend, factorial, multiplicity, rates and allocation: published examples and closed forms."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parity.analysis.statistics import allocation, factorial, multiplicity, rates, trend


def _blocks(rows: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(
        {"block": f"b{index}", "level": 2**position, "value": value}
        for index, row in enumerate(rows)
        for position, value in enumerate(row)
    )


# Critical values of L for three levels at 5 % in the table of Page (1963).
@pytest.mark.parametrize(("blocks", "critical"), [(2, 28), (3, 41), (4, 54), (5, 66)])
def test_critical_values_of_page(blocks: int, critical: int) -> None:
    def table(statistic: int) -> pd.DataFrame:
        # A block in perfect order adds 14; one with its last two swapped adds 13.
        swapped = 14 * blocks - statistic
        return _blocks([[1, 3, 2]] * swapped + [[1, 2, 3]] * (blocks - swapped))

    found = trend.page_trend(table(critical))
    assert (found.statistic, found.method) == (critical, "exact")
    assert found.p <= 0.05 < trend.page_trend(table(critical - 1)).p


def test_page_by_enumeration() -> None:
    rows = [[1, 3, 2], [1, 2, 3]]
    every = [
        sum((i + 1) * (a[i] + b[i]) for i in range(3))
        for a in itertools.permutations((1, 2, 3))
        for b in itertools.permutations((1, 2, 3))
    ]
    found = trend.page_trend(_blocks(rows))
    assert found.p == pytest.approx(np.mean([total >= 27 for total in every]))
    falling = trend.page_trend(_blocks([row[::-1] for row in rows]), trend.FALLING)
    assert falling.p == pytest.approx(found.p)


def test_page_counts_whole_blocks_only() -> None:
    frame = _blocks([[1, 2, 3]] * 4).drop(index=[0])
    assert trend.page_trend(frame).blocks == 3


def test_theil_sen_bears_an_outlier() -> None:
    x = np.arange(11.0)
    y = 2 * x + 1
    y[7] = 1000
    found = trend.theil_sen(x, y)
    assert (found.slope, found.intercept) == pytest.approx((2, 1))
    assert found.low <= 2 <= found.high


def test_rank_correlation_of_four_items() -> None:
    found = trend.rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])
    assert (found.tau, found.p, found.items) == (1.0, pytest.approx(2 / 24), 4)
    assert trend.rank_correlation([1, 2, 4, 3], [1, 2, 3, 4]).tau == pytest.approx(4 / 6)


def test_slopes_per_doubling_of_each_block() -> None:
    frame = _blocks([[0.0, 0.1, 0.2], [1.0, 1.0, 1.0]]).rename(columns={"value": "log"})
    assert list(trend.slopes_per_doubling(frame)) == pytest.approx([0.1, 0.0])


def test_two_by_two_by_hand() -> None:
    # Linking costs 1 on the host and 3 in the container; the container costs 5 and 7.
    logs = {("host", "no"): 0.0, ("host", "yes"): 1.0, ("box", "no"): 5.0, ("box", "yes"): 8.0}
    frame = pd.DataFrame(
        {"block": block, "first": a, "second": b, "log": log + shift}
        for block, shift in (("x", 0.0), ("y", 10.0))
        for (a, b), log in logs.items()
    )
    found = factorial.two_by_two(frame, ("host", "box"), ("no", "yes"))
    assert found.blocks == ("x", "y")
    assert list(found.first) == [6, 6] and list(found.second) == [2, 2]
    assert list(found.interaction) == [2, 2]
    assert list(found.first_low) == [5, 5] and list(found.first_high) == [7, 7]
    assert factorial.two_by_two(frame[1:], ("host", "box"), ("no", "yes")).blocks == ("y",)


def test_holm_of_a_worked_example() -> None:
    assert multiplicity.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert multiplicity.holm([]) == () and multiplicity.holm([0.04]) == (0.04,)


def test_false_discovery_of_benjamini_and_hochberg() -> None:
    # Their 1995 example of 15 tests: four are rejected at 5 %, where Holm rejects three.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
         0.5719, 0.6528, 0.7590, 1.0]  # fmt: skip
    assert sum(q <= 0.05 for q in multiplicity.false_discovery(p)) == 4
    assert sum(q <= 0.05 for q in multiplicity.holm(p)) == 3


def test_harmonic_mean_is_total_work_over_total_time() -> None:
    assert rates.harmonic_mean([30.0, 60.0]) == pytest.approx(40)
    work, speed = np.array([1.0, 3.0]), np.array([2.0, 5.0])
    assert rates.harmonic_mean(speed, work) == pytest.approx(work.sum() / (work / speed).sum())


def test_fieller_holds_the_ratios_that_a_t_test_does_not_reject() -> None:
    random = np.random.default_rng(1)
    second = random.normal(10, 1, 9)
    first = 1.1 * second + random.normal(0, 0.3, 9)
    paired = rates.fieller_interval(first, second)
    for ratio in (paired.low, paired.high):
        assert stats.ttest_1samp(first - ratio * second, 0).pvalue == pytest.approx(0.05)
    assert paired.low < paired.ratio < paired.high

    one, two = random.normal(11, 1, 7), random.normal(10, 1, 9)
    found = rates.fieller_interval(one, two, paired=False)
    pooled = (6 * one.var(ddof=1) + 8 * two.var(ddof=1)) / 14
    for ratio in (found.low, found.high):
        error = math.sqrt(pooled * (1 / 7 + ratio**2 / 9))
        statistic = (one.mean() - ratio * two.mean()) / error
        assert abs(statistic) == pytest.approx(stats.t.ppf(0.975, 14))


def test_fieller_of_a_mean_that_may_be_zero_is_unbounded() -> None:
    found = rates.fieller_interval([1.0, 2.0, 3.0], [-1.0, 0.5, 1.0])
    assert (found.low, found.high) == (-math.inf, math.inf) and not found.bounded
    same = rates.fieller_interval([3.0, 3.0], [2.0, 2.0])
    assert (same.low, same.ratio, same.high) == pytest.approx((1.5, 1.5, 1.5))


# Calcium in turnip greens: plants, leaves, determinations (Snedecor & Cochran,
# Statistical Methods, 1989, sec. 13.8); they give 0.3652, 0.1610 and 0.0067, from
# rounded mean squares.
TURNIPS = [
    [[3.28, 3.09], [3.52, 3.48], [2.88, 2.80]],
    [[2.46, 2.44], [1.87, 1.92], [2.19, 2.19]],
    [[2.77, 2.66], [3.74, 3.44], [2.55, 2.55]],
    [[3.78, 3.87], [4.07, 4.12], [3.31, 3.31]],
]


def test_variance_components_of_the_turnip_greens() -> None:
    found = allocation.variance_components(TURNIPS)
    assert found.variances == pytest.approx((0.3652, 0.1610, 0.0067), abs=1e-4)
    assert found.repetitions == (4, 3, 2)
    assert sum(found.shares) == pytest.approx(1)


def test_repetitions_make_a_given_precision_cheapest() -> None:
    costs, variances = (100.0, 10.0, 1.0), (4.0, 6.4, 10.0)
    best = allocation.optimal_repetitions(costs, variances)

    def price(middle: int, low: int) -> float:
        """Cost per unit of precision of the grand mean: cost of one top unit times variance."""
        cost = costs[0] + middle * (costs[1] + low * costs[2])
        return cost * (variances[0] + variances[1] / middle + variances[2] / (middle * low))

    cheapest = min(itertools.product(range(1, 30), repeat=2), key=lambda pair: price(*pair))
    assert best == (4, 4) == cheapest


def test_levels_without_variance() -> None:
    assert allocation.optimal_repetitions((10, 1), (1.0, 0.0)) == (1,)
    assert allocation.optimal_repetitions((10, 1), (-0.1, 1.0)) == (None,)
    same = allocation.variance_components([[1.0, 1.0], [1.0, 1.0]])
    assert same.variances == (0, 0) and same.shares == (0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: trend.page_trend(_blocks([[1, 2, 3]])),
        lambda: trend.page_trend(_blocks([[1, 2], [1, 2]])),
        lambda: trend.page_trend(_blocks([[1, 2, math.nan]] * 3)),
        lambda: trend.page_trend(_blocks([[1, 2, 3]] * 3), "up"),
        lambda: trend.theil_sen([1, 1, 1], [1, 2, 3]),
        lambda: trend.rank_correlation([1, 1, 1], [1, 2, 3]),
        lambda: trend.slopes_per_doubling(
            pd.DataFrame({"block": ["x"], "level": [2], "log": [0.0]})
        ),
        lambda: multiplicity.holm([0.5, 1.5]),
        lambda: multiplicity.holm([math.nan]),
        lambda: rates.harmonic_mean([1.0, 0.0]),
        lambda: rates.harmonic_mean([1.0, 2.0], [1.0]),
        lambda: rates.fieller_interval([1.0, 2.0], [1.0]),
        lambda: rates.fieller_interval([1.0, 2.0], [-1.0, 1.0]),
        lambda: allocation.variance_components([[1.0, 2.0], [1.0]]),
        lambda: allocation.variance_components([[1.0, 2.0]]),
        lambda: allocation.optimal_repetitions((1.0, 0.0), (1.0, 1.0)),
        lambda: factorial.two_by_two(
            pd.DataFrame({"block": ["x"], "first": ["a"], "second": ["c"], "log": [0.0]}),
            ("a", "b"),
            ("c", "d"),
        ),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(ValueError):
        wrong()
