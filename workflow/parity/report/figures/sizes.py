"""Messages of rising size: their rate, or their time over the reference's; a panel for each case.

The shape is that of Figures 8 to 11 of Beserra et al. (CISIS 2015).
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import span
from parity.report.along import margin_of
from parity.report.figures import page_layout, style
from parity.report.figures.panels import plain_tick
from parity.report.text import formatting
from parity.report.view import View

TICKS = {1: "1 B", 2**10: "1 KiB", 2**20: "1 MiB", 2**30: "1 GiB"}


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure."""
    cases, times = view.shown(spec), view.message_times
    shown = times[times["case"].isin(cases)]
    blocks = [of["block"].nunique() for _, of in shown.groupby(["case", "arm"])]
    looks = {a: s for a, s in style.arm_styles(view.plan).items() if a in set(times["arm"])}
    planned = span([view.blocks_of[case] for case in cases])
    margin = margin_of(view, spec) if spec.relative else None
    said = [
        f"n = {span(blocks)} blocks of {planned} planned",
        "shade: smallest to largest",
    ]
    said += [f"band: margin {formatting.margin(margin)}"] if margin else []
    titles = [formatting.case_levels(view.plan, case) for case in cases]
    figure, panels = page_layout.grid(view, spec, titles, ["     ".join(said)], len(looks))
    drawn: dict[str, Line2D] = {}
    for axes, case in zip(panels, cases, strict=True):
        values = _values(view, spec, times[times["case"] == case])
        axes.spines["left"].set_visible(True)
        axes.set(xscale="log", yscale="log")
        for arm, look in looks.items():
            if arm in values and not (spec.relative and arm == view.plan.reference):
                of_arm = values[arm].dropna().groupby("size")
                low, middle, high = of_arm.min(), of_arm.median(), of_arm.max()
                axes.fill_between(middle.index, low, high, color=look.colour, alpha=0.15, lw=0)
                (line,) = axes.plot(
                    middle.index, middle, **look.mark(0.55, look.line), markevery=6, linewidth=0.8
                )
                drawn[formatting.arm_title(view.plan, arm)] = line
        if margin:
            axes.axhspan(1 / (1 + margin), 1 + margin, color=style.BAND, zorder=-2, linewidth=0)
        axes.xaxis.set_major_locator(FixedLocator([*TICKS]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: TICKS.get(int(size), "")))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if spec.relative else (1,)))
        axes.yaxis.set_major_formatter(FuncFormatter(plain_tick))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        axes.tick_params(labelsize=6.5, pad=1.5)
    native = formatting.arm_title(view.plan, view.plan.reference)
    what = f"time over {native} (ratio)" if spec.relative else "rate (Gbit/s)"
    page_layout.name_axes(figure, "size of a message", what)
    page_layout.key(figure, drawn)
    return figure


def _values(view: View, spec: FigureSpec, times: pd.DataFrame) -> pd.DataFrame:
    """Rates in Gbit/s, or times over the reference's in the same block, by block and size."""
    wide = times.pivot(index=["block", "size"], columns="arm", values="seconds")
    if not spec.relative:
        sizes = wide.index.get_level_values("size").to_numpy()
        return 1 / wide.div(8e-9 * sizes, axis="index")
    reference = view.plan.reference
    return wide.div(wide[reference], axis="index") if reference in wide else wide.iloc[:0]
