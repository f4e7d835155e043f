"""A forest: panels of comparisons alone, as of all ratios in the overview."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parity.plan.plan import Plan
from parity.report.figures import page_layout, style
from parity.report.figures.comparison import NUMBERS, comparison
from parity.report.figures.page_layout import LABELS, PAGE, place
from parity.report.figures.panels import Column, rows
from parity.report.figures.specs import quantity
from parity.report.text import formatting
from parity.report.view import View

AXIS, FOOT_OF_FOREST = 0.26, 0.58
LONGEST = 44  # letters of a title that a wide panel has room for
LETTER = 0.0092  # inches of a bold letter, for each point of its size


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

    def folded(self, title: str) -> str:
        """A title in lines that do not reach into the panel beside it."""
        room = (style.TWO_COLUMNS - LABELS) / self.across - 0.06
        lines = title.split("\n")
        return "\n".join(textwrap.fill(line, int(room / (LETTER * self.title))) for line in lines)

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


WIDE = Grid(across=2, row=0.155, head=0.42, beside=NUMBERS, numbers=True, title=7.5)
DENSE = Grid(across=4, row=0.14, head=0.6, beside=0.42, numbers=False, title=6.5)


def overview(view: View) -> Figure | None:
    """A forest of all ratios; None for a study without any margin."""
    shown = _columns_with_margin(view)
    return of_columns(shown) if shown else None


def _columns_with_margin(view: View) -> list[Column]:
    """One panel per case and metric that has a margin; the A/A pair is its first row."""
    compared = {pair: view.comparisons(*pair) for pair in view.planned()}
    own = view.plan.definitions
    held = {arm for rows_of in compared.values() for arm in rows_of}
    arms = sorted(
        (arm for arm in view.arms if arm in held), key=lambda arm: arm != view.plan.double
    )
    return [
        Column(view, case, quantity(case, metric, next(iter(rows_of.values())).unit, own), arms)
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
    titles, shared = _titles(shown, grid)
    all_have = f"{shared}; " if shared else ""
    key = f"{all_have}cost ratio to {reference}, above 1 costs more; band: margin; n: blocks"
    return in_grid(shown, titles, grid, [key, page_layout.KEY])


def in_grid(
    shown: Sequence[Column], titles: Sequence[str], grid: Grid, lines: Sequence[str]
) -> Figure:
    """A panel of comparisons for each column, each with its title; lines at the foot."""
    view, arms = shown[0].view, max(len(column.arms) for column in shown)
    figure = page_layout.new_figure(grid.height(len(shown), arms))
    for number, (column, title) in enumerate(zip(shown, titles, strict=True)):
        axes = grid.place(figure, number, len(shown), arms)
        rows(axes, column.labels, show=number % grid.across == 0)
        comparison(axes, column, numbers=grid.numbers, label=False, beside_it=shown)
        axes.set_title(grid.folded(title), loc="left", pad=13, fontsize=grid.title, linespacing=1)
    page_layout.foot(figure, view, [column.case for column in shown], lines)
    return figure


def _titles(shown: Sequence[Column], grid: Grid) -> tuple[list[str], str]:
    """The titles of the panels, and what they all share and leave out, as one would be too long."""
    titles, plan = [_title(column, grid) for column in shown], shown[0].view.plan
    shared = {f"{formatting.benchmark_title(plan, plan.case(c.case).benchmark)}: " for c in shown}
    for word in (", margin ", *(shared if len(shared) == 1 else ())):
        if grid.numbers and max(map(len, titles)) > LONGEST:
            titles = [title.replace(word, ", " * word.startswith(","), 1) for title in titles]
    if len(shown) == 1 or max(map(len, titles)) <= LONGEST:
        return titles, ""
    # A narrow panel's second line holds its levels.
    heads = [title.split("\n")[0] + "\n" if not grid.numbers else "" for title in titles]
    parts = [title.split("\n")[-1].split(", ") for title in titles]
    common = [part for part in parts[0] if all(part in others for others in parts)]
    left = [", ".join(part for part in of_one if part not in common) for of_one in parts]
    return [f"{h}{each}".rstrip() for h, each in zip(heads, left, strict=True)], ", ".join(common)


def _title(column: Column, grid: Grid) -> str:
    """The case and its margin, and the quantity where the case has several."""
    view = column.view
    first = next(iter(column.compared.values()))
    ratio = first.kind == "ratio"
    unit = formatting.unit_of_difference(column.quantity)
    margin = formatting.margin(first.margin) if ratio else f"difference in {unit}"
    several = sum(case == column.case for case, _ in view.planned()) > 1
    label = column.quantity.label if several else ""
    title, levels = title_of(view.plan, column.case, label, grid.numbers)
    if grid.numbers:
        return f"{title}, {'margin ' * ratio}{margin}"
    return f"{title}\n{', '.join(filter(None, (levels, margin)))}"


def title_of(plan: Plan, case: str, label: str, wide: bool) -> tuple[str, str]:
    """Case and quantity as a title, and the levels that a panel has room for below it only."""
    if wide:
        return ", ".join(filter(None, (formatting.case_title(plan, case), label))), ""
    benchmark = formatting.benchmark_title(plan, plan.case(case).benchmark)
    return f"{benchmark} {label}".rstrip(), formatting.case_levels(plan, case)
