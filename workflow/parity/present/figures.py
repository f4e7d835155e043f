"""Figures of distributions and comparisons, drawn from their specifications."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from parity.present import style, words
from parity.present.comparison_panel import comparison
from parity.present.panels import Column, rows
from parity.present.specs import LEVELS, FigureSpec
from parity.present.values_panel import distribution
from parity.present.view import View

LABELS = 1.42  # inches left of the panels for the names of the arms
GAP = 0.5  # inches right of each panel for counts and symbols
FOOT, HEAD, BETWEEN = 0.78, 0.26, 0.6
TITLE = 0.2  # inches for the figure's title above several columns
KEY = "=  equivalent     ≠  different     ?  inconclusive     …  too few blocks     †  confounded"


def columns(view: View, spec: FigureSpec) -> list[Column]:
    """What the figure's columns show: each case of its benchmark with each quantity."""
    styles = style.arm_styles(view.plan)
    return [
        Column(view, case, quantity, view.arms, styles)
        for case in view.cases(spec.benchmark)
        for quantity in spec.quantities
    ]


def draw(view: View, spec: FigureSpec) -> Figure:
    """One figure; where the study has no such case, the figure says so."""
    found = columns(view, spec)
    if not found:
        return _nothing(view, spec)
    return _side_by_side(found[0], spec) if len(found) == 1 else _stacked(found, spec)


def draw_all(view: View, specs: tuple[FigureSpec, ...], folder: Path) -> None:
    """Draw and write all figures."""
    for spec in specs:
        style.save(draw(view, spec), folder, spec.name)


def _side_by_side(column: Column, spec: FigureSpec) -> Figure:
    """One case: values left, comparison right."""
    body = style.ROW * len(column.arms)
    figure = new_figure(HEAD + body + FOOT)
    width = (style.TWO_COLUMNS - LABELS) / 2 - GAP
    left = place(figure, LABELS, FOOT, width, body)
    right = place(figure, LABELS + width + GAP, FOOT, width, body)
    rows(left, column.labels)
    rows(right, column.labels, show=False)
    distribution(left, column, spec)
    comparison(right, column, spec.logarithmic)
    left.set_title(spec.title, loc="left")
    right.set_title("paired within blocks", loc="left", fontweight="normal")
    _key(figure, column)
    return figure


def _stacked(found: list[Column], spec: FigureSpec) -> Figure:
    """Several cases or quantities: values on top, comparisons below."""
    body = style.ROW * len(found[0].arms)
    height = TITLE + HEAD + 2 * body + BETWEEN + FOOT
    figure = new_figure(height)
    figure.text(
        LABELS / style.TWO_COLUMNS, 1 - 0.06 / height, spec.title, va="top", fontweight="bold",
    )  # fmt: skip
    width = (style.TWO_COLUMNS - LABELS) / len(found) - GAP
    for number, column in enumerate(found):
        left = LABELS + number * (width + GAP)
        top = place(figure, left, FOOT + body + BETWEEN, width, body)
        bottom = place(figure, left, FOOT, width, body)
        for axes in (top, bottom):
            rows(axes, column.labels, show=number == 0)
        distribution(top, column, spec)
        comparison(bottom, column, spec.logarithmic)
        top.set_title(_column_title(column, spec), loc="left", fontweight="normal")
    _key(figure, *found)
    return figure


def _column_title(column: Column, spec: FigureSpec) -> str:
    """What sets the column apart: its quantity, or the levels of its case."""
    if len(spec.quantities) > 1:
        return column.quantity.label
    level = words.case_levels(column.view.plan, column.case)
    return LEVELS.get(level, level)


def new_figure(height: float) -> Figure:
    """An empty figure of the width of a page."""
    return plt.figure(figsize=(style.TWO_COLUMNS, height))


def place(figure: Figure, left: float, bottom: float, width: float, height: float) -> plt.Axes:
    """Axes at a place given in inches, so that every figure has the same rows."""
    total_width, total_height = figure.get_size_inches()
    return figure.add_axes(
        (left / total_width, bottom / total_height, width / total_width, height / total_height)
    )


def _key(figure: Figure, *columns: Column) -> None:
    """What the symbols mean and what one value is, at the foot."""
    view = columns[0].view
    found = [row for c in columns for row in view.comparisons(c.case, c.quantity.metric).values()]
    key = f"      {KEY}" if any(row.kind == "ratio" for row in found) else ""
    lines = [f"n: blocks that count, of {view.blocks} planned{key}", *absent(columns)]
    foot(figure, "\n".join(lines))


def absent(columns: Sequence[Column]) -> list[str]:
    """A line about the arms that the study only declares, if there are any."""
    arms = columns[0].view.declared(column.case for column in columns)
    titles = [words.arm_title(columns[0].view.plan, arm) for arm in arms]
    return [f"not tested: {', '.join(titles)} (appendix)"] if titles else []


def foot(figure: Figure, text: str) -> None:
    """Lines of small print at the foot of a figure."""
    figure.text(
        0.5, 0.04 / figure.get_size_inches()[1], text,
        ha="center", va="bottom", fontsize=7, color=style.GREY,
    )  # fmt: skip


def _nothing(view: View, spec: FigureSpec) -> Figure:
    """A figure of a benchmark that the study does not run."""
    figure = new_figure(0.8)
    declared = [
        e["reason"] for e in view.plan["not_tested"] if e.get("benchmark") == spec.benchmark
    ]
    reason = declared[0] if declared else f"the study has no case of {spec.benchmark}"
    figure.text(0.5, 0.5, f"{spec.title}: not tested: {reason}", ha="center", va="center")
    return figure
