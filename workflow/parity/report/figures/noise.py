"""What is made of single events: rows of arms with intervals, and what many ranks lose to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from parity.analysis.noise.replay import RANDOM, TOGETHER
from parity.benchmarks.figure_spec import FigureSpec
from parity.report.figures import page_layout, style
from parity.report.figures.comparison import arrows
from parity.report.figures.page_layout import LABELS
from parity.report.figures.panels import (
    beside,
    inches,
    logarithmic,
    plain_tick,
    rows,
    say,
    ticks_around_one,
)
from parity.report.figures.small_multiples import short, styles
from parity.report.text import formatting, noise
from parity.report.text.noise_at_scale import step_words
from parity.report.view import View, rows_of

HEAD, FOOT, GAP = 0.55, 0.8, 0.12  # inches
BETWEEN = 0.14  # inches between two rows of panels
BESIDE = 2.4  # inches left of panels for the names of several arms
WIDE = 3.0  # slowdown from which an axis is logarithmic


@dataclass(frozen=True)
class Page:
    """A page of panels beside each other that have a row for each arm.

    Attributes:
        case: the first case that the figure shows.
        table: what the figure's table holds of it.
    """

    view: View
    spec: FigureSpec
    case: str
    table: pd.DataFrame
    arms: Sequence[str]
    figure: Figure

    def panels(self, count: int, right: float) -> list[Axes]:
        """So many panels beside each other, with so many inches right of the last one."""
        height = self.figure.get_size_inches()[1] - HEAD - FOOT
        width = (style.TWO_COLUMNS - LABELS - right + GAP) / count - GAP
        labels = [formatting.arm_title(self.view.plan, arm) for arm in self.arms]
        made = []
        for number in range(count):
            left = LABELS + number * (width + GAP)
            made.append(page_layout.place(self.figure, left, FOOT, width, height))
            rows(made[-1], labels, show=not number)
        return made

    def rows(self) -> list[tuple[int, Any, style.ArmStyle]]:
        """Place, row of the table and style of each arm that has such a row."""
        looks, found = styles(self.view), {r.arm: r for r in rows_of(self.table)}
        return [(n, found[arm], looks[arm]) for n, arm in enumerate(self.arms) if arm in found]

    def foot(self, *said: str) -> Figure:
        """The finished figure with what is said at its foot."""
        page_layout.foot(self.figure, self.view, [self.case], said)
        return self.figure


def _page(view: View, spec: FigureSpec) -> Page:
    case = view.shown(spec)[0]
    table = view.of_events[spec.table]
    table = table[table["case"] == case]
    arms = [arm for arm in view.arms if arm in set(table["arm"])]
    body = min(style.ROW * len(arms), page_layout.PAGE - HEAD - FOOT)
    figure = page_layout.new_figure(HEAD + body + FOOT)
    page_layout.head(figure, spec.title, LABELS, formatting.case_levels(view.plan, case))
    return Page(view, spec, case, table, arms, figure)


def quantiles(view: View, spec: FigureSpec) -> Figure:
    """Ratio of each quantile to the reference's: a panel for each, a row for each arm."""
    page = _page(view, spec)
    margin = view.plan.case(page.case).margin
    known = page.table[["ratio", "ratio_low", "ratio_high"]].to_numpy(float)
    known = known[np.isfinite(known) & (known > 0)]
    ends = min([0.6, *(known / 1.2)]), max([1.6, *(1.2 * known)])
    whole = page.table
    shares = sorted(whole["share"].unique())
    for axes, share in zip(page.panels(len(shares), 0.62), shares, strict=True):
        of_share = replace(page, table=whole[whole["share"] == share])
        logarithmic(axes, ends)
        ticks_around_one(axes)
        if margin:
            axes.axvspan(1 / (1 + margin), 1 + margin, color=style.BAND, zorder=-2, linewidth=0)
        axes.axvline(1, color=style.EDGE, linewidth=0.6, zorder=-1)
        for number, row, look in of_share.rows():
            if row.arm == view.plan.reference:
                say(axes, number, "reference")
            elif not np.isfinite(row.ratio):
                say(axes, number, "too few")
            else:
                _mark(axes, number, (row.ratio, row.ratio_low, row.ratio_high), look)
            if share == shares[-1]:
                beside(axes, number, f"{row.events:,}")
        axes.set_title(f"{100 * share:g} %", loc="left", fontweight="normal")
    beside(axes, -1, "n")
    reference = formatting.arm_title(view.plan, view.plan.reference)
    page.figure.text(0.5, 0.46 / page.figure.get_size_inches()[1],
                     f"quantile of lengths over that of {reference}", ha="center")  # fmt: skip
    band = f"     band: margin {formatting.margin(margin)}" if margin else ""
    return page.foot(f"n: events of all runs     lines: 95 % intervals, by blocks of time{band}")


