"""A panel of values as overlaid densities, as of histograms that lie on each other.

The shape is that of Figures 2 and 6 of Torrez, Randles and Priedhorsky (CANOPIE-HPC 2019).
"""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from scipy.stats import gaussian_kde

from parity.benchmarks.figure_spec import FigureSpec
from parity.report.figures import style
from parity.report.figures.panels import Column, ticks
from parity.report.figures.specs import FEW
from parity.report.figures.style import ArmStyle
from parity.report.view import View

PLACES = 200  # of a curve


def has(view: View, spec: FigureSpec) -> bool:
    """Whether a figure is one of densities: each arm has enough values for one, that differ."""
    found = [
        values
        for case in view.shown(spec)
        for quantity in spec.quantities
        for values in view.values(case, quantity.metric).values()
    ]
    return spec.densities and all(len(vs) > FEW and np.ptp(vs) > 0 for vs in found) and bool(found)


def densities(axes: Axes, column: Column) -> dict[str, Artist]:
    """A curve for each arm, by its name, in the arm's colour and line.

    Gaussian kernels of Scott's width (1992), so a curve is a smooth histogram of area 1.
    """
    found = {
        arm: column.quantity.factor * np.asarray(values)
        for arm, values in column.view.values(column.case, column.quantity.metric).items()
    }
    low, high = min(map(np.min, found.values())), max(map(np.max, found.values()))
    air = 0.12 * (high - low)
    places = np.linspace(low - air, high + air, PLACES)
    drawn = {}
    for arm, label in zip(column.arms, column.labels, strict=True):
        if arm in found:
            (drawn[label],) = _curve(axes, places, found[arm], column.styles[arm])
    counts = {len(values) for values in found.values()}
    same = f"n = {counts.pop()}" if len(counts) == 1 else f"n = {min(counts)}–{max(counts)}"
    axes.text(0.02, 0.98, same, transform=axes.transAxes, va="top", fontsize=7, color=style.GREY)
    axes.set(xlim=(places[0], places[-1]), yticks=[])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{column.quantity.label} ({column.quantity.unit})")
    ticks(axes, [1, 2, 5, 10])
    return drawn


def _curve(axes: Axes, places: np.ndarray, values: np.ndarray, look: ArmStyle) -> list[Artist]:
    curve = gaussian_kde(values)(places)
    return [*axes.plot(places, curve, look.line, color=look.colour, linewidth=1.0)]
