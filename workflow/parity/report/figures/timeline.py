"""The form of single events: when each was, and how long it lasted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from parity.report.figures import style
from parity.report.figures.page import scaled

DOTS = (300, 150)  # places of a panel: more cannot be told apart in print


@dataclass(frozen=True)
class Timeline:
    """A panel of events.

    Attributes:
        table: `start` and `length` of each event, in the units of the axes.
        xlim, ylim: ends of both axes, the same in all panels of a page.
    """

    title: str
    table: pd.DataFrame
    colour: str
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    xlabel: str = ""
    rows: float = 5.5

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it: dots that can be told apart, and how many events there are."""
        low, high = np.log10(self.ylim)
        right, up = DOTS[0] / self.xlim[1], DOTS[1] / (high - low)
        across = (right * self.table["start"].to_numpy(float)).round()
        above = (up * (np.log10(self.table["length"].to_numpy(float)) - low)).round()
        places = np.unique(across + 1j * above)
        x, y = places.real / right, 10 ** (low + places.imag / up)
        axes.plot(x, y, ".", color=self.colour, markersize=1.6, markeredgewidth=0, rasterized=True)
        axes.spines["left"].set_visible(True)
        axes.tick_params(labelsize=6.6, pad=1.5, labelleft=is_first, labelbottom=is_last)
        scaled(axes, "x", self.xlim)
        scaled(axes, "y", (self.ylim[0], self.ylim[1] * 10 ** (0.18 * (high - low))), "log")
        count(axes, len(self.table))
        axes.set_xlabel(self.xlabel if is_last else "")
        return {}


def count(axes: Axes, number: int) -> None:
    """How many events a panel shows, in its corner."""
    axes.text(0.98, 0.98, f"n={number:,}", transform=axes.transAxes, ha="right", va="top",
              fontsize=6.3, color=style.GREY).set_in_layout(False)  # fmt: skip
