"""The figures, drawn from their specifications, and the overview of all ratios.

A figure of panels shows each case and metric: how its values lie, and how each arm compares
with the reference. A forest shows comparisons alone. The other forms are a factor crossed
with the container, a ladder of arms, and curves over nodes (`scaling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parity.analysis import ladder
from parity.analysis.crossed import ARM_OVERALL, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.report.figures import page_layout, scaling, style
from parity.report.figures.page_layout import LABELS, place
from parity.report.figures.panels import NUMBERS, Column, comparison, distribution, rows
from parity.report.figures.specs import quantity
from parity.report.text import formatting
from parity.report.view import View

GAP = 0.5  # inches right of each panel for counts and symbols
FOOT, HEAD, BETWEEN = 0.78, 0.26, 0.6
FOOT_OF_LADDER, HEAD_OF_LADDER = 0.92, 0.3
AXIS, FOOT_OF_FOREST = 0.26, 0.46
UNDER, OVER = 0.56, 0.24  # inches below and above a row of panels for its axes and its title
TITLE = 0.2  # inches for the figure's title above several columns
MOST = 5  # columns that fit beside each other
WIDER = 1.25  # a ladder's left panel by its right one, as it holds the published range as well
LONGEST = 44  # letters of a title that a wide panel has room for
PAGE = 8.0  # inches that a figure may be high, so that its caption fits below


def draw(view: View, spec: FigureSpec) -> Figure:
    """One figure; where the study has no such case, the figure says so.

    Where the columns are too many for values and comparisons, there are comparisons alone.
    """
    shown = columns(view, spec)
    if not shown:
        return page_layout.nothing(view, spec)
    special = {Form.NODES: scaling.draw, Form.CROSSED: _crossed, Form.LADDER: _ladder}
    if form := special.get(view.form(spec)):
        return form(view, spec)
    if len(shown) == 1:
        return _side_by_side(shown, spec)
    if spec.in_rows and _height_in_rows(shown) <= PAGE:
        return _side_by_side(shown, spec)
    if len(shown) > MOST or spec.in_rows:
        return of_columns(shown)
    return _stacked(shown, spec)


def columns(view: View, spec: FigureSpec) -> list[Column]:
    """What the figure's columns show: each case of its benchmark with each quantity."""
    styles, cases = style.arm_styles(view.plan), view.shown(spec)
    return [
        Column(view, case, shown, view.arms_of(cases), styles)
        for case in cases
        for shown in spec.quantities
    ]


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
        comparison(right, column, spec.logarithmic)
        if several:
            left.set_title(_row_title(column, spec), loc="left", fontweight="normal")
        else:
            left.set_title(spec.title, loc="left")
        right.set_title("paired within blocks", loc="left", fontweight="normal")
    if several:
        page_layout.head(figure, spec.title)
    _key(figure, *shown)
    return figure


def _row_title(column: Column, spec: FigureSpec) -> str:
    """What sets a row of panels apart: its case, and its quantity where there are several."""
    case = formatting.case_levels(column.view.plan, column.case)
    several = len(spec.quantities) > 1 or not case
    return ", ".join(filter(None, (case, column.quantity.label if several else "")))


def _stacked(shown: Sequence[Column], spec: FigureSpec) -> Figure:
    """Several cases or quantities beside each other: values on top, comparisons below."""
    body = style.ROW * len(shown[0].arms)
    height = TITLE + HEAD + 2 * body + BETWEEN + FOOT
    figure = page_layout.new_figure(height)
    page_layout.head(figure, spec.title)
    width = (style.TWO_COLUMNS - LABELS) / len(shown) - GAP
    for number, column in enumerate(shown):
        left = LABELS + number * (width + GAP)
        top = place(figure, left, FOOT + body + BETWEEN, width, body)
        bottom = place(figure, left, FOOT, width, body)
        for axes in (top, bottom):
            rows(axes, column.labels, show=number == 0)
        distribution(top, column, spec)
        comparison(bottom, column, spec.logarithmic)
        top.set_title(_column_title(column, spec), loc="left", fontweight="normal")
    _key(figure, *shown)
    return figure


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
    key = f"      {page_layout.KEY}" if ratio else ""
    page_layout.foot(figure, view, cases, [f"{page_layout.blocks_that_count(view, cases)}{key}"])


