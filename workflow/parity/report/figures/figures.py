"""Figures of distributions and comparisons, drawn from their specifications."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from parity.report.figures import crossed, forest, ladder, page_layout, scaling, style
from parity.report.figures.comparison_panel import comparison
from parity.report.figures.figure_spec import FigureSpec, Form
from parity.report.figures.page_layout import LABELS, place
from parity.report.figures.panels import Column, rows
from parity.report.figures.specs import LEVELS
from parity.report.figures.values_panel import distribution
from parity.report.text import formatting
from parity.report.view import View

GAP = 0.5  # inches right of each panel for counts and symbols
FOOT, HEAD, BETWEEN = 0.78, 0.26, 0.6
TITLE = 0.2  # inches for the figure's title above several columns
MOST = 5  # columns that fit beside each other
FORMS = {Form.NODES: scaling.draw, Form.CROSSED: crossed.draw, Form.LADDER: ladder.draw}


def columns(view: View, spec: FigureSpec) -> list[Column]:
    """What the figure's columns show: each case of its benchmark with each quantity."""
    styles, cases = style.arm_styles(view.plan), view.shown(spec)
    return [
        Column(view, case, quantity, view.arms_of(cases), styles)
        for case in cases
        for quantity in spec.quantities
    ]


def draw(view: View, spec: FigureSpec) -> Figure:
    """One figure; where the study has no such case, the figure says so.

    Where the columns are too many for values and comparisons, there are comparisons alone.
    """
    found = columns(view, spec)
    if not found:
        return page_layout.nothing(view, spec)
    if special := FORMS.get(view.form(spec)):
        return special(view, spec)
    if len(found) > MOST:
        return forest.of_columns(found)
    return _side_by_side(found[0], spec) if len(found) == 1 else _stacked(found, spec)


def draw_all(view: View, specs: tuple[FigureSpec, ...], folder: Path) -> None:
    """Draw and write all figures."""
    for spec in specs:
        style.save(draw(view, spec), folder, spec.name)


def _side_by_side(column: Column, spec: FigureSpec) -> Figure:
    """One case: values left, comparison right."""
    body = style.ROW * len(column.arms)
    figure = page_layout.new_figure(HEAD + body + FOOT)
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
    figure = page_layout.new_figure(height)
    page_layout.head(figure, spec.title)
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
    level = formatting.case_levels(column.view.plan, column.case)
    return LEVELS.get(level, level)


def _key(figure: Figure, *columns: Column) -> None:
    """What the symbols mean and what one value is, at the foot."""
    view, cases = columns[0].view, [column.case for column in columns]
    found = [row for c in columns for row in view.comparisons(c.case, c.quantity.metric).values()]
    key = f"      {page_layout.KEY}" if any(row.kind == "ratio" for row in found) else ""
    page_layout.foot(figure, view, cases, [f"{page_layout.blocks_that_count(view, cases)}{key}"])
