"""What is planted: the true cost of every arm, and all that makes single runs deviate from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from parity.plan.plan import Block


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a run's cost deviate from its arm's. All of it is on the log scale.

    Attributes:
        run: standard deviation from run to run.
        block, node: standard deviations of what a whole block, and all blocks of one node,
            have in common; both cancel in a ratio within a block.
        nodes: how many there are, of which each block has one at random.
        campaign: how much costs rise from the first block to the last.
        block_drift: how much they rise from one run of a block to the next.
        first: what the first run of a case costs more than those that follow it.
        outlier_share, outlier_size: the part of the runs that something else disturbs,
            and the mean of the exponentially distributed cost of that.
    """

    run: float
    block: float = 0.03
    node: float = 0.05
    nodes: int = 1
    campaign: float = 0.02
    block_drift: float = 0.0
    first: float = 0.0
    outlier_share: float = 0.0
    outlier_size: float = 0.0

    @property
    def of_a_pair(self) -> float:
        """Standard deviation of a log ratio within a block, if runs differ by `run` alone."""
        return self.run * 2**0.5


class Misfortune(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often things go wrong, each as a probability.

    Attributes:
        failing: an attempt ends badly or fails a gate (all ways equally often).
        truncated: its output is cut off, though it ended well.
        other_work: it did other work than it was asked for.
        absent: an arm cannot be started in a block.
        killed: the runner is killed in a block, and a second session goes on.
        lost: a block is never made.
    """

    failing: float = 0.0
    truncated: float = 0.0
    other_work: float = 0.0
    absent: float = 0.0
    killed: float = 0.0
    lost: float = 0.0


@dataclass(frozen=True)
class Effects:
    """What is planted in a study.

    Attributes:
        ratios: the true cost of each arm over the reference's; 1 where none is named.
    """

    noise: Noise
    ratios: Mapping[str, float] = field(default_factory=dict)
    misfortune: Misfortune = field(default_factory=Misfortune)

    def ratio(self, arm: str) -> float:
        """The true cost ratio of an arm to the reference."""
        return self.ratios.get(arm, 1.0)


def shared_costs(
    effects: Effects, blocks: Sequence[Block], random: np.random.Generator
) -> tuple[list[dict[str, float]], list[int]]:
    """The log cost of each planned run before chance, and the node of each block.

    Returns:
        Run to log cost for each block, and the number of its node from 0.
    """
    noise = effects.noise
    of_node = random.normal(0, noise.node, noise.nodes)
    nodes = [int(node) for node in random.integers(0, noise.nodes, len(blocks))]
    costs = []
    for number, block in enumerate(blocks):
        level = of_node[nodes[number]] + random.normal(0, noise.block)
        level += noise.campaign * number / len(blocks)
        of_run, before = {}, None
        for position, run in enumerate(block.runs):
            order = noise.block_drift * position + noise.first * (run.case != before)
            of_run[run.name] = float(level + order + np.log(effects.ratio(run.arm)))
            before = run.case
        costs.append(of_run)
    return costs, nodes


def chance(noise: Noise, random: np.random.Generator) -> float:
    """What one attempt's log cost deviates by chance."""
    deviation = random.normal(0, noise.run)
    if noise.outlier_share and random.random() < noise.outlier_share:
        deviation += random.exponential(noise.outlier_size)
    return float(deviation)
