"""The order of arms: balanced in position and neighbours, and unmoved by a planted drift."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

from parity.plan.making import arm_order

DRIFT = 0.011  # of STREAM over the five positions of a case, as a log ratio


def _arms(count: int) -> tuple[str, ...]:
    return tuple(f"arm{number}" for number in range(count))


def _orders(arms: tuple[str, ...], blocks: int, seed: str = "s/1/case") -> list[tuple[str, ...]]:
    return [arm_order(arms, seed, number) for number in range(1, blocks + 1)]


def _shuffles(arms: tuple[str, ...], blocks: int, seed: str) -> list[tuple[str, ...]]:
    """The order before there were squares: each block shuffled by itself."""
    return [
        tuple(random.Random(f"{seed}/{number}").sample(arms, len(arms))) for number in range(blocks)
    ]


@pytest.mark.parametrize("count", range(1, 19))
def test_over_whole_designs_positions_and_neighbours_are_balanced(count: int) -> None:
    arms, length = _arms(count), count * (1 + count % 2)
    for designs in (1, 2):
        orders = _orders(arms, designs * length)
        positions = Counter(place for order in orders for place in enumerate(order))
        assert len(positions) == count**2
        assert set(positions.values()) == {designs * length // count}
        after = Counter(pair for order in orders for pair in itertools.pairwise(order))
        assert set(after) == set(itertools.permutations(arms, 2))
        assert set(after.values()) <= {designs * (1 + count % 2)}


@pytest.mark.parametrize("count", [2, 5, 6, 9])
def test_any_number_of_blocks_is_as_balanced_as_it_can_be(count: int) -> None:
    arms = _arms(count)
    orders = _orders(arms, 5 * count)
    for blocks in range(1, len(orders) + 1):
        seen = Counter(place for order in orders[:blocks] for place in enumerate(order))
        times = [seen[place, arm] for place in range(count) for arm in arms]
        assert max(times) - min(times) <= 1


def test_a_second_design_labels_the_arms_anew() -> None:
    orders = _orders(_arms(5), 20)
    assert set(orders[:10]) != set(orders[10:])


def test_every_order_comes_first_equally_often_over_seeds() -> None:
    # 6000 seeds: each of the six orders of three arms is expected 1000 times, sd 28.9.
    first = Counter(arm_order(_arms(3), str(seed), 1) for seed in range(6000))
    assert len(first) == math.factorial(3)
    assert all(abs(count - 1000) < 5 * 28.9 for count in first.values())


def _drift(order, blocks) -> np.ndarray:
    """What a linear drift alone makes of the mean log ratio of two arms, for 400 seeds."""
    arms = _arms(5)
    found = []
    for seed in range(400):
        orders = order(arms, blocks, f"drift/{seed}")
        apart = [made.index("arm1") - made.index("arm0") for made in orders]
        found.append(np.mean(apart) * DRIFT / (len(arms) - 1))
    return np.array(found)


@pytest.mark.parametrize("blocks", [5, 7, 10, 30])
def test_a_drift_over_the_positions_moves_shuffled_orders_and_no_squares(blocks: int) -> None:
    # The difference of two positions of five has the variance 5, so a shuffled study of n
    # blocks is off by a standard deviation of DRIFT / 4 * sqrt(5 / n): 0.27 % for 5 blocks.
    shuffled, squared = _drift(_shuffles, blocks), _drift(_orders, blocks)
    expected = DRIFT / 4 * math.sqrt(5 / blocks)
    assert shuffled.std() == pytest.approx(expected, rel=0.15)
    # Seven are a whole square, and two rows of the next.
    assert squared.std() < 0.65 * shuffled.std() if blocks == 7 else np.abs(squared).max() < 1e-12
    if blocks == 5:  # one study in six is off by more than a third of a percent by its order alone
        assert np.mean(np.abs(shuffled) > 0.01 / 3) > 1 / 6
