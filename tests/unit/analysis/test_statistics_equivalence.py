"""Equivalence of independent samples and of groups, by hand and by planted truth."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parity.analysis import estimate
from parity.analysis.statistics import equivalence


def _frame(effects: dict[str, float], blocks: int, seed: int, noise: float = 0.004) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        shared = random.normal(0, 0.1)
        for arm, effect in effects.items():
            log = shared + effect + random.normal(0, noise)
            rows.append({"block": f"b{block}", "arm": arm, "log": log})
    return pd.DataFrame(rows)


def test_two_samples_are_two_welch_tests() -> None:
    random = np.random.default_rng(1)
    a, b = random.normal(0, 0.01, 10), random.normal(0.002, 0.02, 15)
    found = equivalence.two_sample_equivalence(a, b, 0.02)
    bound = math.log(1.02)
    low = stats.ttest_ind(a + bound, b, equal_var=False, alternative="greater").pvalue
    high = stats.ttest_ind(a - bound, b, equal_var=False, alternative="less").pvalue
    assert found.p == pytest.approx(max(low, high))
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert found.interval95 == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert found.ratio == pytest.approx(math.exp(a.mean() - b.mean()))
    assert found.samples == (10, 15)


def test_two_samples_pass_just_at_their_smallest_margin() -> None:
    a, b = np.random.default_rng(2).normal(0, 0.01, (2, 12))
    smallest = equivalence.two_sample_equivalence(a, b, 0.02).smallest_margin
    assert equivalence.two_sample_equivalence(a, b, smallest * 1.001).equivalent
    assert not equivalence.two_sample_equivalence(a, b, smallest * 0.999).equivalent


def test_two_samples_at_the_margin_are_called_equivalent_in_five_per_cent() -> None:
    random = np.random.default_rng(3)
    wrong = sum(
        equivalence.two_sample_equivalence(
            random.normal(math.log(1.02), 0.01, 10), random.normal(0, 0.01, 10), 0.02
        ).equivalent
        for _ in range(1000)
    )
    assert 0.03 < wrong / 1000 < 0.07


@pytest.mark.parametrize(("log", "p"), [(0.0, 0.0), (0.5, 1.0)])
def test_identical_values(log: float, p: float) -> None:
    found = equivalence.two_sample_equivalence([log, log], [0.0, 0.0], 0.05)
    assert (found.p, found.interval90) == (p, (math.exp(log), math.exp(log)))
    assert equivalence.paired_equivalence([log, log], 0.05).p == p


def test_pairs_are_those_of_the_paired_estimate() -> None:
    logs = np.random.default_rng(4).normal(0.001, 0.01, 9)
    found = equivalence.paired_equivalence(logs, 0.02)
    assert found.p == estimate.equivalence_p(logs, 0.02)
    assert found.ratio == pytest.approx(math.exp(logs.mean()))


def test_a_group_is_equivalent_if_all_pairs_are() -> None:
    found = equivalence.group_equivalence(_frame({"a": 0, "b": 0, "c": 0}, 20, 5), 0.01)
    assert [(pair.arm, pair.against) for pair in found.pairs] == [
        ("a", "b"), ("a", "c"), ("b", "c")]  # fmt: skip
    assert found.equivalent and found.blocks == 20
    assert found.p == max(pair.result.p for pair in found.pairs)
    assert found.p_omnibus < 0.05


def test_one_arm_apart_spoils_the_group() -> None:
    found = equivalence.group_equivalence(_frame({"a": 0, "b": 0, "c": 0.03}, 20, 6), 0.01)
    assert not found.equivalent and found.p_omnibus > 0.5
    assert "c" in (found.worst.arm, found.worst.against)


def test_a_group_uses_the_blocks_that_a_pair_has() -> None:
    frame = _frame({"a": 0, "b": 0, "c": 0}, 10, 7).drop(index=[2, 5])  # c is missing twice
    found = equivalence.group_equivalence(frame, 0.01)
    assert [pair.result.samples[0] for pair in found.pairs] == [10, 8, 8]
    assert found.blocks == 8


def test_omnibus_without_residual_variance_is_not_defined() -> None:
    frame = pd.DataFrame({"block": list("xxyy"), "arm": list("abab"), "log": [0.0, 0.1, 0.0, 0.1]})
    assert equivalence.group_equivalence(frame, 0.5).p_omnibus is None


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"block": ["x", "y"], "arm": ["a", "a"], "log": [0, 0]}), "two arms"),
        (pd.DataFrame({"block": ["x", "x"], "arm": ["a", "b"], "log": [0, 0]}), "common blocks"),
        (pd.DataFrame({"block": ["x", "x"], "arm": ["a", "a"], "log": [0, 0]}), "two values"),
        (pd.DataFrame({"block": ["x", "y"], "arm": ["a", "b"], "log": [0, math.nan]}), "finite"),
    ],
)
def test_a_group_that_cannot_be_compared_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        equivalence.group_equivalence(frame, 0.05)


@pytest.mark.parametrize(
    ("a", "b", "margin"),
    [([0.1], [0.1, 0.2], 0.1), ([0.1, math.nan], [0.1, 0.2], 0.1), ([0, 1], [0, 1], 0)],
)
def test_two_samples_that_cannot_be_compared_are_refused(a, b, margin) -> None:
    with pytest.raises(ValueError):
        equivalence.two_sample_equivalence(a, b, margin)