def quota(view: View, spec: FigureSpec) -> Figure:
    """Observed and predicted length of the events that a limit makes, and their difference."""
    page = _page(view, spec)
    left, right = page.panels(2, 0.62)
    table = page.table
    known = table[["predicted", "observed", "low", "high"]].to_numpy(float)
    above = known[known > 0]
    logarithmic(left, (700 * above.min(), 1400 * above.max()))
    tick = 1e3 * float(table["tick"].fillna(0).max())
    off = 1e3 * (known[:, 1:] - known[:, :1])
    reach = 1.15 * max([tick or 1, *np.abs(off[np.isfinite(off)])])
    right.set_xlim(-reach, reach)
    right.axvspan(-tick, tick, color=style.BAND, zorder=-2, linewidth=0)
    right.axvline(0, color=style.EDGE, linewidth=0.6, zorder=-1)
    right.xaxis.set_major_locator(MaxNLocator(5, prune="both"))
    for number, row, look in page.rows():
        left.plot(1e3 * row.predicted, number, "|", color="black", markersize=9, zorder=2)
        beside(right, number, f"{row.events:,}")
        if not np.isfinite(row.observed):
            say(right, number, "no event of the limit")
            continue
        observed = 1e3 * np.array([row.observed, row.low, row.high])
        _mark(left, number, tuple(observed), look)
        _mark(right, number, tuple(observed - 1e3 * row.predicted), look)
    left.set_xlabel("median length (ms); black: period − quota")
    right.set_xlabel("observed − predicted (ms)")
    beside(right, -1, "n")
    band = f"     band: ±1 tick ({tick:g} ms)" if tick else ""
    return page.foot(f"n: events due to the limit     lines: 95 % intervals{band}")


def return_levels(view: View, spec: FigureSpec) -> Figure:
    """The length that is reached once in a period, by a fitted tail, beside the longest seen."""
    page = _page(view, spec)
    (axes,) = page.panels(1, 1.9)
    known = 1e3 * page.table[["level", "low", "high", "longest"]].to_numpy(float)
    known = known[np.isfinite(known) & (known > 0)]
    middle = known if len(known) else np.array([1.0])
    most = 1.5 * 10 ** min(np.log10(middle.max()), np.log10(np.median(middle)) + 4)
    logarithmic(axes, (0.6 * middle.min(), most))
    for number, row, look in page.rows():
        axes.plot(1e3 * row.longest, number, "x", color="black", markersize=4, zorder=2)
        if np.isfinite(row.level):
            shown = look if row.fit >= noise.POOR else replace(look, colour=style.BAND)
            _mark(axes, number, tuple(1e3 * np.array([row.level, row.low, row.high])), shown)
        shape, low, high, fit = (
            formatting.number(value, 2)
            for value in (row.shape, row.shape_low, row.shape_high, row.fit)
        )
        _columns(axes, number, f"{shape} [{low}, {high}]", fit, f"{row.exceedances:,}")
    _columns(axes, -0.9, "shape [95 %]", "fit p", "n")
    period = float(page.table["period_seconds"].max()) / 60
    axes.set_xlabel(f"reached once in {period:g} minutes (ms); ×: longest observed")
    return page.foot(
        "n: events above each arm's threshold, to which a generalised Pareto law is fitted",
        f"lines: 95 % intervals     grey: a law that fits badly (p below {noise.POOR})     "
        "× alone: too little was recorded",
    )


def replay(view: View, spec: FigureSpec) -> Figure:
    """Time of a step over its work against ranks: a row for each kind of arms."""
    case = view.shown(spec)[0]
    table = view.of_events[spec.table].query("case == @case")
    steps = sorted(table["step_seconds"].unique())
    held = set(table["arm"])
    groups = {t: [a for a in arms if a in held] for t, arms in view.kinds.items()}
    groups = {title: arms for title, arms in groups.items() if arms}
    talls = [max(0.95, 0.11 * len(arms) + 0.1) for arms in groups.values()]
    room = page_layout.PAGE - HEAD - FOOT - BETWEEN * (len(talls) - 1)
    talls = [tall * min(1, room / sum(talls)) for tall in talls]
    whole = sum(talls) + BETWEEN * (len(talls) - 1)
    figure = page_layout.new_figure(HEAD + whole + FOOT)
    page_layout.head(figure, spec.title, BESIDE, formatting.case_levels(view.plan, case))
    looks = styles(view)
    width = (style.TWO_COLUMNS - BESIDE - 0.1 + GAP) / len(steps) - GAP
    bottom, last = FOOT + whole, [*groups.values()][-1]
    for (title, arms), tall in zip(groups.items(), talls, strict=True):
        bottom -= tall
        most = float(np.nanmax(table.loc[table["arm"].isin(arms), ["slowdown", "high"]]))
        for column, step in enumerate(steps):
            left = BESIDE + column * (width + GAP)
            axes = page_layout.place(figure, left, bottom, width, tall)
            _slowdowns(axes, table[table["step_seconds"] == step], {a: looks[a] for a in arms})
            _slowdown_axis(axes, most)
            axes.tick_params(labelleft=column == 0, labelbottom=arms is last)
            if bottom + tall > FOOT + whole - BETWEEN:
                axes.set_title(step_words(step), loc="left", fontweight="normal")
            if column == 0:
                _legend(axes, view, title, arms)
        bottom -= BETWEEN
    height = figure.get_size_inches()[1]
    figure.text(0.6, 0.5 / height, "ranks; above: work of a step", ha="center")
    page_layout.foot(figure, view, [case], [
        "time of a step over its work; shade: 95 % interval     "
        "full: each rank at a random moment, broken: all at once",
        "dotted: 1 % more     hollow: lower bound, as more is asked than the recorded time holds",
    ])  # fmt: skip
    return figure


