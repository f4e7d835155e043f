"""The figures, drawn from their specifications.

A figure of panels shows each case and metric: how its values lie, and how each arm compares
with the reference; where there are too many, a forest shows the comparisons alone. The other
forms are a factor crossed with the container, a ladder of arms, curves over nodes, and those of
single events.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parity.analysis import conclusions
from parity.analysis.conclusions import ARM_OVERALL, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.report.figures import (
    along,
    densities,
    interfaces,
    noise,
    page_layout,
    parts,
    scaling,
    sizes,
    small_multiples,
    style,
    timeouts,
    together,
)
from parity.report.figures.comparison import comparison
from parity.report.figures.distribution import distribution
from parity.report.figures.forest import WIDE, in_grid, of_columns
from parity.report.figures.page_layout import LABELS, PAGE, place
from parity.report.figures.panels import Column, rows
from parity.report.text import formatting
from parity.report.view import View

GAP = 0.5  # inches right of each panel for counts and symbols
FOOT, HEAD, BETWEEN = 1.04, 0.26, 0.6
FOOT_OF_LADDER, HEAD_OF_LADDER = 1.04, 0.3
UNDER, OVER = 0.56, 0.24  # inches below and above a row of panels for its axes and its title
TALL_DENSITY, UNDER_KEY = 1.3, 0.2  # inches of a panel of densities, and above it
TITLE = 0.2  # inches for the figure's title above several columns
LETTER, LINE = 0.068, 0.12  # inches of a letter of a column's title, and of its second line
MOST = 5  # columns that fit beside each other
WIDER = 1.25  # a ladder's left panel by its right one, as it holds the published range as well


def draw(view: View, spec: FigureSpec) -> Figure:
    """One figure, of which the study has a case.

    Where the columns are too many for values and comparisons, there are comparisons alone.
    """
    special = {
        Form.NODES: scaling.draw, Form.CROSSED: _crossed, Form.LADDER: _ladder,
        Form.TIMELINES: small_multiples.timelines, Form.TAILS: small_multiples.tails,
        Form.KINDS: small_multiples.kinds, Form.QUANTILES: noise.quantiles,
        Form.ALONG: along.draw, Form.TIMEOUTS: timeouts.draw, Form.SIZES: sizes.draw,
        Form.PARTS: parts.draw, Form.TOGETHER: together.draw,
        Form.INTERFACES: interfaces.draw,
        Form.QUOTA: noise.quota, Form.LEVELS: noise.return_levels, Form.REPLAY: noise.replay,
    }  # fmt: skip
    if form := special.get(view.form(spec)):
        return form(view, spec)
    shown = columns(view, spec)
    if densities.has(view, spec):
        return _overlaid(shown, spec)
    if _is_in_rows(shown, spec):
        return _side_by_side(shown, spec)
    if has_ratios_alone(view, spec):
        return of_columns([_compared(column) for column in shown])
    return _stacked(shown, spec)


def _is_in_rows(shown: Sequence[Column], spec: FigureSpec) -> bool:
    """Whether values and comparisons stand beside each other, a row for each column."""
    # Above a column is room for its case or its quantity, not for both.
    both = len(spec.quantities) > 1 and len({column.case for column in shown}) > 1
    fits = (spec.in_rows or both) and _height_in_rows(shown) <= PAGE
    return len(shown) == 1 or fits


def has_ratios_alone(view: View, spec: FigureSpec) -> bool:
    """Whether a figure of panels has no room for values beside the comparisons."""
    shown = columns(view, spec)
    return not _is_in_rows(shown, spec) and (len(shown) > MOST or spec.in_rows)


def columns(view: View, spec: FigureSpec) -> list[Column]:
    """What the figure's columns show: each case of its benchmark with each quantity."""
    cases = view.shown(spec)
    return [
        Column(view, case, shown, view.arms_of(cases))
        for case in cases
        for shown in spec.quantities
    ]


