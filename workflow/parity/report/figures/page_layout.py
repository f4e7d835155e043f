"""The page of a figure: its size, places on it, and the small print at its foot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parity.benchmarks.figure_spec import FigureSpec
from parity.report.figures import style
from parity.report.text import formatting
from parity.report.view import View

PAGE = 8.0  # inches that a figure may be high, so that its caption fits below
LABELS = 1.42  # inches left of the panels for the names of the arms
KEY = (
    "=  equivalent     ≠  different     ≈  within the margin, not concluded     ?  inconclusive\n"
    "…  too few blocks     †  confounded     thick line: 90 % interval, thin: 95 %"
)


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
    planned = formatting.span([view.blocks_of[case] for case in cases])
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
