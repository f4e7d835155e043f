"""The order of arms: balanced in position and neighbours, so that no drift of a node moves it."""

import itertools
import math
from collections import Counter

import pytest

from parity.plan.making import arm_order


def _arms(count: int) -> tuple[str, ...]:
    return tuple(f"arm{number}" for number in range(count))


def _orders(arms: tuple[str, ...], blocks: int, seed: str = "s/1/case") -> list[tuple[str, ...]]:
    return [arm_order(arms, seed, number) for number in range(1, blocks + 1)]


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
