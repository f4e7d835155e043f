"""Rules about the levels of a factor: trend, slope, rank and interaction."""

from pathlib import Path

import claims_data as data
import numpy as np
import pytest
from claims_data import judged, levels
from scipy import stats

from parity.claims.rules.rank import tau


@pytest.mark.parametrize(
    "ratios, trend, slope",
    [
        ((1.0, 1.1, 1.2, 1.3), "supported", "contradicted"),
        ((1.3, 1.2, 1.1, 1.0), "contradicted", "contradicted"),
        ((1.0, 1.0, 1.0, 1.0), "inconclusive", "supported"),
        ((1.0, 1.1), "not-tested", "not-tested"),
    ],
)
def test_along_a_factor(tmp_path: Path, ratios, trend: str, slope: str) -> None:
    values, cases = levels(*ratios)
    test = data.test_of("trend", along="nodes", expect="rising")
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == trend
    test = data.test_of("slope", along="nodes", margin_percent=1)
    assert judged(tmp_path, test, values, cases=cases).verdict == slope


@pytest.mark.parametrize(
    "rule, options",
    [
        ("trend", {"along": "nodes", "expect": "rising"}),
        ("trend", {"along": "nodes", "expect": "falling"}),
        ("rank", {"along": "nodes", "order": [8, 4, 2, 1], "minimum_tau": 0.6}),
    ],
)
def test_a_pair_that_follows_the_factor_by_itself_stops_it(tmp_path, rule, options) -> None:
    values, cases = levels(1.0, 1.1, 1.2, 1.3)
    for case, ratio in zip(cases, (1.0, 1.1, 1.2, 1.3), strict=True):
        again = (case["case"], "native-b")
        values[again] = [ratio * value for value in values[again]]
    found = judged(tmp_path, data.test_of(rule, **options), values, cases=cases, kind="direction")
    assert (found.verdict, found.control) == ("inconclusive", "different")
    assert found.reason.startswith("the A/A pair differs from itself; ")


def test_a_factor_that_no_case_has_is_not_tested(tmp_path: Path) -> None:
    test = data.test_of("trend", along="nodes", expect="rising")
    found = judged(tmp_path, test, data.quiet(), kind="direction")
    assert (found.verdict, found.reason) == ("not-tested", "no case of spin has a parameter nodes")


@pytest.mark.parametrize(
    "order, verdict", [([1, 2, 4, 8], "contradicted"), ([8, 4, 2, 1], "supported")]
)
def test_rank(tmp_path: Path, order: list, verdict: str) -> None:
    values, cases = levels(1.0, 1.1, 1.2, 1.3)
    test = data.test_of("rank", along="nodes", order=order, minimum_tau=0.6)
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == verdict
    test = data.test_of("rank", along="nodes", order=[*order, 16], minimum_tau=0.6)
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == "not-tested"


def test_tau_of_the_published_order_is_one() -> None:
    places = np.arange(3)
    assert tau(np.array([3.0, 2.0, 1.0]), places) == 1
    assert tau(np.array([1.0, 2.0, 3.0]), places) == -1
    assert tau(np.array([1.0, 1.0, 1.0]), places) == 0


def test_tau_without_groups_is_kendall_s() -> None:
    losses = np.random.default_rng(3).normal(size=(20, 6))
    ours = tau(losses, np.arange(6))
    kendall = [stats.kendalltau(row, -np.arange(6)).statistic for row in losses]
    assert ours == pytest.approx(kendall)


def test_levels_of_one_group_are_not_compared(tmp_path: Path) -> None:
    """The order within a group is nobody's claim, and lowered tau all the same."""
    assert tau(np.array([2.0, 3.0, 1.0, 0.5]), np.array([0, 0, 1, 1])) == 1
    values, cases = levels(1.1, 1.3, 1.2, 1.0)
    groups = data.test_of("rank", along="nodes", order=[[1, 2, 4], [8]], minimum_tau=0.9)
    assert judged(tmp_path, groups, values, cases=cases, kind="direction").verdict == "supported"
    levels_only = data.test_of("rank", along="nodes", order=[1, 2, 4, 8], minimum_tau=0.9)
    found = judged(tmp_path, levels_only, values, cases=cases, kind="direction")
    assert found.verdict == "contradicted"


def test_a_trend_of_no_size_is_no_collapse(tmp_path: Path) -> None:
    """Any trend passed where the paper speaks of many times the native time."""
    values, cases = levels(1.0, 1.002, 1.004, 1.006)
    test = data.test_of("trend", along="nodes", expect="rising")
    assert judged(tmp_path, test, values, cases=cases, kind="direction").verdict == "supported"
    sized = dict(test, smallest_effect_percent=50)
    assert judged(tmp_path, sized, values, cases=cases, kind="direction").verdict != "supported"
    values, cases = levels(1.0, 1.3, 1.6, 1.9)
    assert judged(tmp_path, sized, values, cases=cases, kind="direction").verdict == "supported"
    values, cases = levels(1.9, 1.6, 1.3, 1.0)
    falling = dict(sized, expect="falling")
    assert judged(tmp_path, falling, values, cases=cases, kind="direction").verdict == "supported"


def test_two_blocks_have_no_trend(tmp_path: Path) -> None:
    """Page's test rejects in two blocks of six levels; that was called contradicted."""
    values, cases = levels(1.5, 1.4, 1.3, 1.2, 1.1, 1.0, blocks=2)
    test = data.test_of("trend", along="nodes", expect="rising")
    found = judged(tmp_path, test, values, cases=cases, kind="direction")
    assert found.verdict == "inconclusive" and found.reason.startswith("fewer than 6 blocks")


@pytest.mark.parametrize(
    "link, box, verdict",
    [
        (1.05, 1.0, "supported"),  # the library costs, the container does not
        (0.97, 1.0, "contradicted"),  # the library gains, which was called supported
        (1.004, 1.0, "inconclusive"),  # the expected way, but too little to count
        (1.0, 1.0, "contradicted"),  # the library costs nothing
        (1.05, 1.1, "contradicted"),  # the container costs more with one of the libraries
    ],
)
def test_interaction(tmp_path: Path, link: float, box: float, verdict: str) -> None:
    cases = [
        {"case": f"spin-{level}", "benchmark": "spin", "parameters": {"link": level}}
        for level in ("no", "yes")
    ]
    linked = {
        key: list(link * np.array(numbers))
        for key, numbers in data.quiet("spin-yes", box=box).items()
    }
    test = data.test_of(
        "interaction", factor="link", levels=["no", "yes"], expect="second-costs-more",
        smallest_effect_percent=1, margin_percent=1,
    )  # fmt: skip
    values = data.quiet("spin-no") | linked
    found = judged(tmp_path, test, values, cases=cases, kind="direction")
    assert (found.verdict, found.cells) == (verdict, 2)
    mirrored = dict(test, expect="first-costs-more", levels=["yes", "no"])
    found = judged(tmp_path, mirrored, values, cases=cases, kind="direction")
    assert found.verdict == verdict
    alone = judged(tmp_path, test, data.quiet("spin-no"), cases=cases[:1], kind="direction")
    assert alone.verdict == "not-tested"
