"""Parts of one time beside each other: a panel for each case, and in it a bar for each arm.

The shape is that of Table 1 of Ruiz et al. (VHPC 2015), drawn.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from parity.benchmarks.figure_spec import FigureSpec
from parity.report.figures import page_layout, style
from parity.report.figures.page_layout import ABOVE, FOOT, HEAD, KEY_ROW, LABELS, RIGHT
from parity.report.figures.panels import rows
from parity.report.text import formatting
from parity.report.view import View

ACROSS = 3
# Of Okabe and Ito's colours, from dark to light, so that a grey print keeps them apart.
FACES = ("#0072B2", "#E69F00", "#F0E442")
BAR = 0.7  # of a row
GAP, BETWEEN = 0.2, 0.14  # inches between panels beside and below each other


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure: means over blocks, and the smallest and largest sum."""
    cases = view.shown(spec)
    arms = view.arms_of(cases)
    labels = [formatting.arm_title(view.plan, arm) for arm in arms]
    tall, down = style.ROW * len(arms), -(-len(cases) // ACROSS)
    top = HEAD + KEY_ROW
    figure = page_layout.new_figure(top + FOOT + down * (ABOVE + tall + BETWEEN) - BETWEEN)
    page_layout.head(figure, spec.title, page_layout.LEFT)
    width = (style.TWO_COLUMNS - LABELS - RIGHT + GAP) / ACROSS - GAP
    for number, case in enumerate(cases):
        row, column = divmod(number, ACROSS)
        bottom = FOOT + (down - 1 - row) * (ABOVE + tall + BETWEEN)
        axes = page_layout.place(figure, LABELS + column * (width + GAP), bottom, width, tall)
        title = formatting.case_levels(view.plan, case)
        axes.set_title(title, loc="left", fontweight="normal", fontsize=6.3, pad=2)
        rows(axes, labels, show=column == 0)
        _bars(axes, view, spec, case, arms)
    height = figure.get_size_inches()[1]
    figure.text(0.55, (FOOT - 0.34) / height, "time (s)", ha="center", va="bottom")
    shown = zip(FACES, spec.quantities, strict=False)
    page_layout.key(figure, {each.label: Patch(facecolor=face) for face, each in shown})
    said = ["bars: means over blocks     line: smallest to largest sum of a block"]
    page_layout.foot(figure, view, cases, [*said, page_layout.blocks_that_count(view, cases)])
    return figure


def _bars(axes: Axes, view: View, spec: FigureSpec, case: str, arms: list[str]) -> None:
    """The bars of a case; none for an arm without values."""
    wide = view.parts(spec, case)
    for row, arm in enumerate(arms):
        if arm not in wide.index:
            continue
        of_arm, left = wide.loc[arm], 0.0
        for face, part in zip(FACES, of_arm.to_numpy().mean(axis=0), strict=False):
            axes.barh(row, part, BAR, left, color=face, linewidth=0, zorder=2)
            left += part
        sums = of_arm.to_numpy().sum(axis=1)
        axes.plot([sums.min(), sums.max()], [row, row], color="black", linewidth=0.9, zorder=3)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(axis="x", labelsize=6.5, pad=1.5)
