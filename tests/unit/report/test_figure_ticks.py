"""Labels of narrow panels beside each other meet neither each other nor that of 1."""

import matplotlib.pyplot as plt
import pytest

from parity.report.figures.panels import ticks_around_one


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((0.1, 10), [0.2, 1, 5]),
        ((0.15, 4000), [1, 1000]),
        ((0.6, 1.6), [1]),
        ((0.0005, 3), [0.002, 1]),
    ],
)
def test_ticks_are_one_and_the_farthest_round_ratios(
    ends: tuple[float, float], ticks: list[float]
) -> None:
    figure, axes = plt.subplots()
    axes.set(xscale="log", xlim=ends)
    ticks_around_one(axes)
    assert [*axes.get_xticks()] == pytest.approx(ticks)
    plt.close(figure)
