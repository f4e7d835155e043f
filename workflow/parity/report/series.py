"""What figures and tables tell along a parameter: ratios or scatter of arms, and published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parity.analysis.methods import cv_bound
from parity.benchmarks.description import Bars, FigureSpec
from parity.claims.published import FIGURES
from parity.report.view import Series, View

CV_NEEDS = 5  # values, for an interval of a coefficient of variation


class Point(NamedTuple):
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


def curves(view: View, spec: FigureSpec, of_series: Series) -> Curves:
    """The points of each arm that has any; of ratios all but the reference have."""
    made: dict[str, list[Point]] = {}
    metric = spec.quantities[0].metric
    for level, case in of_series.cases.items():
        if spec.scatter:
            for arm, values in view.values(case, metric).items():
                if len(values) > 1:
                    ends = (np.nan, np.nan)
                    if len(values) >= CV_NEEDS and min(values) > 0:
                        ends = (cv_bound(values, 0.025), cv_bound(values, 0.975))
                    cv = float(np.std(values, ddof=1) / np.mean(values))
                    point = Point(level, 100 * cv, 100 * ends[0], 100 * ends[1], len(values))
                    made.setdefault(arm, []).append(point)
            continue
        for row in view.comparisons(case, metric).values():
            if row.kind == "ratio" and row.blocks:
                point = Point(level, row.estimate, row.low95, row.high95, row.blocks)
                made.setdefault(row.arm, []).append(point)
    return made


def published(view: View, spec: FigureSpec, of_series: Series) -> dict[str, dict[int, float]]:
    """Published cost ratios of the program of a series, by what they are of and by level."""
    if FIGURES not in view.published or spec.scatter:
        return {}
    parameters = view.plan.case(next(iter(of_series.cases.values()))).parameters
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
    of_case = times[times["case"] == case]
    wide = of_case.pivot(index=["block", "size"], columns="arm", values="seconds")
    if view.plan.reference not in wide:
        return {}
    over = wide.div(wide.pop(view.plan.reference), axis="index").groupby("size").median()
    return {arm: over[arm].dropna() for arm in view.arms if arm in over}
