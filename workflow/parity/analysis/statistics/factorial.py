"""Two factors at two levels each, all four runs in every block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from parity.analysis.statistics import checks


@dataclass(frozen=True)
class TwoByTwo:
    """Effects of two factors on the log, one number per block that holds all four runs.

    They are logs of ratios and go into the paired tests of `parity.analysis.estimate`.

    Attributes:
        blocks: names of these blocks.
        first: effect of the first factor, averaged over the second.
        second: effect of the second factor, averaged over the first.
        interaction: effect of the first factor at the second's high level, less its
            effect at the low level. Zero: the factors do not touch each other.
    """

    blocks: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    interaction: np.ndarray


def two_by_two(frame: pd.DataFrame, first: tuple[str, str], second: tuple[str, str]) -> TwoByTwo:
    """Contrasts of a 2x2 factorial within blocks (Box, Hunter & Hunter 2005, ch. 5).

    Blocks that do not hold all four runs are left out; there may be none that does.

    The interaction here is the whole difference of two effects, not half of it as in
    some textbooks, so that a margin on it means what a margin on a ratio means.

    Args:
        frame: columns block, first, second, log; at most one row per block and combination.
        first, second: low and high level of each factor, as in the columns of that name.

    Raises:
        ValueError: equal levels, a repeated combination in a block, or a log that is no
            finite number.
    """
    checks.finite(frame["log"].to_numpy(), 0, "log")
    for name, levels in (("first", first), ("second", second)):
        if levels[0] == levels[1]:
            raise ValueError(f"the levels of the {name} factor are the same: {levels[0]}")
    if frame.duplicated(["block", "first", "second"]).any():
        raise ValueError("a block holds two values of one combination")
    table = frame.pivot(index="block", columns=["first", "second"], values="log")
    wanted = [(a, b) for b in second for a in first]
    table = table.reindex(columns=pd.MultiIndex.from_tuples(wanted)).dropna()
    low_low, high_low, low_high, high_high = table.to_numpy().T
    at_low, at_high = high_low - low_low, high_high - low_high
    return TwoByTwo(
        blocks=tuple(str(block) for block in table.index),
        first=(at_low + at_high) / 2,
        second=(low_high - low_low + high_high - high_low) / 2,
        interaction=at_high - at_low,
    )
