"""How planted numbers deviate from the truth: laws with and without the traits that spoil tests.

All of it is on the log scale, and an array has the shape (replicates, levels, blocks, arms). The
truth is the mean of an arm's log cost, spikes included, before any run is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from parity.core.documents import Document

NORMAL = "normal"
# Student's t of so many degrees of freedom, brought to the standard deviation of the others.
_FREEDOM = {"t3": 3, "t5": 5}


class Chance(Document, frozen=True):
    """What makes runs deviate.

    Attributes:
        run: standard deviation from run to run.
        block: standard deviation of what all runs of a block have in common.
        law: `normal`, `t3` or `t5`.
        times: by arm, how many times the usual its runs deviate.
        spikes: by arm, the share of its runs that something disturbs, and by how much.
        by_node: standard deviation of what an arm costs more on one node than on another; the
            A/A pair does not.
        serial: correlation of an arm's deviation with that in the block before.
        lost: by arm, the share of its slowest runs that are lost.
    """

    run: float = 0.006
    block: float = 0.03
    law: str = NORMAL
    times: dict[str, float] = msgspec.field(default_factory=dict)
    spikes: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    by_node: float = 0.0
    serial: float = 0.0
    lost: dict[str, float] = msgspec.field(default_factory=dict)

    def draw(
        self,
        random: np.random.Generator,
        costs: np.ndarray,
        blocks: Sequence[int],
        arms: Sequence[str],
        replicates: int,
    ) -> np.ndarray:
        """Logs of what runs cost; NaN for those that were lost.

        Args:
            costs: the truth, in the shape (levels, arms).
            blocks: the node of each.
            arms: the A/A pair first.
        """
        shape = (replicates, costs.shape[0], len(blocks), len(arms))
        own = self.run * self._serial(self._law(random, shape))
        own *= np.array([self.times.get(arm, 1.0) for arm in arms])
        for arm, (share, size) in self.spikes.items():
            place = arms.index(arm)
            # The mean is that of all runs, disturbed ones included.
            own[..., place] += size * ((random.random(shape[:-1]) < share) - share)
        if self.by_node:
            nodes = random.normal(0, self.by_node, (*shape[:2], 1 + max(blocks), len(arms) - 2))
            own[..., 2:] += nodes[:, :, list(blocks)]
        # Levels of a factor stand in the same blocks.
        together = random.normal(0, self.block, (replicates, 1, len(blocks)))
        return self._without_lost(costs[:, None] + own + together[..., None], own, arms)

    def _law(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Deviations of mean 0 and standard deviation 1."""
        if self.law == NORMAL:
            return random.standard_normal(shape)
        freedom = _FREEDOM[self.law]
        return np.asarray(random.standard_t(freedom, shape) * np.sqrt(1 - 2 / freedom))

    def _serial(self, fresh: np.ndarray) -> np.ndarray:
        """The same from one block to the next: a stationary process of first order."""
        if not self.serial:
            return fresh
        made = fresh.copy()
        for block in range(1, fresh.shape[2]):
            kept = np.sqrt(1 - self.serial**2) * fresh[:, :, block]
            made[:, :, block] = self.serial * made[:, :, block - 1] + kept
        return made

    def _without_lost(self, logs: np.ndarray, own: np.ndarray, arms: Sequence[str]) -> np.ndarray:
        for arm, share in self.lost.items():
            place, gone = arms.index(arm), round(share * logs.shape[2])
            slowest = np.argsort(own[..., place], axis=2)[..., logs.shape[2] - gone :]
            np.put_along_axis(logs[..., place], slowest, np.nan, axis=2)
        return logs
