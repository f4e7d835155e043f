"""Labels of narrow panels are told in full, and do not meet."""

from itertools import pairwise

import matplotlib.pyplot as plt
import pytest

from parity.report import figures
from parity.report.figures.page import plain_tick, scaled


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.001, "0.001"),
        (2.5, "2.5"),
        (10_000, "10000"),
        (1e5, "10⁵"),
        (-1e6, "-10⁶"),
        (2e12, "2·10¹²"),
        (150_000, "1.5·10⁵"),
    ],
)
def test_a_tick_is_told_in_full_unless_it_is_far_away(value: float, label: str) -> None:
    assert plain_tick(value, 0) == label


@pytest.mark.parametrize("ends", [(0.2, 2e7), (0.5, 2e5), (0.01, 1e4)])
def test_labels_of_a_narrow_logarithmic_axis_do_not_meet(ends: tuple[float, float]) -> None:
    with plt.style.context(figures.__path__[0] + "/house.mplstyle"):
        figure, axes = plt.subplots(figsize=(1.9, 1))
        axes.set_position((0.2, 0.3, 0.63, 0.5))
        scaled(axes, "x", ends, "log")
        figure.canvas.draw()
        told = [label for label in axes.get_xticklabels() if label.get_text()]
        boxes = [label.get_window_extent() for label in told]
    assert len(boxes) > 1
    assert all(left.x1 + 2 < right.x0 for left, right in pairwise(boxes))
    plt.close(figure)
