"""How arms compare with the reference along a parameter: a panel for each series of cases.

The parameter may be the containers of a node or the ranks of a program: the shape of Figures 1 to
3 of Ruiz et al. (VHPC 2015) and 6, 7 and 12 of Beserra et al. (CISIS 2015), as ratios.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import span
from parity.report.along import Curves, Point, curves, margin_of, published
from parity.report.figures import page_layout, style
from parity.report.figures.panels import plain_tick
from parity.report.series import CONTAINERS
from parity.report.text import formatting
from parity.report.view import View

DODGE = 0.6  # of the distance between two levels, over which arms stand beside each other
MARKS = ("x", "+", "1", "2")  # of published bars
WORDS = {CONTAINERS: "containers on each node"}
EVEN = 1.0


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure."""
    shown = view.series(spec)
    found = [curves(view, spec, each) for each in shown]
    bars = [published(view, spec, each) for each in shown]
    looks = {
        arm: look
        for arm, look in style.arm_styles(view.plan).items()
        if any(of_arms.get(arm) for of_arms in found)
    }
    keyed = len(looks) + len({label for of in bars for label in of})
    titles = [each.title for each in shown]
    figure, panels = page_layout.grid(view, spec, titles, _foot(view, spec, found), keyed)
    drawn: dict[str, Line2D] = {}
    for axes, each, of_arms, theirs in zip(panels, shown, found, bars, strict=True):
        levels = sorted({*each.cases, *(level for of in theirs.values() for level in of)})
        places = {level: place for place, level in enumerate(levels)}
        _ground(axes, view, spec)
        for number, (arm, look) in enumerate(looks.items()):
            shift = DODGE * ((number + 0.5) / len(looks) - 0.5)
            if points := of_arms.get(arm):
                where = [places[point.level] + shift for point in points]
                drawn[formatting.arm_title(view.plan, arm)] = _curve(axes, where, points, look)
        for mark, (label, of) in zip(itertools.cycle(MARKS), theirs.items(), strict=False):
            (drawn[label],) = axes.plot(
                [places[level] for level in of], list(of.values()), mark, color="black",
                markersize=5, markeredgewidth=0.9, linestyle=":", linewidth=0.7, zorder=4,
            )  # fmt: skip
        axes.set_xlim(-0.6, len(levels) - 0.4)
        axes.set_xticks(range(len(levels)), [str(level) for level in levels])
        _limits(axes, spec)
    what = f"cost over {formatting.reference_title(view.plan)} (ratio)"
    what = "coefficient of variation (%)" if spec.scatter else what
    page_layout.name_axes(figure, WORDS.get(spec.along, spec.along.replace("_", " ")), what)
    page_layout.key(figure, drawn)
    return figure


def _ground(axes: Axes, view: View, spec: FigureSpec) -> None:
    """A logarithmic axis with the margin; one from zero for scatter."""
    axes.spines["left"].set_visible(True)
    axes.tick_params(labelsize=6.5, pad=1.5)
    if spec.scatter:
        return
    axes.set_yscale("log")
    if margin := margin_of(view, spec):
        axes.axhspan(1 / (1 + margin), 1 + margin, color=style.BAND, zorder=-2, linewidth=0)
    axes.axhline(EVEN, color=style.EDGE, linewidth=0.6, zorder=-1)


def _curve(
    axes: Axes, where: Sequence[float], points: Sequence[Point], look: style.ArmStyle
) -> Line2D:
    """Marks, joined by a line, each with its interval."""
    for place, point in zip(where, points, strict=True):
        if np.isfinite([point.low, point.high]).all():
            axes.plot([place, place], [point.low, point.high], color=look.colour, linewidth=1)
    values = [point.value for point in points]
    (line,) = axes.plot(where, values, **look.mark(0.7, look.line), linewidth=0.7, zorder=3)
    return line


def _limits(axes: Axes, spec: FigureSpec) -> None:
    """Room for all that was drawn, and few ticks without powers of ten."""
    if spec.scatter:
        axes.set_ylim(0, None)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        return
    low, high = axes.dataLim.y0, axes.dataLim.y1
    low, high = min(low, 1 / 1.02), max(high, 1.02)
    air = (high / low) ** 0.08
    axes.set_ylim(low / air, high * air)
    axes.yaxis.set_minor_locator(NullLocator())
    if high / low > 3:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(plain_tick))


def _foot(view: View, spec: FigureSpec, found: Sequence[Curves]) -> list[str]:
    blocks = [p.blocks for of_arms in found for points in of_arms.values() for p in points]
    planned = span([view.blocks_of[case] for case in view.shown(spec)])
    said = [f"n = {span(blocks or [0])} blocks of {planned} planned"]
    said.append("lines: 95 % intervals")
    margin = margin_of(view, spec)
    if margin and not spec.scatter:
        said.append(f"band: margin {formatting.margin(margin)}")
    return ["     ".join(said)]
