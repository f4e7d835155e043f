"""Levels of several looks: against closed forms, published boundaries and a simulation."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from parity.analysis.decision import decide
from parity.analysis.estimate import ALPHA
from parity.analysis.sequential import ONE_LOOK, Levels, levels_at, nominal_level, spent, strictest

# Those of a study of 36 blocks: each half as far again as the one before it.
LOOKS = (6, 9, 13, 18, 25, 36)
# Boundaries of equally spaced looks at a one-sided 2.5 % spent by the function near Pocock's
# (Lan & DeMets, Biometrika 1983), as the programs for it print them: five looks are the example
# of Reboussin, DeMets, Kim & Lan, Control. Clin. Trials 2000; two and three stand in Wassmer &
# Brannath, Group Sequential and Confirmatory Adaptive Designs, 2016.
PUBLISHED = {2: (2.157, 2.201), 3: (2.279, 2.295, 2.296), 5: (2.438, 2.427, 2.410, 2.397, 2.386)}
designs = st.lists(st.integers(5, 120), min_size=1, max_size=6, unique=True).map(
    lambda looks: tuple(sorted(looks))
)


def _boundaries(looks: tuple[int, ...], alpha: float) -> list[float]:
    """The normal quantiles that belong to the levels of all looks."""
    levels = [nominal_level(looks[:made], looks[-1], alpha) for made in range(1, len(looks) + 1)]
    return [float(each) for each in stats.norm.isf(levels)]


def _crossed(looks: tuple[int, ...], bounds: Sequence[float]) -> float:
    """The probability that one of the bounds is crossed, of its own and without recursion."""
    correlation = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    stays = stats.multivariate_normal(cov=correlation, abseps=1e-8, releps=1e-8)
    return 1 - float(stays.cdf(bounds))


@pytest.mark.parametrize("count", PUBLISHED)
def test_boundaries_are_the_published_ones(count: int) -> None:
    found = _boundaries(tuple(range(1, count + 1)), 0.025)
    assert found == pytest.approx(PUBLISHED[count], abs=0.0006)


@pytest.mark.parametrize("looks", [(6, 18), (5, 7, 40), (10, 20, 30)])
@pytest.mark.parametrize("alpha", ONE_LOOK[:2])
def test_what_is_spent_by_each_look_is_a_multivariate_normal_s(looks, alpha) -> None:
    bounds = _boundaries(looks, alpha)
    for made in range(1, len(looks) + 1):
        expected = spent(looks[made - 1] / looks[-1], alpha)
        assert _crossed(looks[:made], bounds[:made]) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(("which", "alpha"), list(enumerate(ONE_LOOK[:2])))
def test_sums_of_normals_cross_as_often_as_promised(which: int, alpha: float) -> None:
    random, samples = np.random.default_rng(20_261_122), 200_000
    sums, before = np.zeros(samples), 0
    crossed = np.zeros(samples, dtype=bool)
    for look in LOOKS:
        sums += random.normal(0, math.sqrt(look - before), samples)
        before = look
        crossed |= sums / math.sqrt(look) > stats.norm.isf(levels_at(LOOKS, look)[which])
        low, high = stats.binom.interval(0.9999, samples, spent(look / LOOKS[-1], alpha))
        assert low <= crossed.sum() <= high


def test_a_look_between_spends_what_there_is_by_then() -> None:
    """Looks at 6, at 9, and then at 11, which was not planned: the time was over."""
    between = levels_at(LOOKS, 11)
    assert between.same == nominal_level((6, 9, 11), 36, ALPHA)
    bounds = stats.norm.isf([levels_at(LOOKS, 6).same, levels_at(LOOKS, 9).same, between.same])
    assert _crossed((6, 9, 11), bounds) == pytest.approx(spent(11 / 36, ALPHA), abs=1e-5)


def test_before_the_first_look_the_share_so_far_is_spent_at_once() -> None:
    for blocks in range(1, 7):
        share = blocks / 36
        expected = spent(share, ALPHA), spent(share, ALPHA / 2)
        assert levels_at(LOOKS, blocks)[:2] == pytest.approx(expected, rel=1e-6)
    # Without a block and beyond the last the nearest levels hold.
    assert levels_at(LOOKS, 0) == levels_at(LOOKS, 1)
    assert levels_at(LOOKS, 50) == levels_at(LOOKS, 36)
    first, last = ((5,), 9), ((5, 9), 9)
    several = [Levels(0.02, 0.01, (first,)), Levels(0.03, 0.005, (last,))]
    assert strictest(several) == Levels(0.02, 0.005, (first, last))


@given(designs, st.integers(0, 150))
def test_levels_lie_between_nothing_and_those_of_one_look(looks, blocks: int) -> None:
    for level, alpha in zip(levels_at(looks, blocks)[:2], ONE_LOOK[:2], strict=True):
        assert 0 < level <= alpha * (1 + 1e-9)


@given(designs, st.integers(0, 2**32 - 1), st.integers(5, 40))
def test_intervals_at_a_look_hold_those_of_one_look(looks, seed: int, blocks: int) -> None:
    effects = np.random.default_rng(seed).normal(0, 0.01, blocks)
    levels = levels_at(looks, blocks)
    once, looked = decide(effects, 0.01), decide(effects, 0.01, levels=levels)
    for name in ("interval90", "interval95"):
        (low, high), (inner_low, inner_high) = getattr(looked, name), getattr(once, name)
        assert low <= inner_low * (1 + 1e-9) and inner_high <= high * (1 + 1e-9)
    # The p-value says what the interval says, in the words of one look.
    for found in (once, looked):
        assert (found.p_equivalence < ALPHA) == (found.region == "equivalent")


@pytest.mark.parametrize("error", [1e-9, 0.003, 0.0125, 0.05, 0.11, 0.6])
@pytest.mark.parametrize("made", [(6,), (6, 9), LOOKS])
def test_a_repeated_p_is_the_error_at_which_the_look_would_just_decide(made, error) -> None:
    levels = levels_at(LOOKS, made[-1])
    p = nominal_level(made, LOOKS[-1], error)
    assert levels.adjusted(p) == pytest.approx(error, rel=3e-3)
    assert p < levels.adjusted(p) < 1
    assert levels.adjusted_both_ways(2 * p) == min(1.0, 2 * levels.adjusted(p))


def test_repeated_ps_of_several_are_as_small_together_as_holm_allows() -> None:
    """The smaller the error, the larger the factor: one factor for all was too liberal."""
    random, samples, several = np.random.default_rng(7), 40_000, 8
    sums, before = np.zeros((samples, several)), 0
    wrong = np.zeros(samples, dtype=bool)
    for look in LOOKS:
        sums += random.normal(0, math.sqrt(look - before), (samples, several))
        before = look
        smallest = stats.norm.sf(sums.max(axis=1) / math.sqrt(look))
        levels = levels_at(LOOKS, look)
        limit = nominal_level(tuple(x for x in LOOKS if x <= look), LOOKS[-1], ALPHA / several)
        assert levels.adjusted(limit) == pytest.approx(ALPHA / several, rel=2e-3)
        wrong |= smallest < limit
    assert stats.binom.sf(wrong.sum() - 1, samples, ALPHA) > 0.001