@dataclass(frozen=True)
class Grid:
    """How the panels of a forest stand.

    Attributes:
        across: panels beside each other.
        row: inches of an arm's row.
        head: inches above a panel.
        beside: inches right of a panel.
        numbers: whether the estimates are printed there.
        title: size of a panel's title in points.
    """

    across: int
    row: float
    head: float
    beside: float
    numbers: bool
    title: float

    def cell(self, arms: int) -> float:
        """Height of a panel of so many arms, in inches, with what is above and below it."""
        return self.head + self.row * arms + AXIS

    def height(self, panels: int, arms: int) -> float:
        """Height of the figure in inches."""
        return -(-panels // self.across) * self.cell(arms) + FOOT_OF_FOREST

    def place(
        self, figure: Figure, number: int, panels: int, arms: int, foot: float = FOOT_OF_FOREST
    ) -> Axes:
        """The axes of a panel by its number; those of a row share the names of the arms."""
        down, right = divmod(number, self.across)
        width = (style.TWO_COLUMNS - LABELS) / self.across - self.beside
        below = -(-panels // self.across) - 1 - down
        bottom = foot + below * self.cell(arms) + AXIS
        left = LABELS + right * (width + self.beside)
        return place(figure, left, bottom, width, self.row * arms)


WIDE = Grid(across=2, row=0.155, head=0.38, beside=NUMBERS, numbers=True, title=7.5)
DENSE = Grid(across=4, row=0.14, head=0.48, beside=0.42, numbers=False, title=6.5)


def overview(view: View) -> Figure:
    """A forest of all ratios; a study without any margin gets a line that says so."""
    shown = _columns_with_margin(view)
    if not shown:
        figure = page_layout.new_figure(0.8)
        figure.text(0.5, 0.5, "no comparison of this study has a margin", ha="center")
        return figure
    return of_columns(shown)


def _columns_with_margin(view: View) -> list[Column]:
    """One panel per case and metric that has a margin; the A/A pair is its first row."""
    styles = style.arm_styles(view.plan)
    compared = {pair: view.comparisons(*pair) for pair in view.planned()}
    held = {arm for rows_of in compared.values() for arm in rows_of}
    arms = sorted(
        (arm for arm in view.arms if arm in held), key=lambda arm: arm != view.plan.double
    )
    return [
        Column(
            view, case, quantity(case, metric, next(iter(rows_of.values())).unit), arms, styles
        )
        for (case, metric), rows_of in compared.items()
        if any(row.kind == "ratio" for row in rows_of.values())
    ]  # fmt: skip


def of_columns(shown: Sequence[Column]) -> Figure:
    """The comparisons of these columns.

    Where the panels would not fit on a page they stand closer, and the estimates are
    left to the table of results.
    """
    arms = max(len(column.arms) for column in shown)
    grid = WIDE if WIDE.height(len(shown), arms) <= PAGE else DENSE
    reference = formatting.reference_title(shown[0].view.plan)
    key = f"cost ratio to {reference}, above 1 costs more; band: margin; n: blocks"
    return in_grid(shown, _titles(shown, grid), grid, [key, page_layout.KEY])


def in_grid(
    shown: Sequence[Column], titles: Sequence[str], grid: Grid, lines: Sequence[str]
) -> Figure:
    """A panel of comparisons for each column, each with its title; lines at the foot."""
    view, arms = shown[0].view, max(len(column.arms) for column in shown)
    figure = page_layout.new_figure(grid.height(len(shown), arms))
    for number, (column, title) in enumerate(zip(shown, titles, strict=True)):
        axes = grid.place(figure, number, len(shown), arms)
        rows(axes, column.labels, show=number % grid.across == 0)
        comparison(axes, column, numbers=grid.numbers, label=False)
        axes.set_title(title, loc="left", pad=13, fontsize=grid.title)
    page_layout.foot(figure, view, [column.case for column in shown], lines)
    return figure


def _titles(shown: Sequence[Column], grid: Grid) -> list[str]:
    """The titles of the panels, short of a word where one would be too long."""
    titles = [_title(column, grid) for column in shown]
    if grid.numbers and max(map(len, titles)) > LONGEST:
        return [title.replace(", margin ", ", ") for title in titles]
    return titles


def _title(column: Column, grid: Grid) -> str:
    """The case and its margin, and the quantity where the case has several."""
    view = column.view
    first = next(iter(column.compared.values()))
    ratio = first.kind == "ratio"
    margin = formatting.margin(first.margin) if ratio else f"difference in {column.quantity.unit}"
    several = sum(case == column.case for case, _ in view.planned()) > 1
    label = column.quantity.label if several else ""
    if grid.numbers:
        title = formatting.case_title(view.plan, column.case)
        return f"{', '.join(filter(None, (title, label)))}, {'margin ' * ratio}{margin}"
    benchmark = formatting.benchmark_title(view.plan, view.plan.case(column.case).benchmark)
    levels = formatting.case_levels(view.plan, column.case)
    return f"{benchmark} {label}".rstrip() + f"\n{', '.join(filter(None, (levels, margin)))}"


def _crossed(view: View, spec: FigureSpec) -> Figure:
    """A factor of two levels crossed with the container, for the first pair of cases.

    The first row of panels holds what the factor does in each arm, and how much more or less
    it does there than in the reference; the second what the container does at each level;
    the third both effects, averaged over the other.
    """
    effects = _effects(view, spec)
    first = next(iter(effects[LEVEL].values()))
    cases, shown = first.cases.split(), spec.quantities[0]
    arms, styles = view.arms_of(cases), style.arm_styles(view.plan)
    reference = formatting.reference_title(view.plan)

    def column(case: str, effect: str | None, published: tuple[float, ...] = ()) -> Column:
        rows = view.comparisons(case, shown.metric) if effect is None else effects[effect]
        return Column(view, case, shown, arms, styles, rows, published=published)

    over, factor = f"{first.high} over {first.low}", first.factor
    panels = {
        f"{factor}: {over}, in each arm": column(cases[0], LEVEL, spec.published),
        f"interaction: that, over {reference}'s": column(cases[0], INTERACTION),
        f"arm over {reference}, {factor} {first.low}": column(cases[0], None),
        f"arm over {reference}, {factor} {first.high}": column(cases[1], None),
        f"{factor}: {over}, both sides": column(cases[0], LEVEL_OVERALL, spec.published),
        f"arm over {reference}, both levels": column(cases[0], ARM_OVERALL),
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
    arms, styles = ladder.order(view.plan, view.arms_of(cases)), style.arm_styles(view.plan)
    body = style.ROW * len(arms)
    tall = HEAD_OF_LADDER + body + FOOT_OF_LADDER
    figure = page_layout.new_figure(tall * len(cases))
    width = (style.TWO_COLUMNS - LABELS - 2 * GAP) / (1 + WIDER)
    for number, case in enumerate(reversed(cases)):
        bottom = FOOT_OF_LADDER + number * tall
        left = place(figure, LABELS, bottom, WIDER * width, body)
        right = place(figure, LABELS + WIDER * width + GAP, bottom, width, body)
        whole = Column(view, case, shown, arms, styles, published=spec.published)
        added = view.steps(case, shown.metric)
        step = Column(view, case, shown, arms, styles, added, against="the step before")
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
    of_ladder = [arms.index(arm) for arm in ladder.rungs(view.plan, arms)]
    for row in {min(of_ladder), max(of_ladder) + 1}:
        axes.axhline(row - 0.5, color=style.EDGE, linewidth=0.6, zorder=0)
