"""Performance against the number of nodes: the medians of all arms, and below each arm alone.

The shape is that of Figures 3 and 4 of Torrez, Randles and Priedhorsky (CANOPIE-HPC
2019): a line for the median, a shade from minimum to maximum. Shades of many arms hide
each other, so every arm has a panel of its own, all on the same axes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import Transform

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import span
from parity.report.figures import page_layout, style
from parity.report.figures.curves import Column, Point, columns, ends
from parity.report.figures.panels import LETTER, inches
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting
from parity.report.view import View

LEFT, GAP, RIGHT = 1.75, 0.42, 0.1  # inches left of, between and right of the columns
HEAD, MEDIANS, NOTES, FOOT = 0.56, 1.35, 0.38, 1.36  # inches
TALLEST, PAGE = 0.6, 7.6  # inches of an arm's panel and of the whole figure, at most
DODGE = 0.06  # octaves between two arms in the panel of medians
BAND = "#ebebeb"  # lighter than in other figures, because shades lie on it
DOTTED: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 0.9, "zorder": 1}


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure: a row for all medians, then one for each arm but the reference."""
    found = columns(view, spec)
    arms = list(found[0].curves)
    body = min(TALLEST, (PAGE - HEAD - MEDIANS - FOOT) / len(arms) - NOTES)
    bottom = FOOT + len(arms) * (body + NOTES)
    figure = page_layout.new_figure(bottom + MEDIANS + HEAD)
    width = (style.TWO_COLUMNS - LEFT - RIGHT + GAP) / len(found) - GAP
    styles, limits = style.arm_styles(view.plan), _limits(found)
    drawn: dict[str, Line2D] = {}
    for number, column in enumerate(found):
        left = LEFT + number * (width + GAP)
        top = page_layout.place(figure, left, bottom, width, MEDIANS)
        drawn |= _medians(top, column, styles)
        top.set_title(column.cases.title, loc="left", fontweight="normal")
        for row, arm in enumerate(arms, start=1):
            axes = page_layout.place(figure, left, bottom - row * (body + NOTES), width, body)
            axes.set_ylim(limits)
            _one_arm(axes, column, arm, styles[arm])
            _nodes(axes, column, last=row == len(arms))
            if number == 0:
                _name(axes, formatting.arm_title(view.plan, arm))
    _legend(figure.axes[0], view, drawn)
    _words(figure, view, spec, found)
    return figure


def _words(figure: Figure, view: View, spec: FigureSpec, found: Sequence[Column]) -> None:
    """What stands above and below the panels."""
    reference = formatting.arm_title(view.plan, view.plan.reference)
    label = spec.quantities[0].label
    said = f"{label} in % of the median of {reference} at the same case; above 100 is faster"
    page_layout.head(figure, spec.title, LEFT, said)
    pair = " and ".join(formatting.arm_title(view.plan, arm) for arm in view.plan.aa_pair)
    cases = [case for column in found for case in column.cases.cases.values()]
    band = f"grey: margin {formatting.margin(found[0].margin)}     " if found[0].margin else ""
    marks = f"shade: smallest to largest block     {band}dotted: smallest and largest of {pair}"
    blocks = {len(p.values) for c in found for curve in c.curves.values() for p in curve} - {0}
    count = f"{page_layout.blocks_that_count(view, cases)}: {span(blocks or {0})}"
    said = f"{count}     below each point: cost ratio and its 95 % interval"
    page_layout.foot(figure, view, cases, [page_layout.KEY, said, marks])


def _limits(found: Sequence[Column]) -> tuple[float, float]:
    """Room for all values of all arms, and for the band."""
    points = [p for c in found for curve in (c.control, *c.curves.values()) for p in curve]
    edges = [edge for column in found for edge in column.band]
    low, high = min([100.0, *ends(points), *edges]), max([100.0, *ends(points), *edges])
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _ground(axes: Axes, column: Column) -> None:
    """The margin, the reference's median, and a logarithmic axis of nodes."""
    if band := column.band:
        axes.axhspan(*band, color=BAND, zorder=-2, linewidth=0)
        for edge in band:
            axes.axhline(edge, color=style.EDGE, linewidth=0.5, zorder=-1)
    axes.axhline(100, color=style.EDGE, linewidth=0.6, zorder=-1)
    axes.set_xscale("log", base=2)
    nodes = list(column.cases.cases)
    air = 2 ** max(0.45, 0.07 * np.log2(nodes[-1] / nodes[0]))
    axes.set_xlim(nodes[0] / air, nodes[-1] * air)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.tick_params(axis="y", labelsize=7, length=2.5, width=0.6, color=style.GREY)
    axes.spines["left"].set_visible(True)


