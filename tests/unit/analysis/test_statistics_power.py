"""Power of equivalence tests against PowerTOST's published numbers, tables and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from parity.analysis.statistics import power

# The manual and the package's own corner cases: 2x2 crossover, limits 0.8 to 1.25.
POWER_TOST = [
    (0.20, 20, 0.95, 0.834680),
    (0.25, 24, 0.95, 0.7391155),
    (0.25, 22, 0.95, 0.6953401),
    (0.30, 40, 0.95, 0.815845),
    (0.20, 28, 0.92, 0.822742),
    (0.385, 7000, 1.24, 0.3568784),
    (0.37, 7000, 1.24, 0.3751032),
]


@pytest.mark.parametrize(("cv", "subjects", "ratio", "published"), POWER_TOST)
def test_power_is_that_of_powertost(
    cv: float, subjects: int, ratio: float, published: float
) -> None:
    # A crossover has the error of two parallel groups of n/2 with deviation s_w / sqrt(2).
    deviation = power.deviation_of_cv(cv) / math.sqrt(2)
    found = power.two_sample_tost_power(deviation, subjects // 2, 0.25, ratio)
    assert found == pytest.approx(published, abs=1e-6)


def _runs_needed(deviation: float, margin: float, wanted: float = 0.9, ratio: float = 1.0) -> int:
    """Fewest runs per arm with this power, by bisection: the power grows with the runs."""
    low, high = 1, 10_000
    while high - low > 1:
        middle = (low + high) // 2
        enough = power.two_sample_tost_power(deviation, middle, margin, ratio) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def test_parallel_groups_of_the_powertost_manual() -> None:
    # sampleN.TOST(logscale=FALSE, theta1=-0.2, theta0=-0.05, CV=0.2, design="parallel"): n = 48.
    margin, ratio = math.expm1(0.2), math.exp(-0.05)
    assert power.two_sample_tost_power(0.2, 24, margin, ratio) == pytest.approx(0.815435, abs=1e-6)
    assert _runs_needed(0.2, margin, 0.8, ratio) == 24


def test_sample_sizes_of_powertost() -> None:
    for cv, ratio, total in [(0.20, 0.95, 20), (0.30, 0.95, 40), (0.20, 0.92, 28)]:
        deviation = power.deviation_of_cv(cv) / math.sqrt(2)
        assert 2 * _runs_needed(deviation, 0.25, 0.8, ratio) == total


# Runs per arm of two independent arms, and blocks of paired arms whose values correlate
# by 0.8, for 90 % power at margins of 0.5, 1, 2, 3 and 5 %; computed independently of us.
TABLE = {
    0.25: ([7, 3, 3, 3, 3], [3, 3, 3, 3, 3]),
    0.5: ([23, 7, 3, 3, 3], [6, 3, 3, 3, 3]),
    1: ([88, 23, 7, 4, 3], [19, 6, 3, 3, 3]),
    2: ([347, 88, 23, 11, 5], [71, 19, 6, 4, 3]),
    3: ([780, 196, 50, 23, 9], [158, 41, 12, 6, 4]),
    5: ([2166, 542, 136, 61, 23], [435, 110, 29, 14, 6]),
    8: ([5542, 1386, 347, 155, 57], [1110, 279, 71, 33, 13]),
}


@pytest.mark.parametrize("cv", TABLE)
def test_table_of_sample_sizes(cv: float) -> None:
    deviation, (independent, paired) = cv / 100, TABLE[cv]
    margins = [math.expm1(percent / 100) for percent in (0.5, 1, 2, 3, 5)]
    assert [max(3, _runs_needed(deviation, margin)) for margin in margins] == independent
    of_pairs = deviation * math.sqrt(2 * (1 - 0.8))
    assert [max(3, power.blocks_needed(of_pairs, margin, 0.9)) for margin in margins] == paired


@pytest.mark.parametrize(
    ("cv", "runs", "percent"),
    [(0.0009, 100, 0.04), (0.01, 50, 0.66), (0.01, 4, 2.65), (0.05, 20, 5.3), (0.05, 30, 4.3),
     (0.05, 8, 8.7), (0.10, 8, 17.3)],
)  # fmt: skip
def test_what_the_papers_could_have_proven(cv: float, runs: int, percent: float) -> None:
    margin = power.provable_margin(cv, runs, 0.9, power.two_sample_tost_power)
    assert 100 * math.log1p(margin) == pytest.approx(percent, abs=0.051)


def test_the_provable_margin_is_the_one_with_this_power() -> None:
    margin = power.provable_margin(0.01, 12, 0.8)
    assert power.tost_power(0.01, 12, margin) == pytest.approx(0.8)
    gated = power.provable_margin(0.01, 12, 0.8, power.gated_power)
    assert power.gated_power(0.01, 12, gated) == pytest.approx(0.8)
    assert gated > margin


def test_level_at_the_margin_is_alpha() -> None:
    assert power.tost_power(0.001, 30, 0.01, 1.01) == pytest.approx(0.05, abs=1e-9)


def test_few_blocks_agree_with_simulation() -> None:
    logs = np.random.default_rng(1).normal(math.log(1.01), 0.01, (200_000, 3))
    half = stats.t.isf(0.05, 2) * logs.std(axis=1, ddof=1) / math.sqrt(3)
    simulated = (np.abs(logs.mean(axis=1)) + half < math.log1p(0.03)).mean()
    assert power.tost_power(0.01, 3, 0.03, 1.01) == pytest.approx(simulated, abs=0.004)


@pytest.mark.parametrize(
    ("deviation", "blocks", "margin", "ratio"),
    [(0.01, 10, 0.01, 1.003), (0.01, 12, 0.01, 1.0), (0.01, 3, 0.02, 1.0), (0.02, 2, 0.2, 1.0)],
)
def test_gated_power_agrees_with_simulation(
    deviation: float, blocks: int, margin: float, ratio: float
) -> None:
    runs = np.random.default_rng(2).normal(0, deviation / math.sqrt(2), (60_000, blocks, 3))
    logs = runs[:, :, 1:] - runs[:, :, :1]
    logs[:, :, 1:] += math.log(ratio)
    half = stats.t.isf(0.05, blocks - 1) * logs.std(axis=1, ddof=1) / math.sqrt(blocks)
    simulated = (np.abs(logs.mean(axis=1)) + half < math.log1p(margin)).all(axis=1).mean()
    found = power.gated_power(deviation, blocks, margin, ratio)
    assert found == pytest.approx(simulated, abs=0.008)


def test_the_gate_costs_less_than_independent_tests_would() -> None:
    alone = power.tost_power(0.01, 10, 0.01)
    assert alone**2 < power.gated_power(0.01, 10, 0.01) < alone
    assert power.blocks_needed(0.01, 0.01, 0.9, power.gated_power) == 15
    assert power.blocks_needed(0.01, 0.01, 0.9) == 13


def test_deviation_of_a_coefficient_of_variation() -> None:
    deviation = power.deviation_of_cv(0.3)
    assert math.sqrt(math.expm1(deviation**2)) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: power.tost_power(0.01, 1, 0.01),
        lambda: power.tost_power(math.nan, 10, 0.01),
        lambda: power.tost_power(0.01, 10, 0),
        lambda: power.tost_power(0.01, 10, 0.01, true_ratio=-1),
        lambda: power.blocks_needed(0.01, 0.01, power=1),
        lambda: power.gated_power(0.01, 10, 0.01, true_ratio=0),
        lambda: power.deviation_of_cv(0),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(ValueError):
        wrong()
