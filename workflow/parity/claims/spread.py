"""The ratio of the scatter of two arms in one cell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parity.analysis.statistics.spread import paired_variance_ratio
from parity.claims.cells import Cell


@dataclass(frozen=True)
class Spread:
    """Ratio of two standard deviations of logs, with its interval.

    Attributes:
        p_less: one-sided p that the first scatters less.
    """

    ratio: float
    low95: float
    high95: float
    low90: float
    high90: float
    p_less: float
    blocks: int

    def facts(self) -> dict[str, float | int]:
        """What a finding takes of it."""
        names = ("low95", "high95", "low90", "high90", "blocks")
        return {"estimate": self.ratio, **{name: getattr(self, name) for name in names}}


def spread(cell: Cell, arm: str, against: str, factor: float = 1.0) -> Spread | str:
    """How the arm scatters beside the other; a text says why there is no ratio.

    Values of one block share what slows the block, so they are taken as pairs.

    Args:
        factor: divides the ratio, so that `p_less` is about a ratio below the factor.
    """
    one, other = cell.costs(arm), cell.costs(against)
    common = sorted(one.keys() & other.keys())
    logs = [np.array([side[number] for number in common]) for side in (one, other)]
    logs[0] = logs[0] / factor
    if len(common) < 3:
        return f"too few blocks: {len(common)} of at least 3"
    if any(np.ptp(side) == 0 for side in logs):
        return "one side does not vary at all, so there is no ratio of scatter"
    wide, narrow = (paired_variance_ratio(*logs, confidence) for confidence in (0.95, 0.90))
    roots = (wide.ratio, wide.low, wide.high, narrow.low, narrow.high)
    return Spread(*(math.sqrt(value) for value in roots), wide.p_less, len(common))
