"""The page of a figure: its size, places on it, and the small print at its foot."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import span
from parity.report.figures import style
from parity.report.text import formatting
from parity.report.view import View

PAGE = 8.0  # inches that a figure may be high, so that its caption fits below
LABELS = 1.42  # inches left of the panels for the names of the arms
KEY = (
    "=  equivalent     ≠  different     ≈  within the margin, not concluded     ?  inconclusive\n"
    "…  too few blocks     †  confounded     thick line: 90 % interval, thin: 95 %"
)
# Of a page of equal panels: how many stand beside each other up to so many of them, their height
# at most, and inches left of them, between them, above each for a title of two lines, below all,
# and above all; right of them, and of a third line of a title; the key's columns, the height of
# its rows, and a letter of a title.
ACROSS: dict[int, float] = {3: 15, 4: 28, 5: float("inf")}
TALL = 1.35
LEFT, BETWEEN, ABOVE, FOOT, HEAD = 0.62, 0.42, 0.34, 0.66, 0.22
RIGHT, LINE = 0.1, 0.09
KEYED, KEY_ROW, LETTER = 4, 0.135, 0.05


def new_figure(height: float) -> Figure:
    """An empty figure of the width of a page, that many inches high."""
    return plt.figure(figsize=(style.TWO_COLUMNS, height))


def words(text: str) -> Figure:
    """A figure that holds but a line of text."""
    figure = new_figure(0.8)
    figure.text(0.5, 0.5, text, ha="center")
    return figure


def place(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches, so that every figure has the same rows."""
    total_width, total_height = figure.get_size_inches()
    return figure.add_axes(
        (left / total_width, bottom / total_height, width / total_width, height / total_height)
    )


def head(figure: Figure, text: str, left: float = LABELS, more: str = "") -> None:
    """The title of a figure of several panels, that many inches from the left; a line below it."""
    width, height = figure.get_size_inches()
    figure.text(left / width, 1 - 0.06 / height, text, va="top", fontweight="bold")
    figure.text(left / width, 1 - 0.19 / height, more, va="top")


def foot(figure: Figure, view: View, cases: Sequence[str], lines: Sequence[str]) -> None:
    """Small print: the lines given, the arms that are only declared, the kind of system."""
    titles = [formatting.arm_title(view.plan, arm) for arm in view.declared(cases)]
    absent = f"not tested: {', '.join(titles)} (appendix)" if titles else ""
    last = "     ".join(filter(None, (absent, view.origin.note)))
    small_print(figure, [*lines, last], 7)


def small_print(figure: Figure, lines: Iterable[str], size: float) -> None:
    """Lines at the foot of a figure, in points of that size; empty ones are left out."""
    figure.text(
        0.5, 0.04 / figure.get_size_inches()[1], "\n".join(filter(None, lines)),
        ha="center", va="bottom", fontsize=size, color=style.GREY,
    )  # fmt: skip


def blocks_that_count(view: View, cases: Sequence[str]) -> str:
    """What `n` means in a figure of these cases."""
    planned = span([view.blocks_of[case] for case in cases])
    return f"n: blocks that count, of {planned} planned"


def missing(view: View, spec: FigureSpec) -> str:
    """What a study lacks for a figure."""
    for declared in view.plan.not_tested:
        if declared.benchmark == spec.benchmark:
            return declared.reason
    if spec.runtime and view.cases(spec.benchmark):
        return f"the study has no arm of the {spec.runtime}"
    if spec.table and view.cases(spec.benchmark):
        return "no run of the study left what this is made of"
    return f"the study has no such case of {spec.benchmark}"


def grid(
    view: View, spec: FigureSpec, titles: Sequence[str], lines: Sequence[str], keyed: int
) -> tuple[Figure, list[Axes]]:
    """A page of equal panels with titles, room for a key above them, and lines at its foot.

    Args:
        keyed: how many entries the key has at most.
    """
    across = min(len(titles), next(few for few, most in ACROSS.items() if len(titles) <= most))
    down = -(-len(titles) // across)
    top = HEAD + KEY_ROW * -(-keyed // KEYED)
    width = (style.TWO_COLUMNS - LEFT - RIGHT + BETWEEN) / across - BETWEEN
    titles = [textwrap.fill(title, int(width / LETTER)) for title in titles]
    above = ABOVE + LINE * max(0, *(title.count("\n") - 1 for title in titles))
    tall = min(TALL, (PAGE - top - FOOT) / down - above)
    figure = new_figure(top + FOOT + down * (tall + above))
    head(figure, spec.title, LEFT)
    panels = []
    for number, folded in enumerate(titles):
        row, column = divmod(number, across)
        bottom = FOOT + (down - 1 - row) * (tall + above)
        axes = place(figure, LEFT + column * (width + BETWEEN), bottom, width, tall)
        axes.set_title(folded, loc="left", fontweight="normal", fontsize=6.3, pad=2, linespacing=1)
        panels.append(axes)
    foot(figure, view, view.shown(spec), lines)
    return figure, panels


def name_axes(figure: Figure, below: str, left: str) -> None:
    """What the axes of all panels are of, once."""
    width, height = figure.get_size_inches()
    figure.text(0.5, (FOOT - 0.34) / height, below, ha="center", va="bottom")
    figure.text(0.08 / width, 0.5, left, rotation=90, va="center")


def key(figure: Figure, drawn: Mapping[str, Artist]) -> None:
    """The key of all panels, below the title."""
    height = figure.get_size_inches()[1]
    figure.legend(
        list(drawn.values()), list(drawn), ncols=KEYED, loc="upper left", frameon=False,
        bbox_to_anchor=(LEFT / style.TWO_COLUMNS, 1 - 0.18 / height), fontsize=6.5, borderpad=0,
        borderaxespad=0, handlelength=1.6, handletextpad=0.4, columnspacing=1.2, labelspacing=0.25,
    )  # fmt: skip
