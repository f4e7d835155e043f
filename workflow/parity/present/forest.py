"""The overview: every ratio of the study with its interval, margin and outcome."""

from __future__ import annotations

from matplotlib.figure import Figure

from parity.present import style, words
from parity.present.comparison_panel import NUMBERS, comparison
from parity.present.figures import KEY, LABELS, absent, foot, new_figure, place
from parity.present.panels import Column, rows
from parity.present.view import View

ROW, HEAD, AXIS, FOOT = 0.155, 0.38, 0.26, 0.46  # inches
ACROSS = 2


def columns(view: View) -> list[Column]:
    """One panel per case and metric that has a margin; the A/A pair is its first row."""
    styles = style.arm_styles(view.plan)
    found = []
    for case, metric in view.planned():
        compared = view.comparisons(case, metric)
        if any(row.kind == "ratio" for row in compared.values()):
            unit = next(iter(compared.values())).unit
            arms = [arm for arm in view.arms if arm in compared]
            arms.sort(key=lambda arm, compared=compared: not compared[arm].control)
            found.append(Column(view, case, words.quantity(metric, unit), arms, styles))
    return found


def draw(view: View) -> Figure:
    """The overview; a study without any margin gets a line that says so."""
    found = columns(view)
    if not found:
        figure = new_figure(0.8)
        figure.text(0.5, 0.5, "no comparison of this study has a margin", ha="center")
        return figure
    body = ROW * max(len(column.arms) for column in found)
    tall = -(-len(found) // ACROSS)
    cell = HEAD + body + AXIS
    figure = new_figure(tall * cell + FOOT)
    width = (style.TWO_COLUMNS - LABELS) / ACROSS - NUMBERS
    for number, column in enumerate(found):
        down, right = divmod(number, ACROSS)
        left = LABELS + right * (width + NUMBERS)
        axes = place(figure, left, FOOT + (tall - 1 - down) * cell + AXIS, width, body)
        rows(axes, column.labels, show=right == 0)
        comparison(axes, column, numbers=True)
        axes.set_title(_title(column), loc="left", pad=13)
    reference = words.arm_title(view.plan, view.plan["reference"])
    key = f"cost ratio to {reference}, above 1 costs more; band: margin; n: blocks"
    foot(figure, "\n".join([key, KEY, *absent(found)]))
    return figure


def _title(column: Column) -> str:
    """The case and its margin, and the quantity where the case has several."""
    compared = column.view.comparisons(column.case, column.quantity.metric)
    margin = words.margin(next(iter(compared.values())).margin)
    title = words.case_title(column.view.plan, column.case)
    if sum(case == column.case for case, _ in column.view.planned()) > 1:
        title += f", {column.quantity.label}"
    return f"{title}, margin {margin}"