def _overlaid(shown: Sequence[Column], spec: FigureSpec) -> Figure:
    """Densities of all arms on top, which share a key, and comparisons below."""
    compared = [_compared(column) for column in shown]
    body = style.ROW * len(compared[0].arms)
    width = (style.TWO_COLUMNS - LABELS) / len(shown) - GAP
    top = HEAD + page_layout.KEY_ROW * -(-len(shown[0].arms) // page_layout.KEYED) + UNDER_KEY
    figure = page_layout.new_figure(top + TALL_DENSITY + BETWEEN + body + FOOT)
    page_layout.head(figure, spec.title, page_layout.LEFT)
    drawn: dict[str, Artist] = {}
    for number, column in enumerate(shown):
        left = LABELS + number * (width + GAP)
        upper = place(figure, left, FOOT + body + BETWEEN, width, TALL_DENSITY)
        lower = place(figure, left, FOOT, width, body)
        drawn |= densities.densities(upper, column)
        if len(shown) > 1:
            upper.set_title(_column_title(column, spec), loc="left", fontweight="normal")
        if number == 0:
            upper.set_ylabel("density")
        rows(lower, compared[number].labels, show=number == 0)
        comparison(lower, compared[number], spec.logarithmic, beside_it=compared)
    page_layout.key(figure, drawn)
    _key(figure, *shown)
    return figure


def _height_in_rows(shown: Sequence[Column]) -> float:
    """Inches of a figure that has a row of panels for each case and quantity."""
    return FOOT - UNDER + len(shown) * (OVER + style.ROW * len(shown[0].arms) + UNDER)


def _side_by_side(shown: Sequence[Column], spec: FigureSpec) -> Figure:
    """For each case and quantity a row of panels: values left, comparison right."""
    body, several = style.ROW * len(shown[0].arms), len(shown) > 1
    above = TITLE if several else 0.02
    figure = page_layout.new_figure(_height_in_rows(shown) + above)
    width = (style.TWO_COLUMNS - LABELS) / 2 - GAP
    for number, column in enumerate(reversed(shown)):
        bottom = FOOT + number * (OVER + body + UNDER)
        left = place(figure, LABELS, bottom, width, body)
        right = place(figure, LABELS + width + GAP, bottom, width, body)
        rows(left, column.labels)
        rows(right, column.labels, show=False)
        distribution(left, column, spec)
        comparison(right, column, spec.logarithmic, beside_it=shown)
        if several:
            left.set_title(_row_title(column), loc="left", fontweight="normal")
        else:
            left.set_title(spec.title, loc="left")
        right.set_title("paired within blocks", loc="left", fontweight="normal")
    if several:
        page_layout.head(figure, spec.title)
    _key(figure, *shown)
    return figure


def _row_title(column: Column) -> str:
    """What sets a row of panels apart: its case, as its axis names its quantity."""
    return formatting.case_levels(column.view.plan, column.case) or column.quantity.label


def _stacked(shown: Sequence[Column], spec: FigureSpec) -> Figure:
    """Several cases or quantities beside each other: values on top, comparisons below."""
    of_values = style.ROW * len(shown[0].arms)
    compared = [_compared(column) for column in shown]
    body = style.ROW * len(compared[0].arms)
    width = (style.TWO_COLUMNS - LABELS) / len(shown) - GAP
    letters = int((width + GAP) / LETTER)
    titles = [textwrap.fill(_column_title(column, spec), letters) for column in shown]
    lines = LINE * max(title.count("\n") for title in titles)
    height = TITLE + HEAD + lines + of_values + body + BETWEEN + FOOT
    figure = page_layout.new_figure(height)
    page_layout.head(figure, spec.title)
    for number, column in enumerate(shown):
        left = LABELS + number * (width + GAP)
        top = place(figure, left, FOOT + body + BETWEEN, width, of_values)
        bottom = place(figure, left, FOOT, width, body)
        rows(top, column.labels, show=number == 0)
        rows(bottom, compared[number].labels, show=number == 0)
        distribution(top, column, spec)
        comparison(bottom, compared[number], spec.logarithmic, beside_it=compared)
        top.set_title(titles[number], loc="left", fontweight="normal")
    _key(figure, *shown)
    return figure


def _compared(column: Column) -> Column:
    """The column without the reference, whose row would be empty in a panel of comparisons."""
    reference = column.view.plan.reference
    return replace(column, arms=[arm for arm in column.arms if arm != reference])


def _column_title(column: Column, spec: FigureSpec) -> str:
    """What sets the column apart: its quantity, or the levels of its case."""
    if len(spec.quantities) > 1:
        return column.quantity.label
    level = formatting.case_levels(column.view.plan, column.case)
    return spec.levels.get(level, level)


def _key(figure: Figure, *shown: Column) -> None:
    """What the symbols mean and what one value is, at the foot."""
    view, cases = shown[0].view, [column.case for column in shown]
    ratio = any(row.kind == "ratio" for column in shown for row in column.compared.values())
    count = page_layout.blocks_that_count(view, cases)
    page_layout.foot(figure, view, cases, [page_layout.KEY if ratio else "", count])


def _crossed(view: View, spec: FigureSpec) -> Figure:
    """A factor of two levels crossed with the container, for the first pair of cases.

    The first row of panels holds what the factor does in each arm, by itself and averaged over
    both sides; the second how much more or less it does there than in the reference, and what
    the container does, averaged over the levels; the third that at each level.
    """
    effects = _effects(view, spec)
    first = next(iter(effects[LEVEL].values()))
    cases, shown = first.cases.split(), spec.quantities[0]
    arms = view.arms_of(cases)
    reference = formatting.reference_title(view.plan)

    def column(case: str, effect: str | None, published: tuple[float, ...] = ()) -> Column:
        rows = view.comparisons(case, shown.metric) if effect is None else effects[effect]
        of_reference = effect in (LEVEL, LEVEL_OVERALL)
        of_rows = [arm for arm in arms if of_reference or arm != view.plan.reference]
        return Column(view, case, shown, of_rows, rows, published=published)

    over, factor = f"{first.high} over {first.low}", first.factor
    panels = {
        f"{factor}: {over}, in each arm": column(cases[0], LEVEL, spec.published),
        f"{factor}: {over}, both sides": column(cases[0], LEVEL_OVERALL, spec.published),
        f"interaction: {over}, over {reference}'s": column(cases[0], INTERACTION),
        f"arm over {reference}, both levels": column(cases[0], ARM_OVERALL),
        f"arm over {reference}, {factor} {first.low}": column(cases[0], None),
        f"arm over {reference}, {factor} {first.high}": column(cases[1], None),
    }
    band = f"band: margin {formatting.margin(first.margin)}"
    key = f"cost ratios, above 1 costs more; {band}; dotted: {spec.source}; n: blocks"
    return in_grid(list(panels.values()), list(panels), WIDE, [key, page_layout.KEY])


def _effects(view: View, spec: FigureSpec) -> dict[str, dict[str, Any]]:
    """Named tuples by effect and arm, for the first pair of cases of the factor."""
    table = view.crossed(spec)
    table = table[table["cases"] == table["cases"].iloc[0]]
    return {
        str(effect): {row.arm: row for row in rows_of.itertuples(index=False)}
        for effect, rows_of in table.groupby("effect", sort=True)
    }


def _ladder(view: View, spec: FigureSpec) -> Figure:
    """A row of two panels for each case: left over the reference, right over the step before."""
    cases, shown = view.shown(spec), spec.quantities[0]
    ordered = conclusions.ladder_order(view.plan, view.arms_of(cases))
    arms = [arm for arm in ordered if arm != view.plan.reference]
    body = style.ROW * len(arms)
    tall = HEAD_OF_LADDER + body + FOOT_OF_LADDER
    figure = page_layout.new_figure(tall * len(cases))
    width = (style.TWO_COLUMNS - LABELS - 2 * GAP) / (1 + WIDER)
    for number, case in enumerate(reversed(cases)):
        bottom = FOOT_OF_LADDER + number * tall
        left = place(figure, LABELS, bottom, WIDER * width, body)
        right = place(figure, LABELS + WIDER * width + GAP, bottom, width, body)
        whole = Column(view, case, shown, arms, published=spec.published)
        added = view.steps(case, shown.metric)
        step = Column(view, case, shown, arms, added, against="the step before")
        for axes, column in ((left, whole), (right, step)):
            rows(axes, column.labels, show=axes is left)
            comparison(axes, column)
            _groups(axes, view, arms)
        several = formatting.case_levels(view.plan, case) if len(cases) > 1 else ""
        left.set_title(several or spec.title, loc="left")
        right.set_title("runtimes: over the last step", loc="left", fontweight="normal")
    low, high = (formatting.percent(ratio - 1) for ratio in spec.published)
    tint = f"tinted: {low} to {high}, {spec.source}"
    count = page_layout.blocks_that_count(view, cases)
    page_layout.foot(figure, view, cases, [f"{count}     {tint}", page_layout.KEY])
    return figure


def _groups(axes: Axes, view: View, arms: list[str]) -> None:
    """Lines between the A/A pair, the ladder and the full runtimes."""
    of_ladder = [arms.index(arm) for arm in conclusions.rungs(view.plan, arms)]
    for row in {min(of_ladder), max(of_ladder) + 1}:
        axes.axhline(row - 0.5, color=style.EDGE, linewidth=0.6, zorder=0)
