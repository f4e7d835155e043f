"""The form of tails: the share of events that are as long or longer, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from parity.report.figures.page import scaled
from parity.report.figures.timeline import count

POINTS = 300  # of a curve
GROUND = "#b0b0b0"  # the reference behind the others


@dataclass(frozen=True)
class Curve:
    """The empirical distribution of some lengths.

    Attributes:
        x: lengths, ascending.
        y: the share that is as long or longer.
        n: how many there are.
    """

    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]
    n: int


def curve(lengths: NDArray[Any], factor: float = 1.0) -> Curve:
    """The curve of lengths, at ranks in equal steps of their logarithm; none without any event."""
    number = len(lengths)
    if not number:
        return Curve(np.empty(0), np.empty(0), 0)
    ranks = np.unique(np.geomspace(1, number, POINTS).round().astype(np.int64))[::-1]
    return Curve(factor * np.sort(lengths)[number - ranks], ranks / number, number)


@dataclass(frozen=True)
class Ecdf:
    """A panel of curves.

    Attributes:
        curves: name, curve and colour of each.
        ground: the curve behind them.
        is_keyed: whether their names stand right of it.
    """

    title: str
    curves: Sequence[tuple[str, Curve, str]]
    ground: Curve
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    xlabel: str = ""
    is_keyed: bool = False
    rows: float = 5.5

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it."""
        axes.plot(self.ground.x, self.ground.y, color=GROUND, linewidth=2.2)
        for name, found, colour in self.curves:
            axes.plot(found.x, found.y, color=colour, linewidth=1.0, label=f"{name}, n={found.n:,}")
        axes.spines["left"].set_visible(True)
        axes.tick_params(labelsize=6.6, pad=1.5, labelleft=is_first, labelbottom=is_last)
        scaled(axes, "x", self.xlim, "log")
        scaled(axes, "y", (0.7 * self.ylim[0], 4 * self.ylim[1]), "log")
        if self.is_keyed:
            axes.legend(
                fontsize=6.2, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5),
                handlelength=1, borderpad=0, labelspacing=0.2,
            )  # fmt: skip
        else:
            count(axes, sum(found.n for _, found, _ in self.curves))
        axes.set_xlabel(self.xlabel if is_last else "")
        return {}
