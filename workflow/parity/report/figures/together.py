"""Values of all cases in one panel: a row for each arm, a mark for each case.

What each arm adds to the reference stands right of it in numbers, a column for each case.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import span
from parity.report.figures import page_layout, style
from parity.report.figures.page_layout import LABELS
from parity.report.figures.panels import Column, logarithmic, rows, say
from parity.report.text import formatting
from parity.report.view import View

HEAD, FOOT = 0.52, 0.86  # inches
NUMBERS = 1.45  # inches of a column of numbers
MARKERS = ("o", "s", "D", "^")
APART = 0.16  # of a row, between the marks of two cases


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure: medians with all values, and differences with 95 % intervals."""
    cases, quantity = view.shown(spec), spec.quantities[0]
    arms = view.arms_of(cases)
    columns = [Column(view, case, quantity, arms) for case in cases]
    body = style.ROW * len(arms)
    figure = page_layout.new_figure(HEAD + body + FOOT)
    page_layout.head(figure, spec.title)
    width = style.TWO_COLUMNS - LABELS - NUMBERS * len(cases) - 0.1
    axes = page_layout.place(figure, LABELS, FOOT, width, body)
    rows(axes, [formatting.arm_title(view.plan, arm) for arm in arms])
    titles = [formatting.case_levels(view.plan, case) for case in cases]
    there = {arm for each in columns for arm in view.values(each.case, each.quantity.metric)}
    nowhere = {arm for arm in columns[0].arms if arm not in there}
    for number, column in enumerate(columns):
        _values(
            axes, column, number, (number - (len(cases) - 1) / 2) * APART, () if number else nowhere
        )
        left = LABELS + width + number * NUMBERS
        _numbers(figure, column, titles[number], left, HEAD, body)
    _axis(axes, columns, spec)
    marks = {
        title: Line2D([], [], linestyle="none", **_mark(number, style.EDGE))
        for number, title in enumerate(titles)
    }
    axes.legend(
        marks.values(), marks, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(marks),
        frameon=False, fontsize=7, handletextpad=0.2, columnspacing=1.2, borderpad=0.1,
    )  # fmt: skip
    said = "mark: median over runs     line: smallest to largest"
    page_layout.foot(figure, view, cases, [said, page_layout.blocks_that_count(view, cases)])
    return figure


def _values(axes: Axes, column: Column, number: int, off: float, nowhere: Collection[str]) -> None:
    """The marks of a case; words for the arms that have values in none."""
    values = column.view.values(column.case, column.quantity.metric)
    for row, arm in enumerate(column.arms):
        if arm not in values:
            if arm in nowhere:
                say(axes, row, column.view.absence(column.case, arm))
            continue
        look, found = column.styles[arm], column.quantity.factor * np.asarray(values[arm])
        axes.plot([found.min(), found.max()], [row + off] * 2, color=look.colour, linewidth=1.0)
        axes.plot(np.median(found), row + off, zorder=3, **_mark(number, look.colour))


def _mark(number: int, colour: str) -> dict[str, Any]:
    """The mark of a case: the first is filled."""
    return {
        "marker": MARKERS[number % len(MARKERS)], "color": colour,
        "markerfacecolor": "white" if number else colour, "markersize": 4.2,
        "markeredgewidth": 1.0,
    }  # fmt: skip


def _numbers(
    figure: Figure, column: Column, title: str, left: float, top: float, body: float
) -> None:
    """How each arm of a case differs from the reference, in numbers beside its row."""
    width, height = figure.get_size_inches()
    said = {arm: formatting.estimate(row) for arm, row in column.compared.items() if row.blocks}
    unit = next((formatting.unit_of(row) for row in column.compared.values()), "")
    counts = sorted({row.blocks for row in column.compared.values() if row.blocks})
    head = f"{title}: over {column.reference}{f' ({unit})' if unit else ''}"
    lines = {-1.35: head, -0.75: f"n = {span(counts)}   [95 %]" if counts else ""}
    lines |= {row: said.get(arm, "") for row, arm in enumerate(column.arms)}
    for row, text in lines.items():
        down = top + body * (row + 0.6) / (len(column.arms) + 0.2)
        figure.text(
            (left + NUMBERS) / width, 1 - down / height, text, ha="right", va="center",
            fontsize=7, color=style.GREY if row < 0 else "black",
        )  # fmt: skip


def _axis(axes: Axes, columns: list[Column], spec: FigureSpec) -> None:
    quantity = spec.quantities[0]
    axes.set_xlabel(f"{quantity.label} ({quantity.unit})")
    known = [
        quantity.factor * value
        for column in columns
        for values in column.view.values(column.case, quantity.metric).values()
        for value in values
    ]
    if known and spec.logarithmic and min(known) > 0:
        logarithmic(axes, (min(known) / 1.4, max(known) * 1.4))
