"""The overview: every ratio of the study with its interval, margin and outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from parity.report.figures import page_layout, style
from parity.report.figures.comparison_panel import NUMBERS, comparison
from parity.report.figures.page_layout import LABELS, place
from parity.report.figures.panels import Column, rows
from parity.report.text import formatting
from parity.report.view import View

AXIS, FOOT = 0.26, 0.46  # inches
LONGEST = 44  # letters of a title that a wide panel has room for
PAGE = 8.0  # inches that a figure may be high, so that its caption fits below


@dataclass(frozen=True)
class Grid:
    """How the panels of an overview stand.

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
        return -(-panels // self.across) * self.cell(arms) + FOOT


WIDE = Grid(across=2, row=0.155, head=0.38, beside=NUMBERS, numbers=True, title=7.5)
DENSE = Grid(across=4, row=0.14, head=0.48, beside=0.42, numbers=False, title=6.5)


def columns(view: View) -> list[Column]:
    """One panel per case and metric that has a margin; the A/A pair is its first row."""
    styles, found = style.arm_styles(view.plan), []
    compared = {pair: view.comparisons(*pair) for pair in view.planned()}
    held = {arm for rows_of in compared.values() for arm in rows_of}
    arms = sorted(
        (arm for arm in view.arms if arm in held), key=lambda arm: arm != view.dataset.double
    )
    for (case, metric), rows_of in compared.items():
        if any(row.kind == "ratio" for row in rows_of.values()):
            unit = next(iter(rows_of.values())).unit
            found.append(Column(view, case, formatting.quantity(metric, unit), arms, styles))
    return found


def draw(view: View) -> Figure:
    """The overview; a study without any margin gets a line that says so."""
    found = columns(view)
    if not found:
        figure = page_layout.new_figure(0.8)
        figure.text(0.5, 0.5, "no comparison of this study has a margin", ha="center")
        return figure
    return of_columns(found)


def of_columns(found: Sequence[Column]) -> Figure:
    """The comparisons of these columns.

    Where the panels would not fit on a page they stand closer, and the estimates are
    left to the table of results.
    """
    arms = max(len(column.arms) for column in found)
    grid = WIDE if WIDE.height(len(found), arms) <= PAGE else DENSE
    reference = formatting.arm_title(found[0].view.plan, found[0].view.plan.reference)
    key = f"cost ratio to {reference}, above 1 costs more; band: margin; n: blocks"
    return in_grid(found, _titles(found, grid), grid, [key, page_layout.KEY])


def in_grid(
    found: Sequence[Column], titles: Sequence[str], grid: Grid, lines: Sequence[str]
) -> Figure:
    """A panel of comparisons for each column, each with its title; lines at the foot."""
    view, arms = found[0].view, max(len(column.arms) for column in found)
    tall = -(-len(found) // grid.across)
    figure = page_layout.new_figure(grid.height(len(found), arms))
    width = (style.TWO_COLUMNS - LABELS) / grid.across - grid.beside
    for number, (column, title) in enumerate(zip(found, titles, strict=True)):
        down, right = divmod(number, grid.across)
        left = LABELS + right * (width + grid.beside)
        bottom = FOOT + (tall - 1 - down) * grid.cell(arms) + AXIS
        axes = place(figure, left, bottom, width, grid.row * arms)
        rows(axes, column.labels, show=right == 0)
        comparison(axes, column, numbers=grid.numbers, label=False)
        axes.set_title(title, loc="left", pad=13, fontsize=grid.title)
    page_layout.foot(figure, view, [column.case for column in found], lines)
    return figure


def _titles(found: Sequence[Column], grid: Grid) -> list[str]:
    """The titles of the panels, short of a word where one would be too long."""
    titles = [_title(column, grid) for column in found]
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
    quantity = column.quantity.label if several else ""
    if grid.numbers:
        title = formatting.case_title(view.plan, column.case)
        return f"{', '.join(filter(None, (title, quantity)))}, {'margin ' * ratio}{margin}"
    benchmark = {case["case"]: case["benchmark"] for case in view.plan.cases}[column.case]
    first = " ".join(filter(None, (formatting.benchmark_title(view.plan, benchmark), quantity)))
    second = ", ".join(filter(None, (formatting.case_levels(view.plan, column.case), margin)))
    return f"{first}\n{second}"
