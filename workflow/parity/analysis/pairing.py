"""Which numbers count, what they cost, and how they are paired within blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

import numpy as np
import pandas as pd

from parity.analysis import tables

RATIO, DIFFERENCE = "ratio", "difference"


@dataclass(frozen=True)
class Numbers:
    """The numbers of one case and metric that count.

    Attributes:
        unit: their unit.
        better: their direction: lower, higher or neither.
        by_arm: arm to block to number.
    """

    unit: str = ""
    better: str = ""
    by_arm: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def sign(self) -> float:
        """What turns the log of a number into the log of a cost: -1 where higher is better."""
        return -1.0 if self.better == "higher" else 1.0

    def of(self, arm: str) -> Mapping[str, float]:
        """The numbers of an arm by block."""
        return self.by_arm.get(arm, {})

    def mean_of(self, arm: str, *doubles: str) -> Mapping[str, float]:
        """The numbers of an arm, or the geometric mean with those that are the same thing."""
        if not doubles:
            return self.of(arm)
        logs = self.column(True, arm, *doubles)
        return {block: math.exp(self.sign * log) for block, log in logs.items()}

    def costs(self, arm: str) -> Mapping[str, float]:
        """Logs of what an arm costs by block: of the number, or of its inverse."""
        if arm not in self._logs:
            self._logs[arm] = {
                block: self.sign * math.log(value)
                for block, value in self.of(arm).items()
                if value > 0
            }
        return self._logs[arm]

    def column(self, ratio: bool, arm: str, *doubles: str) -> Mapping[str, float]:
        """What a contrast sums, by block: the logs of the costs of an arm, or its numbers.

        Args:
            doubles: arms that are the same thing measured again: the mean of all that count in
                a block of the arm stands for it.
        """
        values = self.costs if ratio else self.of
        first, others = values(arm), [values(double) for double in doubles]
        if not others:
            return first
        return {
            block: fmean([value, *(each[block] for each in others if block in each)])
            for block, value in first.items()
        }

    @cached_property
    def _logs(self) -> dict[str, dict[str, float]]:
        return {}


# By case and metric.
ByCase = Mapping[tuple[str, str], Numbers]


def counted_values(metrics: pd.DataFrame, exclusions: pd.DataFrame) -> pd.DataFrame:
    """The numbers of valid, final runs that nobody excluded and that are numbers.

    Outliers stay: only a failed check or a printed exclusion takes a run out
    (Hoefler & Belli, SC15, rule 4 in spirit).
    """
    keep = metrics["valid"] & np.isfinite(metrics["value"])
    if len(exclusions):
        key = ["block", "run"]
        keep &= ~pd.MultiIndex.from_frame(metrics[key]).isin(
            pd.MultiIndex.from_frame(exclusions[key])
        )
    columns = [column.name for column in tables.VALUES.columns]
    order = list(tables.VALUES.order)
    values: pd.DataFrame = metrics.loc[keep, columns]
    return values.sort_values(order, ignore_index=True)


def numbers(values: pd.DataFrame) -> dict[tuple[str, str], Numbers]:
    """The counted values (`tables.VALUES`) by case and metric.

    Raises:
        ValueError: a block holds two counted numbers of one arm.
    """
    by_case: dict[tuple[str, str], Numbers] = {}
    columns = ["case", "metric", "arm", "block", "value", "unit", "better"]
    rows = values[columns].itertuples(index=False, name=None)
    for case, metric, arm, block, value, unit, better in rows:
        of_case = by_case.setdefault((case, metric), Numbers(unit, better))
        of_arm = of_case.by_arm.setdefault(arm, {})
        if block in of_arm:
            raise ValueError(f"two final values: {case}, {metric}, {arm}, {block}")
        of_arm[block] = value
    return by_case
