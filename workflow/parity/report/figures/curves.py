"""How an arm's performance lies against the number of nodes, in per cent of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.analysis import outcomes
from parity.core.wording import counted
from parity.report.figures import style
from parity.report.figures.specs import SPELT, FigureSpec, Quantity
from parity.report.text import formatting
from parity.report.view import View


@dataclass(frozen=True)
class Series:
    """Cases that differ in their number of nodes alone, ascending.

    Attributes:
        title: what they have in common.
        cases: number of nodes to case.
    """

    title: str
    cases: dict[int, str]


@dataclass(frozen=True)
class Point:
    """An arm at one number of nodes.

    Attributes:
        nodes: number of nodes.
        values: performance in % of the reference's median, one value for each block.
        symbol: outcome of the comparison, with the mark of a confounded one.
        absence: why there is no value; empty if there is one.
    """

    nodes: int
    values: np.ndarray
    symbol: str
    absence: str

    @property
    def summary(self) -> tuple[float, float, float]:
        """Smallest value, median and largest value; not numbers if there is none."""
        if not len(self.values):
            return np.nan, np.nan, np.nan
        return float(self.values.min()), float(np.median(self.values)), float(self.values.max())


def series(view: View, spec: FigureSpec) -> list[Series]:
    """The figure's cases by ranks per node and the levels of their factors."""
    entries = {case["case"]: case for case in view.plan.cases}
    found: dict[tuple[int, tuple[str, ...]], dict[int, str]] = {}
    for case in view.shown(spec):
        nodes, ranks = (entries[case]["parameters"][key] for key in ("nodes", "ranks"))
        levels = tuple(case.removeprefix(f"{spec.benchmark}-").split("-")[1:])
        found.setdefault((ranks // nodes, levels), {})[nodes] = case
    return [
        Series(
            ", ".join(
                [
                    f"{counted(each, 'rank')} per node",
                    *(SPELT.get(level, level) for level in levels),
                ]
            ),
            dict(sorted(cases.items())),
        )
        for (each, levels), cases in sorted(found.items())
    ]


def curve(view: View, cases: Series, quantity: Quantity, arm: str) -> list[Point]:
    """One point for each number of nodes."""
    return [_point(view, nodes, case, quantity, arm) for nodes, case in cases.cases.items()]


def control(view: View, cases: Series, quantity: Quantity) -> list[Point]:
    """The values of both arms of the A/A pair together."""
    both = [curve(view, cases, quantity, arm) for arm in view.plan.aa_pair]
    return [
        Point(one.nodes, np.concatenate([one.values, two.values]), "", one.absence or two.absence)
        for one, two in zip(*both, strict=True)
    ]


def margin(view: View, cases: Series, quantity: Quantity) -> float | None:
    """The margin of the comparisons, which all cases of a benchmark share."""
    for case in cases.cases.values():
        for row in view.comparisons(case, quantity.metric).values():
            if row.kind == "ratio":
                return float(row.margin)
    return None


def _point(view: View, nodes: int, case: str, quantity: Quantity, arm: str) -> Point:
    values = view.values(case, quantity.metric).get(arm, [])
    base = view.median(case, quantity.metric, view.plan.reference)
    if not values or base is None:
        absence = view.absence(case, arm if base is not None else view.plan.reference)
        return Point(nodes, np.array([]), "", absence)
    compared = view.comparisons(case, quantity.metric)
    found = np.asarray(values)
    lower = any(row.better == "lower" for row in compared.values())
    relative = 100 * (base / found if lower else found / base)
    return Point(nodes, relative, _symbol(compared.get(arm)), "")


def _symbol(row: Any | None) -> str:
    """The sign of an outcome; nothing for the reference, which is compared with nothing."""
    if row is None or row.outcome == outcomes.NOT_TESTED:
        return ""
    return style.SYMBOLS[row.outcome] + (style.CONFOUNDED if formatting.is_confounded(row) else "")


def ends(points: Sequence[Point]) -> list[float]:
    """Smallest and largest values of all points that have any."""
    return [end for point in points if len(point.values) for end in point.summary[::2]]
