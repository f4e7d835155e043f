"""A panel of comparisons: how each arm compares with the reference, as estimates and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

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
CLOSE = 0.1  # length of an axis of ratios below which its ticks have three decimals
FARTHEST = 2.0  # an axis of ratios that goes on from 1 for more than so much is logarithmic
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
        logarithmic: whether it is: ratios from some width on, differences where it is wished.
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
    logarithmic: bool = False,
    numbers: bool = False,
    label: bool = True,
) -> None:
    """Estimate and intervals of each arm, on the band of equivalence if there is a margin.

    The thick line is the 90 % interval, which decides equivalence, the thin one that of
    95 %. Right of each row stand its number of blocks and the symbol of its outcome, with
    `numbers` also the estimate; `label` says below what the axis is. An interval that
    leaves the axis ends in an arrow.
    """
    found = column.compared
    shown = [row for arm in column.arms if (row := found.get(arm)) and row.blocks]
    scale = _scale(column, list(found.values()), shown, logarithmic)
    _axis(axes, scale, bool(shown))
    for number, arm in enumerate(column.arms):
        row = found.get(arm)
        if row is None and arm == column.view.plan.reference:
            say(axes, number, "reference")
        elif row is None or not row.blocks:
            beyond = NUMBERS - 0.1 if numbers else 0.0
            say(axes, number, column.view.absence(column.case, arm), beyond)
        else:
            _interval(axes, number, row, column.styles[arm], scale)
            _note(axes, number, row, numbers)
    kind = "difference" if scale.margin is None else "ratio"
    beside(axes, -1, f"n   {kind} [95 % interval]" if numbers else "n")
    if label:
        axes.set_xlabel(_comparison_label(column, scale, short=inches(axes) < SMALL))


def _scale(column: Column, found: Sequence[Any], shown: Sequence[Any], logarithmic: bool) -> Scale:
    ratio = any(row.kind == "ratio" for row in found)
    factor, neutral = (1.0, 1.0) if ratio else (column.quantity.factor, 0.0)
    margin = found[0].margin if ratio else None
    limits = _limits(shown, factor, margin, neutral, column.published)
    if ratio and shown and limits[1] > 1 + FARTHEST:
        logarithmic, limits = True, _limits_of_wide(shown, column.published)
    elif ratio:
        logarithmic = False
    elif shown and logarithmic:
        lowest = min(factor * row.estimate for row in shown)
        limits = (min(-1.0, 3 * lowest), 2 * limits[1])
    return Scale(factor, neutral, margin, limits, column.published, bool(shown and logarithmic))


def _limits_of_wide(shown: Sequence[Any], published: Sequence[float]) -> tuple[float, float]:
    """Ends of a logarithmic axis of ratios: all estimates, and of intervals a decade beyond."""
    centres = [row.estimate for row in shown]
    low, high = min([1.0, *published, *centres]), max([1.0, *published, *centres])
    ends = [end for row in shown for end in (row.low95, row.high95) if np.isfinite(end)]
    return max(0.1 * low, min([low, *ends])) / 1.3, min(10 * high, max([high, *ends])) * 1.3


def _limits(
    shown: Sequence[Any],
    factor: float,
    margin: float | None,
    neutral: float,
    published: Sequence[float],
) -> tuple[float, float]:
    """Room for all estimates and the band; very wide intervals are cut and marked.

    Ratios have the neutral value in the middle, but for what is published, which lies on
    one side; differences take only the side they need.
    """
    centres = [factor * row.estimate for row in shown]
    ends = [factor * e for row in shown for e in (row.low95, row.high95) if np.isfinite(e)]
    reach = max([abs(c - neutral) for c in centres] + [2.2 * (margin or 0)], default=0.0)
    widest = max([abs(e - neutral) for e in ends], default=0.0)
    reach = 1.12 * max(reach, min(widest, 4 * reach) if reach else widest) or 1.0
    if neutral:
        if not published:
            return neutral - reach, neutral + reach
        low = min([*centres, *ends, neutral - 1.5 * (margin or 0)])
        top = max([*published, neutral + reach / 1.12])
        return max(neutral - reach, low - 0.01), neutral + 1.08 * (top - neutral)
    low = max(min([*centres, *ends, 0.0]), -reach)
    high = min(max([*centres, *ends, 0.0]), reach)
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _axis(axes: Axes, scale: Scale, any_shown: bool) -> None:
    """Limits, the neutral line, the band with its edges, and ticks."""
    if scale.logarithmic and scale.neutral:
        logarithmic(axes, scale.limits)
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
        # Labels of three decimals do not fit into a small panel.
        tight = inches(axes) < SMALL and scale.limits[1] - scale.limits[0] < CLOSE
        steps = [1, 2, 4, 5, 10] if scale.margin and tight else [1, 2, 2.5, 5, 10]
        ticks(axes, steps)


def _interval(axes: Axes, number: int, row: Any, look: ArmStyle, scale: Scale) -> None:
    """Marker and intervals; hatching behind what is confounded; an arrow where one is cut."""
    if formatting.is_confounded(row):
        axes.axhspan(number - 0.45, number + 0.45, facecolor="none", hatch="////", zorder=-1)
    if row.blocks > 1:
        for ends, width in (((row.low95, row.high95), THIN), ((row.low90, row.high90), THICK)):
            axes.plot(
                np.clip([scale.factor * end for end in ends], *scale.limits), [number, number],
                color=look.colour, linewidth=width, solid_capstyle="butt", zorder=2,
            )  # fmt: skip
        whole = (scale.factor * row.low95, scale.factor * row.high95)
        arrows(axes, number, whole, scale.limits, look.colour)
    axes.plot(scale.factor * row.estimate, number, **look.mark(), zorder=3, clip_on=False)


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
            axes.plot(place, row, marker, color=colour, markersize=size, transform=across)


def _note(axes: Axes, number: int, row: Any, numbers: bool) -> None:
    """Block count, outcome symbol and confounding mark, right of the row."""
    beside(axes, number, str(row.blocks))
    offset = (16 if row.blocks < 100 else 20, 0)
    bold: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "va": "center", "ha": "center"}
    place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    if numbers:
        axes.annotate(
            formatting.estimate(row), (1.02, number), (13, 0), fontsize=7, va="center", **place
        )
        offset = (96, 0)
    axes.annotate(symbol(row), (1.02, number), offset, **bold, **place)


def symbol(row: Any) -> str:
    """The sign of an outcome, with the mark of a confounded one."""
    mark = style.CONFOUNDED if formatting.is_confounded(row) else ""
    return f"{style.SYMBOLS[row.outcome]}{mark}"


def _comparison_label(column: Column, scale: Scale, short: bool) -> str:
    if scale.margin is None:
        native = formatting.arm_title(column.view.plan, column.view.plan.reference)
        unit = formatting.unit_of_difference(column.quantity)
        return f"{column.quantity.label}: difference to\n{native} ({unit})"
    reference = column.reference
    if short:
        return f"ratio to {reference}\n(band: {formatting.margin(scale.margin)})"
    return f"cost relative to {reference}\n(ratio; band: margin {formatting.margin(scale.margin)})"
