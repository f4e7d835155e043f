"""Three forms on a plane: curves along a parameter, single events, and tails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from parity.report.figures import style
from parity.report.figures.page import bands, scaled

FEW = 9  # points below which each has an upright line on the shade


@dataclass(frozen=True)
class Mark:
    """A line or marks that are no arm's: of a publication, a prediction, another arm's noise."""

    x: Any
    y: Any
    look: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class Lines:
    """A panel of curves.

    Attributes:
        table: `arm`, `x`, `y`, and `low` and `high` where a value has an interval; `line` parts
            lines of one arm, which are drawn as `looks` has `arm` and `line`.
        names: of the arms, for the key; empty without one.
        shade: how dark the ground between low and high is; 0 for upright lines instead.
        ticks: places on the horizontal axis with their labels; few round ones if there are none.
        marks: what else is drawn.
        texts: words: place (shares of the panel), text and colour.
        is_keyed: whether the key stands right of the panel, with `key` as its title.
    """

    title: str
    table: pd.DataFrame
    looks: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, str] = field(default_factory=dict)
    shade: float = 0.0
    xlabel: str = ""
    ylabel: str = ""
    xscale: str = "linear"
    yscale: str = "linear"
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    ticks: Mapping[float, str] = field(default_factory=dict)
    band: Sequence[float] = ()
    neutral: float | None = None
    marks: Sequence[Mark] = ()
    texts: Sequence[tuple[float, float, str, str]] = ()
    is_keyed: bool = False
    key: str = ""
    is_inner: bool = False
    rows: float = 7.0

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it; `is_inner` panels have the labels of their row and column alone."""
        axes.spines["left"].set_visible(True)
        axes.tick_params(labelsize=6.6, pad=1.5)
        drawn: dict[str, Artist] = {}
        for arm, look in self.looks.items():
            of_arm = self.table[self.table["arm"] == arm]
            if of_arm.empty:
                continue
            if "low" in of_arm and self.shade:
                face = {"color": look["color"], "alpha": self.shade, "linewidth": 0}
                axes.fill_between(of_arm["x"], of_arm["low"], of_arm["high"], **face)
            if "low" in of_arm and (not self.shade or len(of_arm) < FEW):
                known = of_arm[np.isfinite(of_arm["low"] + of_arm["high"])]
                axes.vlines(known["x"], known["low"], known["high"], look["color"], linewidth=1)
            (line,) = axes.plot(
                of_arm["x"], of_arm["y"], **{"linewidth": 0.8, "zorder": 3, "label": arm, **look}
            )
            if name := self.names.get(arm):
                drawn[name] = line
        for mark in self.marks:
            (line,) = axes.plot(mark.x, mark.y, **mark.look)
            if mark.name:
                drawn[mark.name] = line
        bands(axes, "y", self.band, self.neutral)
        self._axes(axes, is_first, is_last)
        for x, y, text, colour in self.texts:
            side = "center" if x == 0.5 else "left"
            axes.text(x, y, text, color=colour, fontsize=6.2, ha=side, va="center" if x == 0.5
                      else "top", transform=axes.transAxes).set_in_layout(False)  # fmt: skip
        if self.is_keyed and is_first:
            axes.legend(
                list(drawn.values()), list(drawn), loc="center right", bbox_to_anchor=(-0.5, 0.5),
                title=self.key or None, fontsize=6.2, title_fontsize=6.6, frameon=False,
                alignment="left", handlelength=1.2, labelspacing=0.2, borderpad=0,
            )  # fmt: skip
        return {} if self.is_keyed else drawn

    def _axes(self, axes: Axes, is_first: bool, is_last: bool) -> None:
        box = axes.dataLim
        ends = self.ylim
        if ends is None and self.yscale == "log" and np.isfinite([box.y0, box.y1]).all():
            low, high = min(box.y0, *self.band, np.inf), max(box.y1, *self.band, -np.inf)
            air = max((high / low) ** 0.08, 1.01)
            ends = low / air, high * air
        scaled(axes, "y", ends, self.yscale)
        scaled(axes, "x", self.xlim, self.xscale)
        if self.ticks:
            axes.set_xticks(list(self.ticks), list(self.ticks.values()))
        axes.set_xlabel(self.xlabel if is_last else "")
        if self.is_inner and not is_last:
            axes.tick_params(labelbottom=False)
        if is_first:
            axes.set_ylabel(self.ylabel)
        elif self.is_inner:
            axes.tick_params(labelleft=False)


def look_of(look: style.ArmStyle, times: float = 0.7, line: str | None = None) -> dict[str, Any]:
    """Marker, line and colour of an arm, the marker so many times as large."""
    return look.mark(times, look.line if line is None else line)


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
