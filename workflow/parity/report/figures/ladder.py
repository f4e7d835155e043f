"""A ladder of arms: what each costs over the bare program, and over the step before it."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parity.analysis import ladder
from parity.report.figures import page_layout, style
from parity.report.figures.comparison_panel import comparison
from parity.report.figures.figure_spec import FigureSpec
from parity.report.figures.page_layout import LABELS, place
from parity.report.figures.panels import Column, rows
from parity.report.text import formatting
from parity.report.view import View

GAP = 0.5  # inches right of each panel for counts and symbols
FOOT, HEAD = 0.92, 0.3
WIDER = 1.25  # the left panel by the right one, as it holds the published range as well


def draw(view: View, spec: FigureSpec) -> Figure:
    """A row of two panels for each case: left over the reference, right over the step before."""
    cases, quantity = view.shown(spec), spec.quantities[0]
    arms, styles = ladder.order(view.plan, view.arms_of(cases)), style.arm_styles(view.plan)
    body = style.ROW * len(arms)
    tall = HEAD + body + FOOT
    figure = page_layout.new_figure(tall * len(cases))
    width = (style.TWO_COLUMNS - LABELS - 2 * GAP) / (1 + WIDER)
    for number, case in enumerate(reversed(cases)):
        bottom = FOOT + number * tall
        left = place(figure, LABELS, bottom, WIDER * width, body)
        right = place(figure, LABELS + WIDER * width + GAP, bottom, width, body)
        whole = Column(view, case, quantity, arms, styles, published=spec.published)
        added = view.steps(case, quantity.metric)
        step = Column(view, case, quantity, arms, styles, added, against="the step before")
        for axes, column in ((left, whole), (right, step)):
            rows(axes, column.labels, show=axes is left)
            comparison(axes, column)
            _groups(axes, view, arms)
        several = formatting.case_levels(view.plan, case) if len(cases) > 1 else ""
        left.set_title(several or spec.title, loc="left")
        right.set_title("runtimes: over the last step", loc="left", fontweight="normal")
    low, high = (formatting.percent(ratio - 1) for ratio in spec.published)
    tint = f"tinted: {low} to {high}, {spec.source}"
    page_layout.foot(
        figure,
        view,
        cases,
        [f"{page_layout.blocks_that_count(view, cases)}     {tint}", page_layout.KEY],
    )
    return figure


def _groups(axes: Axes, view: View, arms: list[str]) -> None:
    """Lines between the A/A pair, the ladder and the full runtimes."""
    of_ladder = [arms.index(arm) for arm in ladder.rungs(view.plan, arms)]
    for row in {min(of_ladder), max(of_ladder) + 1}:
        axes.axhline(row - 0.5, color=style.EDGE, linewidth=0.6, zorder=0)
