"""Bytes of a run by interface, stacked: what a sum over interfaces is made of."""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from parity.benchmarks.figure_spec import FigureSpec
from parity.report import ledgers
from parity.report.figures import page_layout, style
from parity.report.figures.panels import rows
from parity.report.text import formatting
from parity.report.view import View

MOST = 4  # cases; what is beyond stands in the table alone
GIB = 2**30
VISIBLE = 0.005  # GiB of a part that can be seen in a bar, and so is in the key
# From the one link outwards; of one hue, since all are the same bytes again.
COLOURS = dict(
    zip(ledgers.PARTS, ("#08519c", "#6baed6", "#c6dbef", "#bdbdbd", "#f0f0f0"), strict=True)
)
FOOT, HEAD, BETWEEN = 0.72, 0.42, 0.42


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure: a panel for each case, a bar for each arm, from zero."""
    found, cases = ledgers.ledger(view), view.shown(spec)[:MOST]
    arms = view.arms_of(cases)
    body = style.ROW * len(arms)
    figure = page_layout.new_figure(HEAD + len(cases) * (body + BETWEEN) + FOOT)
    page_layout.head(figure, spec.title, page_layout.LEFT)
    drawn: dict[str, Artist] = {}
    width = style.TWO_COLUMNS - page_layout.LABELS - 0.4
    for number, case in enumerate(reversed(cases)):
        bottom = FOOT + number * (body + BETWEEN)
        axes = page_layout.place(figure, page_layout.LABELS, bottom, width, body)
        rows(axes, [formatting.arm_title(view.plan, arm) for arm in arms])
        axes.set_title(
            formatting.case_levels(view.plan, case), loc="left", fontweight="normal", pad=2
        )
        for row, arm in enumerate(arms):
            moved = ledgers.both_ways(ledgers.of_arm(found, case, arm))
            end = 0.0
            for part, count in moved.items():
                bar = axes.barh(row, count / GIB, 0.7, end, color=COLOURS[part])
                if count > VISIBLE * GIB:
                    drawn.setdefault(part, bar[0])
                end += count / GIB
            link = moved.get(ledgers.LINK, 0.0)
            said = f" {end * GIB / link:.2f} times" if link else " not counted"
            axes.text(end, row, said, va="center", ha="left", fontsize=6.2)
        axes.set_xlim(0, 1.12 * axes.dataLim.x1)
        axes.set_xlabel("GiB on interfaces, per GiB of the files" if number == 0 else "")
    key = {part: drawn[part] for part in ledgers.PARTS if part in drawn}
    page_layout.key(figure, key)
    lines = ["times: the sum of all interfaces over the one link     medians over blocks"]
    page_layout.foot(figure, view, cases, lines)
    return figure