def _nodes(axes: Axes, column: Column, last: bool) -> None:
    """Ticks at the numbers of nodes that were planned; their labels below the last row."""
    nodes = list(column.cases.cases)
    axes.set_xticks(nodes, [str(count) for count in nodes] if last else [""] * len(nodes))
    if last:
        axes.tick_params(axis="x", pad=19)
        axes.set_xlabel("nodes")


def _medians(axes: Axes, column: Column, styles: Mapping[str, ArmStyle]) -> dict[str, Line2D]:
    """The medians of all arms, shifted sideways so that equal ones do not hide each other."""
    _ground(axes, column)
    _nodes(axes, column, last=False)
    measured = [arm for arm, points in column.curves.items() if ends(points)]
    return {
        arm: _line(
            axes, column.curves[arm], styles[arm], 2 ** (DODGE * (number - (len(measured) - 1) / 2))
        )
        for number, arm in enumerate(measured)
    }


def _line(axes: Axes, points: Sequence[Point], look: ArmStyle, shift: float = 1.0) -> Line2D:
    """Marker and line of the medians; a missing point interrupts the line."""
    medians = [point.summary[1] for point in points]
    nodes = [shift * point.nodes for point in points]
    (line,) = axes.plot(nodes, medians, **look.mark(0.85, look.line), zorder=3)
    return line


def _one_arm(axes: Axes, column: Column, arm: str, look: ArmStyle) -> None:
    """Median and range of one arm, on those of the A/A pair; words where there is no value."""
    _ground(axes, column)
    points = column.curves[arm]
    nodes = [point.nodes for point in points]
    for end in (0, 2):
        noise = [point.summary[end] for point in column.control]
        axes.plot(nodes, noise, marker="_", markersize=5, **DOTTED)
    lows, _, highs = zip(*(point.summary for point in points), strict=True)
    axes.fill_between(nodes, lows, highs, color=look.colour, alpha=0.35, linewidth=0, zorder=1.5)
    for place, low, high in zip(nodes, lows, highs, strict=True):
        axes.plot([place, place], [low, high], color=look.colour, linewidth=0.8, zorder=2)
    _line(axes, points, look)
    several = len({len(point.values) for point in points}) > 1
    for point in points:
        count = f"n={len(point.values)}  " if several else ""
        axes.annotate(
            count + point.note, (point.nodes, 0), (0, -3.5), xycoords=axes.get_xaxis_transform(),
            textcoords="offset points", ha="center", va="top", fontsize=6, color="black",
            linespacing=1.05,
        )  # fmt: skip
    _absences(axes, points)


def _absences(axes: Axes, points: Sequence[Point]) -> None:
    """Why there is no value, in place of it: once for the whole panel if all say the same."""
    reasons = {point.absence for point in points}
    if len(reasons) == 1 and reasons != {""}:
        _say(axes, reasons.pop(), 0.5, inches(axes), axes.transAxes)
        return
    for point in points:
        if point.absence:
            room = 0.9 * inches(axes) / len(points)
            _say(axes, point.absence, point.nodes, room, axes.get_xaxis_transform())


def _say(axes: Axes, text: str, place: float, room: float, transform: Transform) -> None:
    lines = textwrap.wrap(text, max(8, int(room / LETTER)), max_lines=3, placeholder="…")
    axes.text(
        place, 0.5, "\n".join(lines), transform=transform, ha="center", va="center",
        fontsize=7, linespacing=1.0, style="italic", color=style.GREY,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6}, zorder=4,
    )  # fmt: skip


def _name(axes: Axes, title: str) -> None:
    """The arm, left of its panel and of its ticks."""
    axes.annotate(
        title, (0, 0.5), (-24, 0), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="center", fontsize=7.5,
    )  # fmt: skip


def _legend(axes: Axes, view: View, drawn: Mapping[str, Line2D]) -> None:
    """Marker, colour and line of each arm, left of the panel of medians and of its ticks."""
    axes.legend(
        list(drawn.values()), [formatting.arm_title(view.plan, arm) for arm in drawn],
        loc="center right", bbox_to_anchor=(-24 / 72 / inches(axes), 0.5), fontsize=7,
        frameon=False, handlelength=1.9, handletextpad=0.4, labelspacing=0.25, borderaxespad=0,
        title="medians", title_fontsize=7, alignment="left", borderpad=0,
    )  # fmt: skip
