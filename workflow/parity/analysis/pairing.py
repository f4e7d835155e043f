"""Which numbers count, and how they are paired within blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import tables


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
    by_arm: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def counted_values(metrics: pd.DataFrame, exclusions: pd.DataFrame) -> pd.DataFrame:
    """The numbers of valid, final runs that nobody excluded and that are numbers.

    Outliers stay: only a failed check or a printed exclusion takes a run out
    (Hoefler & Belli, SC15, rule 4 in spirit).
    """
    keys = metrics["block"] + "/" + metrics["run"]
    excluded = keys.isin(exclusions["block"] + "/" + exclusions["run"])
    keep = metrics["valid"] & np.isfinite(metrics["value"]) & ~excluded
    columns = [column.name for column in tables.VALUES.columns]
    order = list(tables.VALUES.order)
    return metrics.loc[keep, columns].sort_values(order, ignore_index=True)


def numbers(values: pd.DataFrame) -> dict[tuple[str, str], Numbers]:
    """The counted values (`tables.VALUES`) by case and metric.

    Raises:
        ValueError: a block holds two counted numbers of one arm.
    """
    found: dict[tuple[str, str], Numbers] = {}
    for row in values.itertuples(index=False):
        of_case = found.setdefault((row.case, row.metric), Numbers(row.unit, row.better, {}))
        of_arm = of_case.by_arm.setdefault(row.arm, {})
        if row.block in of_arm:
            raise ValueError(f"two final values: {row.case}, {row.metric}, {row.arm}, {row.block}")
        of_arm[row.block] = row.value
    return found


def kind(comparison: Mapping[str, Any]) -> str:
    """How a comparison is expressed: as a ratio if it has a margin, else as a difference."""
    return "difference" if comparison["margin"] is None else "ratio"


def pairs(found: Numbers, comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row (`tables.PAIRS`) per block that holds a number for both sides of the comparison.

    For a ratio the effect is the log of the cost ratio: arm over reference where
    lower is better, reference over arm where higher is, so a positive effect always
    costs more. Ratios need positive numbers; a pair without them is dropped, and the
    comparison's block counts show it.
    """
    constant = {key: comparison[key] for key in ("case", "metric", "arm", "reference")}
    arm, reference = (found.by_arm.get(comparison[side], {}) for side in ("arm", "reference"))
    ratio = kind(comparison) == "ratio"
    sign = -1.0 if found.better == "higher" else 1.0
    rows = []
    for block in sorted(arm.keys() & reference.keys()):
        value, base = arm[block], reference[block]
        if ratio and min(value, base) <= 0:
            continue
        effect = sign * math.log(value / base) if ratio else value - base
        row = {"block": block, "value": value, "reference_value": base, "effect": effect}
        rows.append(constant | row)
    return rows
