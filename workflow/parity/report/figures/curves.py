"""Performance against the number of nodes: the points of each arm, and the margin and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.benchmarks.figure_spec import FigureSpec
from parity.benchmarks.metrics import Quantity
from parity.core.wording import counted
from parity.report.figures.comparison import symbol
from parity.report.figures.specs import spelt
from parity.report.series import Series
from parity.report.text import formatting
from parity.report.view import View


@dataclass(frozen=True)
class Point:
    """An arm at one number of nodes.

    Attributes:
        nodes: number of nodes.
        values: performance in % of the reference's median, one value for each block.
        note: the cost ratio with the sign of its outcome, and below that the 95 % interval.
        absence: why there is no value; empty if there is one.
    """

    nodes: int
    values: np.ndarray
    note: str
    absence: str

    @property
    def summary(self) -> tuple[float, float, float]:
        """Smallest value, median and largest value; not numbers if there is none."""
        if not len(self.values):
            return np.nan, np.nan, np.nan
        return float(self.values.min()), float(np.median(self.values)), float(self.values.max())


def series(view: View, spec: FigureSpec) -> list[Series]:
    """The figure's cases by ranks per node and the levels of their factors."""
    alike: dict[tuple[int, int, tuple[str, ...]], dict[int, str]] = {}
    for case in view.shown(spec):
        parameters = view.plan.case(case).parameters
        nodes, ranks = parameters["nodes"], parameters["ranks"]
        levels = tuple(case.removeprefix(f"{spec.benchmark}-").split("-")[1:])
        containers = parameters.get("containers_per_node", 0)
        alike.setdefault((ranks // nodes, containers, levels), {})[nodes] = case
    return [
        Series(
            ", ".join(
                [
                    f"{counted(each, 'rank')} per node",
                    *([f"{counted(containers, 'container')} per node"] if containers else []),
                    *(spelt(spec.benchmark, level) for level in levels),
                ]
            ),
            dict(sorted(cases.items())),
        )
        for (each, containers, levels), cases in sorted(alike.items())
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
    compared = (view.comparisons(case, quantity.metric) for case in cases.cases.values())
    rows = (row for of_case in compared for row in of_case.values())
    return next((float(row.margin) for row in rows if row.kind == "ratio"), None)


def _point(view: View, nodes: int, case: str, quantity: Quantity, arm: str) -> Point:
    values = view.values(case, quantity.metric).get(arm, [])
    base = view.median(case, quantity.metric, view.plan.reference)
    if not values or base is None:
        absence = view.absence(case, arm if base is not None else view.plan.reference)
        return Point(nodes, np.array([]), "", absence)
    compared = view.comparisons(case, quantity.metric)
    measured = np.asarray(values)
    lower = any(row.better == "lower" for row in compared.values())
    relative = 100 * (base / measured if lower else measured / base)
    return Point(nodes, relative, _note(compared[arm]) if arm in compared else "", "")


def _note(row: Any) -> str:
    ratio, _, interval = formatting.estimate(row).partition(" ")
    return f"{ratio} {symbol(row)}\n{interval}"


def ends(points: Sequence[Point]) -> list[float]:
    """Smallest and largest values of all points that have any."""
    return [end for point in points if len(point.values) for end in point.summary[::2]]


@dataclass(frozen=True)
class Column:
    """What the panels of one column show: the cases of one number of ranks per node.

    Attributes:
        control: the values of both arms of the A/A pair together.
        margin: the equivalence margin; None if there is none.
        curves: the points of each arm but the reference.
    """

    cases: Series
    control: Sequence[Point]
    margin: float | None
    curves: Mapping[str, Sequence[Point]]

    @property
    def band(self) -> tuple[float, ...]:
        """Performance in % at both edges of the margin, which is one of cost ratios."""
        if self.margin is None:
            return ()
        return 100 / (1 + self.margin), 100 * (1 + self.margin)


def columns(view: View, spec: FigureSpec) -> list[Column]:
    """The columns of the figure."""
    quantity = spec.quantities[0]
    arms = [arm for arm in view.arms if arm != view.plan.reference]
    return [
        Column(
            cases,
            control(view, cases, quantity),
            margin(view, cases, quantity),
            {arm: curve(view, cases, quantity, arm) for arm in arms},
        )
        for cases in series(view, spec)
    ]
