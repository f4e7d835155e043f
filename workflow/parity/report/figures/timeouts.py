"""The time that each run lost against its timeouts of TCP: a panel for each case that had any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from parity.analysis.timeouts import TIME, TIMEOUTS
from parity.benchmarks.figure_spec import FigureSpec
from parity.report.figures import page_layout, style
from parity.report.text import formatting
from parity.report.view import View

MOST = 12  # panels; what is beyond stands in the table alone


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure."""
    every = view.shown(spec)
    cases = every[:MOST]
    looks = style.arm_styles(view.plan)
    rows = view.waits(cases)
    arms = {row.arm for row in rows}
    said = [
        "n: runs, of one block each     full: line of an arm; s for each timeout [95 % interval]",
        "dotted: each timeout takes the least waiting time of its case, rto_min",
    ]
    if len(every) > MOST:
        said.append(f"the first {MOST} of {len(every)} cases; the table has all of them")
    titles = [formatting.case_levels(view.plan, case) for case in cases]
    figure, panels = page_layout.grid(view, spec, titles, said, len(arms) + 1)
    drawn: dict[str, Line2D] = {}
    for axes, case in zip(panels, cases, strict=True):
        of_case = [row for row in rows if row.case == case]
        base = view.median(case, TIME, view.plan.reference) or 0.0
        axes.spines["left"].set_visible(True)
        axes.tick_params(labelsize=6.5, pad=1.5)
        for number, row in enumerate(of_case):
            counts, times = map(np.array, zip(*_runs(view, case, row.arm), strict=True))
            look = looks[row.arm]
            (marks,) = axes.plot(counts, times - base, **look.mark(0.6), zorder=3)
            drawn[formatting.arm_title(view.plan, row.arm)] = marks
            if np.isfinite(row.slope):
                ends = np.array([counts.min(), counts.max()])
                line = row.intercept - base + row.slope * ends
                axes.plot(ends, line, color=look.colour, linewidth=1, zorder=2)
            text = f"n = {row.runs}: {formatting.slope(row)}"
            axes.text(
                0.03, 0.97 - 0.11 * number, text, transform=axes.transAxes, ha="left", va="top",
                fontsize=6.2, color=look.colour,
            )  # fmt: skip
        _expected(axes, of_case[0].rto_min_ms, drawn)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        # Room for the words on top.
        axes.margins(y=0.05 + 0.14 * len(of_case))
    page_layout.name_axes(
        figure, "timeouts of TCP in a run",
        f"time over the median of {formatting.arm_title(view.plan, view.plan.reference)} (s)",
    )  # fmt: skip
    page_layout.key(figure, drawn)
    return figure


def _runs(view: View, case: str, arm: str) -> Iterator[tuple[float, float]]:
    """Timeouts and seconds of the blocks that hold both."""
    values = view.analysis.values
    of_arm = values[(values["case"] == case) & (values["arm"] == arm)]
    of_both = of_arm[of_arm["metric"].isin((TIME, TIMEOUTS))]
    wide = of_both.pivot(index="block", columns="metric", values="value").dropna()
    yield from wide[[TIMEOUTS, TIME]].itertuples(index=False, name=None)


def _expected(axes: Axes, wait: float, drawn: dict[str, Line2D]) -> None:
    """The line of a slope of the least waiting time through nothing lost without a timeout."""
    if np.isfinite(wait):
        most = max(_ends(axes.get_lines()))
        (drawn["rto_min for each"],) = axes.plot(
            [0, most], [0, wait / 1000 * most], color="black", linestyle=":", linewidth=1.0
        )


def _ends(lines: Sequence[Line2D]) -> list[float]:
    return [float(np.max(line.get_xdata())) for line in lines]
