"""What figures and sentences tell along a parameter: ratios or scatter of arms, and theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parity.analysis.statistics.spread import cv_bound
from parity.benchmarks.figure_spec import Bars, FigureSpec
from parity.claims.published import FIGURES
from parity.report.series import Series
from parity.report.view import View

CV_NEEDS = 5  # values, for an interval of a coefficient of variation


@dataclass(frozen=True)
class Point:
    """An arm at one level.

    Attributes:
        value: cost ratio, or coefficient of variation in %.
        low, high: ends of its 95 % interval; not numbers without one.
        blocks: what it rests on.
    """

    level: int
    value: float
    low: float
    high: float
    blocks: int


Curves = Mapping[str, Sequence[Point]]


def curves(view: View, spec: FigureSpec, each: Series) -> Curves:
    """The points of each arm that has any; of ratios all but the reference have."""
    made: dict[str, list[Point]] = {}
    for level, case in each.cases.items():
        for arm, point in (_scatter if spec.scatter else _ratios)(view, spec, case, level):
            made.setdefault(arm, []).append(point)
    return made


def _ratios(view: View, spec: FigureSpec, case: str, level: int) -> list[tuple[str, Point]]:
    rows = view.comparisons(case, spec.quantities[0].metric).values()
    return [
        (row.arm, Point(level, row.estimate, row.low95, row.high95, row.blocks))
        for row in rows
        if row.kind == "ratio" and row.blocks
    ]


def _scatter(view: View, spec: FigureSpec, case: str, level: int) -> list[tuple[str, Point]]:
    found = []
    for arm, values in view.values(case, spec.quantities[0].metric).items():
        if len(values) > 1:
            low, high = np.nan, np.nan
            if len(values) >= CV_NEEDS and min(values) > 0:
                low, high = (100 * cv_bound(values, share) for share in (0.025, 0.975))
            cv = 100 * float(np.std(values, ddof=1) / np.mean(values))
            found.append((arm, Point(level, cv, low, high, len(values))))
    return found


def published(view: View, spec: FigureSpec, each: Series) -> dict[str, dict[int, float]]:
    """Published cost ratios of the program of a series, by what they are of and by level."""
    if FIGURES not in view.published or spec.scatter:
        return {}
    parameters = view.plan.case(next(iter(each.cases.values()))).parameters
    return {
        f"{bars.code}, {bars.label} ({bars.place})": ratios(view.published[FIGURES], bars)
        for bars in spec.bars
        if all(str(parameters.get(name)) == level for name, level in bars.cases.items())
    }


def ratios(table: pd.DataFrame, bars: Bars) -> dict[int, float]:
    """Cost ratios of published bars by level.

    Args:
        table: the bars of all figures in s, rows place, code and x, columns series.
    """
    of_code = table.xs((bars.place, bars.code))
    if bars.x:
        row = of_code.xs(bars.x).dropna()
        counts = {name: name.removesuffix("/node") for name in row.index if "/node" in name}
        return {int(count): float(row[name] / row[bars.over]) for name, count in counts.items()}
    divided = (of_code[bars.series] / of_code[bars.over]).dropna()
    return dict(sorted((int(str(x)), float(ratio)) for x, ratio in divided.items()))


def margin_of(view: View, spec: FigureSpec) -> float | None:
    """The margin of a figure's cases, which are of one benchmark."""
    return view.plan.case(view.shown(spec)[0]).margin


def ratios_by_size(view: View, case: str) -> dict[str, pd.Series]:
    """Of each arm but the reference the median over blocks of its times over the reference's.

    Returns:
        By arm, indexed by the size of a message in bytes.
    """
    times = view.message_times
    wide = times[times["case"] == case].pivot(
        index=["block", "size"], columns="arm", values="seconds"
    )
    if view.plan.reference not in wide:
        return {}
    over = wide.div(wide.pop(view.plan.reference), axis="index").groupby("size").median()
    return {arm: over[arm].dropna() for arm in view.arms if arm in over}
