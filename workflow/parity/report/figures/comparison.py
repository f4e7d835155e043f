"""A panel of comparisons: how each arm compares with the reference, as estimates and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from parity.analysis import outcomes
from parity.report.figures import style
from parity.report.figures.panels import (
    Column,
    beside,
    inches,
    logarithmic,
    plain_tick,
    say,
    ticks,
)
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting

NUMBERS = 1.56  # inches right of a panel for count, estimate and symbol
SMALL = 1.0  # inches below which a panel's label has to be short
STEPS = (1, 2, 2.5, 5, 10)
CLOSE = 0.1  # length of an axis of ratios below which its ticks have three decimals
MANY = 1e3  # end of an axis of differences that has room for every other power of ten
THICK, THIN = 2.2, 0.8  # points: the 90 % and the 95 % interval


@dataclass(frozen=True)
class Scale:
    """The axis of one comparison.

    Attributes:
        factor: what turns an estimate into the axis' unit.
        neutral: where arm and reference cost the same.
        margin: the equivalence margin; None for differences.
        limits: both ends of the axis.
        published: ratios of a publication to mark.
        logarithmic: whether it is, as that of ratios always is.
    """

    factor: float
    neutral: float
    margin: float | None
    limits: tuple[float, float]
    published: tuple[float, ...] = ()
    logarithmic: bool = False


def comparison(
    axes: Axes,
    column: Column,
    is_logarithmic: bool = False,
    numbers: bool = False,
    label: bool = True,
    beside_it: Sequence[Column] = (),
) -> None:
    """Estimate and intervals of each arm, on the band of equivalence if there is a margin.

    The thick line is the 90 % interval, which decides equivalence, the thin one that of
    95 %. Right of each row stand its number of blocks, where they differ, and the symbol of its
    outcome, with `numbers` also the estimate; `label` says below what the axis is. Ratios have a
    logarithmic axis, the same for all columns `beside_it` of one metric. An interval without
    an end has an arrow there.

    Args:
        is_logarithmic: whether an axis of differences is, as that of a ratio always is.
    """
    found = column.compared
    shown = _shown(column)
    scale = _scale(column, list(found.values()), beside_it or [column], is_logarithmic)
    _axis(axes, scale, bool(shown))
    same = shown[0].blocks if len({row.blocks for row in shown}) == 1 else 0
    for number, arm in enumerate(column.arms):
        row = found.get(arm)
        if row is None and arm == column.view.plan.reference:
            say(axes, number, "reference")
        elif row is None or not row.blocks:
            beyond = NUMBERS - 0.1 if numbers else 0.0
            say(axes, number, column.view.absence(column.case, arm), beyond)
        else:
            _interval(axes, number, row, column.styles[arm], scale)
            _note(axes, number, row, numbers, bool(same))
    kind = "difference [95 %]" if scale.margin is None else "ratio [95 % interval]"
    head = f"n = {same}" if same else "n"
    beside(axes, -1, f"{head}   {kind}" if numbers else head)
    if label:
        axes.set_xlabel(_comparison_label(column, scale, short=inches(axes) < SMALL))


def _shown(column: Column) -> list[Any]:
    """The comparisons that there are, in the order of the arms."""
    found = column.compared
    return [row for arm in column.arms if (row := found.get(arm)) and row.blocks]


def _scale(
    column: Column, found: Sequence[Any], together: Sequence[Column], is_logarithmic: bool
) -> Scale:
    shown = _shown(column)
    if any(row.kind == "ratio" for row in found):
        # What is compared with something else than the reference has a range of its own.
        alike = [each for each in together if each.quantity == column.quantity]
        own = column.rows is not None
        of_metric = [row for each in ([column] if own else alike) for row in _shown(each)]
        widest = max(row.margin for row in (*of_metric, *found))
        limits = _of_ratios(of_metric, widest, column.published)
        return Scale(1.0, 1.0, found[0].margin, limits, column.published, logarithmic=True)
    factor = column.quantity.factor
    limits = _of_differences(shown, factor)
    if shown and is_logarithmic:
        ends = [factor * end for row in shown for end in (row.estimate, row.low95, row.high95)]
        limits = (min([-1.0, *(2 * end for end in ends if np.isfinite(end))]), 2 * limits[1])
    return Scale(factor, 0.0, None, limits, column.published, bool(shown and is_logarithmic))


def _of_ratios(
    shown: Sequence[Any], margin: float, published: Sequence[float]
) -> tuple[float, float]:
    """Room for all ratios, the band and what is published, on the sides that they need."""
    of_rows = (e for row in shown for e in (row.estimate, row.low95, row.high95))
    band = 1.5 * np.log1p(margin)
    every = [*(np.log(e) for e in of_rows if 0 < e < np.inf), -band, band]
    low, high = min(every), max([*every, *map(np.log, published)])
    air = 0.05 * (high - low)
    return float(np.exp(low - air)), float(np.exp(high + air))


def _of_differences(shown: Sequence[Any], factor: float) -> tuple[float, float]:
    """Room for all differences and for 0, on the sides that they need."""
    of_rows = (factor * e for row in shown for e in (row.estimate, row.low95, row.high95))
    every = [0.0, *(e for e in of_rows if np.isfinite(e))]
    low, high = min(every), max(every)
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _axis(axes: Axes, scale: Scale, any_shown: bool) -> None:
    """Limits, the neutral line, the band with its edges, and ticks."""
    if scale.margin is not None:
        # Labels of three decimals do not fit into a small panel.
        tight = inches(axes) < SMALL and scale.limits[1] - scale.limits[0] < CLOSE
        logarithmic(axes, scale.limits, [1, 2, 4, 5, 10] if tight else STEPS)
    elif scale.logarithmic:
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        if max(scale.limits) > MANY:
            powers = [100.0**power for power in range(1, 8)]
            axes.set_xticks([0, *powers, *(-power for power in powers)])
        axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))
    axes.set_xlim(scale.limits)
    if scale.margin:
        edges = 1 / (1 + scale.margin), 1 + scale.margin
        axes.axvspan(*edges, color=style.BAND, zorder=-2, linewidth=0)
        for edge in edges:
            axes.axvline(edge, color=style.EDGE, linewidth=0.5, zorder=-1)
    if len(scale.published) > 1:
        axes.axvspan(*scale.published, color=style.PUBLISHED, zorder=-2, linewidth=0)
    for value in scale.published:
        axes.axvline(value, color="black", linestyle=":", linewidth=0.8, zorder=-1)
    axes.axvline(scale.neutral, color=style.EDGE, linewidth=0.6, zorder=-1)
    if not any_shown:
        axes.set_xticks([])
    elif not scale.logarithmic:
        ticks(axes, STEPS)


def _interval(axes: Axes, number: int, row: Any, look: ArmStyle, scale: Scale) -> None:
    """Intervals on their marker; hatching behind what is confounded; an arrow where one is cut."""
    if formatting.is_confounded(row):
        axes.axhspan(number - 0.45, number + 0.45, facecolor="none", hatch="////", zorder=-1)
    if row.blocks > 1:
        for ends, width in (((row.low95, row.high95), THIN), ((row.low90, row.high90), THICK)):
            axes.plot(
                np.clip([scale.factor * end for end in ends], *scale.limits), [number, number],
                color=look.colour, linewidth=width, solid_capstyle="butt", zorder=3,
            )  # fmt: skip
        whole = (scale.factor * row.low95, scale.factor * row.high95)
        arrows(axes, number, whole, scale.limits, look.colour)
    axes.plot(scale.factor * row.estimate, number, **look.behind(), zorder=2, clip_on=False)


def arrows(
    axes: Axes,
    row: int,
    interval: tuple[float, float],
    limits: tuple[float, float],
    colour: str,
    size: float = 4,
) -> None:
    """An arrow at each end of the axis that an interval goes beyond; `size` in points."""
    sides = ((0.012, "<", interval[0] < limits[0]), (0.988, ">", interval[1] > limits[1]))
    for place, marker, is_cut in sides:
        if is_cut:
            across = axes.get_yaxis_transform()
            look: dict[str, Any] = {"color": colour, "markersize": size, "clip_on": False}
            axes.plot(place, row, marker, transform=across, **look)


def _note(axes: Axes, number: int, row: Any, numbers: bool, counted: bool) -> None:
    """Right of a row: its blocks, if they are not told above, and the sign of its outcome."""
    if not counted:
        beside(axes, number, str(row.blocks))
    offset = (16 if row.blocks < 100 else 20, 0)
    bold: dict[str, Any] = {"fontsize": 9, "fontweight": "bold", "va": "center", "ha": "center"}
    place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    if numbers:
        axes.annotate(
            formatting.estimate(row), (1.02, number), (13, 0), fontsize=7, va="center", **place
        )
        offset = (101, 0)
    axes.annotate(symbol(row), (1.02, number), offset, **bold, **place)


def symbol(row: Any) -> str:
    """The sign of an outcome, with the mark of a confounded one.

    An interval within the margin has a sign of its own where nothing is concluded: the control
    was not equivalent, say.
    """
    mark = style.CONFOUNDED if formatting.is_confounded(row) else ""
    edge = 1 + (row.margin if row.kind == "ratio" else np.nan)
    within = row.outcome == outcomes.INCONCLUSIVE and 1 / edge < row.low90 <= row.high90 < edge
    return f"{style.WITHIN if within else style.SYMBOLS[row.outcome]}{mark}"


def _comparison_label(column: Column, scale: Scale, short: bool) -> str:
    if scale.margin is None:
        native = formatting.arm_title(column.view.plan, column.view.plan.reference)
        unit = formatting.unit_of_difference(column.quantity)
        return f"{column.quantity.label}: difference to\n{native} ({unit})"
    reference = column.reference
    if short:
        return f"ratio to {reference}\n(band: {formatting.margin(scale.margin)})"
    return f"cost relative to {reference}\n(ratio; band: margin {formatting.margin(scale.margin)})"
