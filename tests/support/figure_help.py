"""What the tests of figures share: all of a view's figures, and what can be read in them."""

from collections.abc import Iterable
from itertools import pairwise

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from parity.report.figures import compare, figures, specs
from parity.report.view import View


def texts(figure: plt.Figure) -> str:
    return " | ".join(text.get_text() for text in figure.findobj(plt.Text))


def boxes(texts: Iterable[Text]) -> list[Bbox]:
    """Where words stand, in pixels; without those that are empty or hidden."""
    return [t.get_window_extent() for t in texts if t.get_text() and t.get_visible()]


def drawn(view: View) -> dict[str, Figure]:
    """All figures."""
    made = {s.name: figures.draw(view, s) for s in specs.FIGURES if view.shown(s)}
    made[specs.OVERVIEW] = compare.overview(view)
    return made


def in_a_row(texts: Iterable[Text], apart: float = 0) -> bool:
    """Whether words end so many pixels before the next ones begin."""
    return all(one.x1 + apart < two.x0 for one, two in pairwise(boxes(texts)))


def words_apart(figure: Figure) -> bool:
    """Whether no word is cut and no tick label covers another, once all is laid out."""
    figure.canvas.draw()
    ticks = {axes: axes.get_xticklabels() for axes in figure.axes}
    page = figure.bbox.padded(1)
    # A tick beyond the axis keeps its label and is not drawn.
    beyond = {
        label
        for axes in figure.axes
        for label in axes.get_yticklabels()
        if not min(axes.get_ylim()) <= label.get_position()[1] <= max(axes.get_ylim())
    }
    for box in boxes(set(figure.findobj(Text)).difference(beyond, *ticks.values())):
        if not (page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1)):
            return False
    for axes, labels in ticks.items():
        shown = [b for b in boxes(labels) if axes.bbox.padded(1).containsx((b.x0 + b.x1) / 2)]
        shown.sort(key=lambda box: box.x0)
        if any(one.x1 >= two.x0 for one, two in pairwise(shown)):
            return False
    return True
