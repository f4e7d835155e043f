"""The order of arms in each block, by Williams squares.

E. J. Williams, Australian Journal of Scientific Research A 2, 149-168, 1949: k arms in k
blocks (k even) or 2k blocks (k odd), so that each arm stands in each position equally
often, and each directly after each other one equally often. What drifts linearly or not
over the positions, and what an arm leaves behind for the next, then falls on all arms alike.
With independent shuffles it does so only on average over many blocks.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache


def arm_order(arms: Sequence[str], seed: str, number: int) -> tuple[str, ...]:
    """The arms in the order of one block.

    Blocks are filled by whole designs: each takes every sequence of its design once, in random
    order, and labels the arms anew at random. An odd number of arms takes two Latin squares,
    one after the other, so that positions are balanced after each of them. So any number of
    blocks holds each arm in each position equally often, but for at most one.

    Args:
        seed: of the case; the same seed gives the same orders, however many blocks there are.
        number: of the block, from 1.
    """
    design, place = divmod(number - 1, len(arms) * (1 + len(arms) % 2))
    return _design(tuple(arms), f"{seed}/{design}")[place]


# The blocks of a design follow each other, between those of the other cases of a study.
@lru_cache(maxsize=1024)
def _design(arms: tuple[str, ...], seed: str) -> tuple[tuple[str, ...], ...]:
    """The orders of the arms in all blocks of one design."""
    # random.Random of a text is defined by the language and stable between versions.
    chance = random.Random(seed)
    labelled = chance.sample(arms, len(arms))
    sequences = [row for square in _squares(len(arms)) for row in chance.sample(square, len(arms))]
    return tuple(tuple(labelled[arm] for arm in sequence) for sequence in sequences)


def _squares(size: int) -> list[list[tuple[int, ...]]]:
    """One Latin square, or two for an odd size, the second being the first read backwards.

    The first row is a zigzag: 0, 1, k-1, 2, k-2, ...; each further row adds one to all. The
    steps between its neighbours are all different if k is even; if it is odd, each that is there
    is there twice, and the others stand in the row read backwards.
    """
    zigzag = [(place + 1) // 2 * (-1) ** (place + 1) for place in range(size)]
    square = [tuple((arm + row) % size for arm in zigzag) for row in range(size)]
    return [square] if size % 2 == 0 else [square, [row[::-1] for row in square]]
