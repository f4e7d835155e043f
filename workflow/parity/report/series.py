"""What figures and tables tell along a parameter: ratios or scatter of arms, and published ones."""

import numpy as np
import pandas as pd

from parity.analysis.methods import cv_bound
from parity.benchmarks.description import Bars, FigureSpec
from parity.claims.published import FIGURES
from parity.report.view import Series, View

CV_NEEDS = 5  # values, for an interval of a coefficient of variation


def curves(view: View, spec: FigureSpec, of_series: Series) -> pd.DataFrame:
    """The cost ratios of each arm but the reference, or the scatter of every arm, by level.

    Returns:
        arm, level, value (a ratio, or the coefficient of variation in %), its 95 % interval low
        and high (not numbers without one), and the blocks that it rests on.
    """
    rows, metric = [], spec.quantities[0].metric
    for level, case in of_series.cases.items():
        for arm, values in view.values(case, metric).items() if spec.scatter else ():
            if len(values) > 1:
                is_known = len(values) >= CV_NEEDS and min(values) > 0
                ends = [cv_bound(values, p) if is_known else np.nan for p in (0.025, 0.975)]
                cv = float(np.std(values, ddof=1) / np.mean(values))
                rows.append((arm, level, 100 * cv, 100 * ends[0], 100 * ends[1], len(values)))
        for row in () if spec.scatter else view.comparisons(case, metric).values():
            if row.kind == "ratio" and row.blocks:
                rows.append((row.arm, level, row.estimate, row.low95, row.high95, row.blocks))
    return pd.DataFrame(rows, columns=["arm", "level", "value", "low", "high", "blocks"])


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
    """Cost ratios by level of bars in a table in s, with rows place, code and x, columns series."""
    of_code = table.xs((bars.place, bars.code))
    if bars.x:
        row = of_code.xs(bars.x).dropna()
        counts = {name: name.removesuffix("/node") for name in row.index if "/node" in name}
        return {int(count): float(row[name] / row[bars.over]) for name, count in counts.items()}
    divided = (of_code[bars.series] / of_code[bars.over]).dropna()
    return dict(sorted((int(str(x)), float(ratio)) for x, ratio in divided.items()))


def ratios_by_size(view: View, case: str) -> pd.DataFrame:
    """Median over blocks of the times of each arm over the reference's, by size in bytes."""
    times, reference = view.message_times, view.plan.reference
    wide = times[times["case"] == case].pivot(
        index=["block", "size"], columns="arm", values="seconds"
    )
    if reference not in wide:
        return pd.DataFrame()
    over = wide.div(wide.pop(reference), axis="index").groupby("size").median()
    return over[[arm for arm in view.arms if arm in over]]