def _slowdown_axis(axes: Axes, most: float) -> None:
    """An axis from no slowdown to the most of a row of panels, with few ticks."""
    if most > WIDE:
        axes.set(yscale="log", ylim=(0.9 * most**-0.03, 1.1 * most**1.03))
        axes.yaxis.set_major_locator(LogLocator(numticks=5))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(plain_tick))
    else:
        air = 0.06 * max(0.015, most - 1)
        axes.set_ylim(1 - air, 1 + max(0.015, most - 1) + air)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.ticklabel_format(axis="y", useOffset=False)


def _slowdowns(axes: Axes, table: pd.DataFrame, looks: dict[str, style.ArmStyle]) -> None:
    """The curves of arms in one panel."""
    axes.set(xscale="log", xlim=(0.6, 2**20 * 1.7))
    axes.set_xticks([1, 1e3, 1e6], ["1", "10³", "10⁶"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=6.5)
    axes.spines["left"].set_visible(True)
    axes.axhline(1, color=style.EDGE, linewidth=0.6, zorder=-1)
    axes.axhline(1.01, color="black", linewidth=0.6, linestyle=":", zorder=-1)
    shade = min(0.2, 0.5 / len(looks))
    for arm, look in looks.items():
        of_arm = table[table["arm"] == arm].sort_values("ranks")
        for phases, line in ((RANDOM, "-"), (TOGETHER, (0, (2, 1.5)))):
            found = of_arm[of_arm["phases"] == phases]
            ranks, centre = found["ranks"], found["slowdown"]
            axes.plot(ranks, centre, color=look.colour, linestyle=line, label=arm,
                      linewidth=1.2 if phases == RANDOM else 0.8,
                      alpha=0.4 if look.hollow else 1)  # fmt: skip
            axes.fill_between(ranks, found["low"], found["high"], color=look.colour, alpha=shade,
                              linewidth=0)  # fmt: skip
            bound = found[found["beyond"]]
            axes.plot(bound["ranks"], bound["slowdown"], "o", color=look.colour, markersize=2.6,
                      markerfacecolor="white", markeredgewidth=0.6)  # fmt: skip


def _legend(axes: Axes, view: View, title: str, arms: Sequence[str]) -> None:
    """The arms left of a row of panels, under what they are called together."""
    lines = {line.get_label(): line for line in reversed(axes.get_lines())}
    axes.legend(
        [lines[arm] for arm in arms], list(short(view, arms).values()),
        loc="center right", bbox_to_anchor=(-0.34 / inches(axes), 0.5),
        fontsize=6, frameon=False, handlelength=1.2, handletextpad=0.4, labelspacing=0.2,
        title=title or None, title_fontsize=6.5, alignment="left", borderpad=0, borderaxespad=0,
    )  # fmt: skip


def _columns(axes: Axes, row: float, *texts: str) -> None:
    """Words right of a row, in columns that end alike."""
    for text, place in zip(texts, (74, 98, 128), strict=True):
        axes.annotate(text, (1, row), (place, 0), xycoords=axes.get_yaxis_transform(),
                      textcoords="offset points", ha="right", va="center", fontsize=6.3,
                      color=style.GREY)  # fmt: skip


def _mark(axes: Axes, row: int, found: Sequence[float], look: style.ArmStyle) -> None:
    """Marker of a value and line of its interval, if it has one; both cut at the axis' ends."""
    value, low, high = found
    limits = axes.get_xlim()
    if np.isfinite([low, high]).all():
        axes.plot(np.clip([low, high], *limits), [row, row], color=look.colour, linewidth=1.2)
        arrows(axes, row, (low, high), limits, look.colour)
    if limits[0] <= value <= limits[1]:
        axes.plot(value, row, **look.mark(0.85), zorder=3)
    else:
        arrows(axes, row, (value, value), limits, look.colour)
