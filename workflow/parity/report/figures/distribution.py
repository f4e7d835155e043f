"""A panel of values: how those of each arm lie and spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from parity.benchmarks.figure_spec import FigureSpec
from parity.report.figures import style
from parity.report.figures.panels import Column, beside, logarithmic, say, ticks
from parity.report.figures.specs import FEW
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting


def distribution(axes: Axes, column: Column, spec: FigureSpec) -> None:
    """Values of each arm: points, and above `FEW` a box with whiskers to the extremes."""
    scaled = _scaled(column, spec.relative)
    counts = {len(values) for values in scaled.values()}
    same = counts.pop() if len(counts) == 1 else 0
    for row, arm in enumerate(column.arms):
        if arm not in scaled:
            say(axes, row, column.view.absence(column.case, arm))
            continue
        look = column.styles[arm]
        values = np.asarray(scaled[arm])
        if not same:
            beside(axes, row, str(len(values)))
        if spec.from_zero:
            _bar(axes, row, values, look)
        elif len(values) > FEW and np.ptp(values) > 0:
            _box(axes, row, values, look)
        else:
            _points(axes, row, values, look)
    if spec.relative and scaled:
        axes.axvline(0, color=style.EDGE, linewidth=0.6, zorder=0)
    beside(axes, -1, f"n = {same}" if same else "n")
    axes.set_xlabel(_value_label(column, spec.relative))
    _value_axis(axes, list(scaled.values()), spec)


def _scaled(column: Column, relative: bool) -> dict[str, list[float]]:
    """Values by arm in the axis' unit: absolute, or % above the reference's median."""
    values = column.view.values(column.case, column.quantity.metric)
    if not relative:
        return {a: [column.quantity.factor * v for v in vs] for a, vs in values.items()}
    base = column.view.median(column.case, column.quantity.metric, column.view.plan.reference)
    return (
        {} if base is None else {a: [100 * (v / base - 1) for v in vs] for a, vs in values.items()}
    )


def _value_label(column: Column, relative: bool) -> str:
    quantity = column.quantity
    reference = column.view.plan.reference
    if not relative:
        return f"{quantity.label} ({quantity.unit})"
    median = column.view.median(column.case, quantity.metric, reference)
    if median is None:
        return f"{quantity.label}: deviation from\nthe reference (%)"
    base = f"{formatting.significant(quantity.factor * median, 4)} {quantity.unit}"
    title = formatting.arm_title(column.view.plan, reference)
    return f"{quantity.label}: deviation from\nmedian {title}, {base} (%)"


def _value_axis(axes: Axes, values: Sequence[Sequence[float]], spec: FigureSpec) -> None:
    """Limits with a little air; readable ticks on a logarithmic axis."""
    numbers = [v for vs in values for v in vs]
    if not numbers:
        axes.set_xticks([])
        return
    low, high = min(numbers), max(numbers)
    if spec.logarithmic:
        logarithmic(axes, (low / 1.4, high * 1.4))
        return
    air = 0.06 * (high - low) or max(0.001 * abs(high), 0.1)
    axes.set_xlim(*((0, 1.04 * high) if spec.from_zero else (low - air, high + air)))
    ticks(axes, [1, 2, 5, 10])


def _points(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """Every value, and a bar at the median if they differ."""
    axes.plot(values, np.full(len(values), row), **look.mark(0.75), zorder=3)
    if np.ptp(values) > 0:
        ends = [row - 0.32, row + 0.32]
        axes.plot([np.median(values)] * 2, ends, color="black", linewidth=1.1, zorder=3)


def _box(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """Quartiles and median; whiskers to minimum and maximum, so that no outlier is hidden."""
    line = {"color": look.colour, "linewidth": 0.9}
    axes.boxplot(
        values, positions=[row], orientation="horizontal", widths=0.55, patch_artist=True,
        whis=(0, 100), manage_ticks=False,  # codespell:ignore whis
        boxprops={"facecolor": look.tint, "edgecolor": look.colour, "linewidth": 0.9},
        whiskerprops=line, capprops=line, medianprops={"color": "black", "linewidth": 1.1},
    )  # fmt: skip


def _bar(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """A bar to the median from zero, with a line from minimum to maximum."""
    middle = np.median(values)
    axes.barh(
        row, middle, 0.62, facecolor=look.tint, edgecolor=look.colour, linewidth=0.8,
        xerr=[[middle - values.min()], [values.max() - middle]], capsize=2,
        error_kw={"ecolor": "black", "elinewidth": 1.0, "capthick": 1.0},
    )  # fmt: skip
