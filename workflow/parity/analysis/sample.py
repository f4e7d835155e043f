"""Which effects of a comparison are independent, so that a decision may rest on them.

Blocks on one node, or of one stretch of work, may share what an arm costs there. Then the node
or the stretch is the unit, and not the block: their means are averaged, as in an analysis of
clusters (Donner & Klar, Design and Analysis of Cluster Randomization Trials, 2000, ch. 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy import stats

from parity.analysis.dataset import Place
from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE

# A preliminary test at 5 % misses too much of what spoils the conclusion after it; at 25 % it
# does not (Bancroft, Biometrics 1964).
PRELIMINARY = 0.25
CLUSTERS = f"differs between nodes or sessions, fewer than {FEWEST_FOR_A_DIFFERENCE} of each"


class Sample(NamedTuple):
    """The numbers that a decision rests on.

    Attributes:
        effects: of blocks, or means of several, in the order of time.
        objection: `CLUSTERS`, or empty.
    """

    effects: np.ndarray
    objection: str


class Units(NamedTuple):
    """Which blocks stand for themselves, and which only together.

    Attributes:
        blocks: those of each unit, in the order of time.
        objection: `CLUSTERS`, or empty.
    """

    blocks: list[list[str]]
    objection: str


def sample(by_block: Mapping[str, float], places: Mapping[str, Place]) -> Sample:
    """The independent effects of a comparison: the mean of each unit.

    Args:
        by_block: the effect of each block.
        places: where and when each block ran; where one is not known, nothing is shared.
    """
    found = units(by_block, places)
    return Sample(_means(by_block, found), found.objection)


def units(by_block: Mapping[str, float], places: Mapping[str, Place]) -> Units:
    """The blocks that are independent, or the nodes or sessions that are.

    Nodes, or sessions, of which there are at least six are the units wherever one of them holds
    two blocks: Student's t of their means is exact whatever they share. Of both groupings that
    counts whose interval of the mean is wider, as nodes say nothing of what sessions share that
    each ran on all of them. Fewer are too few to say how much they differ; where an analysis of
    variance finds that they do, nothing can be concluded.

    Args:
        by_block, places: as of `sample`.
    """
    blocks = sorted(by_block, key=lambda block: (places[block].started if places else "", block))
    found: list[Units] = []
    for shared in ("nodes", "session"):
        groups: dict[object, list[str]] = {}
        for block in blocks if places else []:
            groups.setdefault(getattr(places[block], shared), []).append(block)
        if "" in groups or not 1 < len(groups) < len(blocks):
            continue
        together = list(groups.values())
        if len(groups) >= FEWEST_FOR_A_DIFFERENCE:
            found.append(Units(together, ""))
        elif _differ([[by_block[block] for block in group] for group in together]):
            found.append(Units(together, CLUSTERS))
    if refused := [each for each in found if each.objection]:
        return min(refused, key=lambda each: len(each.blocks))
    alone = Units([[block] for block in blocks], "")
    return max(found, key=lambda each: half_width(_means(by_block, each)), default=alone)


def half_width(effects: np.ndarray) -> float:
    """Half the width of Student's 95 % interval of the mean of at least two effects."""
    return float(stats.t.ppf(0.975, len(effects) - 1) * stats.sem(effects))


def _means(by_block: Mapping[str, float], found: Units) -> np.ndarray:
    """The mean of each unit."""
    means = [fmean(by_block[block] for block in unit) for unit in found.blocks]
    return np.array(means, dtype=float)


def _differ(groups: list[list[float]]) -> bool:
    """Whether a one-way analysis of variance finds that groups differ; so do constant ones."""
    within = sum(float(np.var(group)) * len(group) for group in groups)
    if within == 0:
        return len({group[0] for group in groups}) > 1
    return float(stats.f_oneway(*groups).pvalue) < PRELIMINARY
