"""The figures of all archives: a heat map of bounds, and the ratios behind them by system."""

import math

import matplotlib.pyplot as plt

from parity.report.answer import Bound
from parity.report.figures import together

TOLD = [
    Bound("HPCG", "Podman", 12, 0.0084, 1.004, 0.999, 1.009),
    Bound("HPCG", "LXC", 12, math.inf, 1.2, 0.9, 1.6),
    Bound("a loop", "LXC", 8, 0.5, 1.3, 1.101, 1.6),
    Bound("a loop", "Podman", 8, 0.031, 1.01, 0.98, 1.04),
]


def _texts(figure: plt.Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(plt.Text) if text.get_text()]


def test_a_cell_has_its_bound_rounded_upwards_or_a_cost_and_a_step_of_colour():
    figure = together.bounds(TOLD, {"Podman": 0.1966})
    cells = figure.axes[0].collections[0].get_array().reshape(3, 2).tolist()
    assert cells == [[0, 0], [5, 3], [5, 1]]  # of a start none; LXC, Podman
    texts = _texts(figure)
    assert texts[:6] == ["–", "+197 ms", ">", "3.1 %", "?", "0.9 %"]
    assert {"a start", "a loop", "HPCG", "Podman", "LXC"} <= set(texts)


def test_programs_of_two_systems_have_a_panel_and_a_mark_for_each():
    far = Bound("messages", "LXC", 8, math.inf, 40.0, 30.0, 50.0)
    figure = together.systems({"one": [*TOLD, far], "two": [*TOLD[:1], far], "three": []})
    shown = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in shown] == ["HPCG"]
    marks = [line for line in shown[0].lines if line.get_marker() in "os^"]
    places = [(line.get_marker(), *map(float, line.get_xdata())) for line in marks]
    assert [(mark, [round(x, 6) for x in of]) for mark, *of in places] == [
        ("o", [0.4, 20.0]), ("s", [0.4]),
    ]  # fmt: skip
    assert {"one", "two"} <= set(texts := _texts(figure)) and "three" not in texts
    assert min(text.get_fontsize() for text in figure.findobj(plt.Text)) >= 6
