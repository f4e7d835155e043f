"""The figure of a fresh dataset beside an archived one: a forest of cost ratios.

Only ratios are drawn, because seconds of two machines say nothing of each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from parity.analysis import outcomes, tables
from parity.analysis.agreement import NOT_COMPARED, Agreement
from parity.analysis.tables import AGREEMENT
from parity.core.wording import span
from parity.plan.plan import Plan
from parity.report.figures import page_layout, style
from parity.report.figures.comparison import arrows
from parity.report.figures.forest import DENSE, WIDE, Grid, title_of
from parity.report.figures.page_layout import PAGE
from parity.report.figures.panels import beside, rows, ticks
from parity.report.figures.specs import quantity
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting
from parity.report.text.summary import held

NAME = "agreement"
HEAD, FOOT = 0.3, 0.56  # inches
NUMBERS = 1.36  # inches right of a panel for the ratio of ratios and what it says
BOX = 0.62  # height of the box where a fresh ratio is expected, in rows
MARKS = {
    outcomes.EQUIVALENT: ("same", "normal"),
    outcomes.DIFFERENT: ("differs", "bold"),
    outcomes.INCONCLUSIVE: ("open", "normal"),
}


@dataclass(frozen=True)
class Panel:
    """One case and metric: its rows, the A/A pair first, and the plan that names them."""

    plan: Plan
    case: str
    metric: str
    found: Sequence[Any]
    several: bool

    def head(self, wide: bool) -> tuple[str, str]:
        """Two lines above it: what is compared; margin and numbers of blocks."""
        plan, case = self.plan, self.case
        mark = "*" if any(row.reason for row in self.found) else ""
        label = quantity(case, self.metric, "", plan.definitions).label if self.several else ""
        facts = f"{formatting.margin(self.found[0].margin)}, n {self._blocks}"
        title, levels = title_of(plan, case, label, wide)
        below = f"margin {facts}" if wide else ", ".join(filter(None, (levels, facts)))
        return f"{title}{mark}", below

    @property
    def _blocks(self) -> str:
        """Numbers of blocks, fresh and archived; both ends where rows differ."""
        both = zip(*((row.fresh_blocks, row.archive_blocks) for row in self.found), strict=True)
        return "/".join(span(blocks).replace(" to ", "–") for blocks in both)


def panels(found: Agreement, plan: Plan) -> list[Panel]:
    """One panel per case and metric that is compared, in the order of the fresh plan."""
    table = found.table[found.table["outcome"] != NOT_COMPARED]
    place_of: dict[str, int] = {arm: number for number, arm in enumerate(plan.arms)}
    made = []
    for case in (case.name for case in plan.cases):
        of_case = table[table["case"] == case]
        for metric, group in of_case.groupby("metric", sort=True):
            compared = list(group.itertuples(index=False))
            compared.sort(key=lambda row: (not row.control, place_of[str(row.arm)]))
            several = of_case["metric"].nunique() > 1
            made.append(Panel(plan, case, str(metric), compared, several))
    return made


def draw(found: Agreement, plan: Plan, note: str = "") -> Figure:
    """The figure; if nothing can be compared, a line that says so.

    Args:
        plan: the fresh dataset's.
        note: what must be said of the systems.
    """
    made = panels(found, plan)
    if not made:
        return page_layout.words("the datasets have no ratio in common")
    most = max(len(panel.found) for panel in made)
    wide = HEAD + WIDE.height(len(made), most) + FOOT
    grid = replace(WIDE, beside=NUMBERS) if wide <= PAGE else DENSE
    figure = page_layout.new_figure(HEAD + -(-len(made) // grid.across) * grid.cell(most) + FOOT)
    _small_print(figure, found, plan, note)
    styles = style.arm_styles(plan)
    for number, panel in enumerate(made):
        axes = grid.place(figure, number, len(made), most, FOOT)
        labels = [formatting.arm_title(plan, row.arm) for row in panel.found]
        rows(axes, labels, show=number % grid.across == 0)
        _panel(axes, panel, styles, grid)
    return figure


def write(found: Agreement, plan: Plan, note: str, folder: Path) -> None:
    """Write `agreement.pdf` and `.png`, and the table as `.parquet` and `.csv`."""
    style.use()
    style.save(draw(found, plan, note), folder, NAME)
    tables.write(AGREEMENT, found.table, folder / f"{NAME}.parquet")
    plain = found.table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    (folder / f"{NAME}.csv").write_text(plain, encoding="utf-8")


def _panel(axes: Axes, panel: Panel, styles: Mapping[str, ArmStyle], grid: Grid) -> None:
    """Expectation, fresh ratio and its interval in every row, on the band of the margin."""
    limits = _limits(panel.found)
    axes.set_xlim(limits)
    margin = panel.found[0].margin
    if np.isfinite(margin):
        axes.axvspan(1 / (1 + margin), 1 + margin, color=style.BAND, zorder=-2, linewidth=0)
    axes.axvline(1.0, color=style.EDGE, linewidth=0.6, zorder=-1)
    ticks(axes, [1, 2, 2.5, 5, 10])
    for number, row in enumerate(panel.found):
        _row(axes, number, row, styles[row.arm], limits)
        _verdict(axes, number, row, grid)
    title, facts = panel.head(grid.numbers)
    axes.set_title(title, loc="left", pad=13, fontsize=grid.title)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(facts, (0, 1), (0, 4), fontsize=grid.title - 0.9, color=style.GREY, **place)
    if grid.numbers:
        beside(axes, -1, "fresh/archived [95 %]")


def _limits(found: Sequence[Any]) -> tuple[float, float]:
    """Room for all expectations and ratios; very wide fresh intervals are cut and marked."""
    needed = [
        abs(value - 1)
        for row in found
        for value in (row.expected_low95, row.expected_high95, row.fresh_ratio)
    ]
    ends = [abs(value - 1) for row in found for value in (row.fresh_low95, row.fresh_high95)]
    margin = found[0].margin if np.isfinite(found[0].margin) else 0.0
    reach = max(*needed, 1.1 * margin)
    reach = 1.12 * max(reach, min(max(ends), 1.8 * reach)) or 1.0
    return 1 - reach, 1 + reach


def _row(axes: Axes, number: int, row: Any, look: ArmStyle, limits: tuple[float, float]) -> None:
    """A box where the fresh ratio is expected, a tick at the archived one; the rest is fresh."""
    low, high = row.expected_low95, row.expected_high95
    axes.add_patch(
        Rectangle(
            (low, number - BOX / 2), high - low, BOX, facecolor="white", edgecolor=style.GREY,
            linewidth=0.7, zorder=1,
        )
    )  # fmt: skip
    tick = [number - BOX / 2, number + BOX / 2]
    axes.plot([row.archive_ratio] * 2, tick, color="black", linewidth=1.2, zorder=2)
    ends = np.clip([row.fresh_low95, row.fresh_high95], *limits)
    axes.plot(ends, [number, number], color=look.colour, linewidth=1.3, zorder=3)
    axes.plot(row.fresh_ratio, number, **look.mark(0.8), zorder=4, clip_on=False)
    arrows(axes, number, (row.fresh_low95, row.fresh_high95), limits, look.colour, 3.5)


def _verdict(axes: Axes, number: int, row: Any, grid: Grid) -> None:
    """Right of a row: the ratio of ratios with its interval, and what it says."""
    word, weight = MARKS[row.outcome]
    mark = style.CONFOUNDED if formatting.is_confounded(row) else ""
    place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    offset = 2
    if grid.numbers:
        text = [formatting.number(value) for value in (row.ratio_of_ratios, row.low95, row.high95)]
        axes.annotate(
            f"{text[0]} [{text[1]}, {text[2]}]", (1.02, number), (0, 0), fontsize=7,
            va="center", color=style.GREY, **place,
        )  # fmt: skip
        offset = 73
    axes.annotate(
        f"{word}{mark}", (1.02, number), (offset, 0), fontsize=7, va="center",
        fontweight=weight, **place,
    )  # fmt: skip


def _small_print(figure: Figure, found: Agreement, plan: Plan, note: str) -> None:
    """What is held against what, on top; what every mark means, at the foot."""
    page_layout.head(figure, f"{found.fresh} beside {found.archive}", 0.08, held(found.count))
    reference = formatting.reference_title(plan)
    lines = [
        f"axis: cost ratio to {reference}, above 1 costs more; grey band: margin; "
        "n: blocks, fresh/archived",
        "box: where the fresh ratio is expected by the scatter of both (95 %); tick: "
        "archived ratio; marker and line: fresh ratio and its 95 % interval",
        "same, differs, open: the ratio of both ratios and the margin; first rows: "
        "A/A pair; *  not all could be concluded; †  confounded",
        note,
    ]
    page_layout.small_print(figure, lines, 6.5)
