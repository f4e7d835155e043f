"""Three forms on a plane: curves along a parameter, single events, and tails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from parity.report.figures import style
from parity.report.figures.page import bands, scaled

FEW = 9  # points below which each has an upright line on the shade
POINTS = 300  # of the curve of a tail
DOTS = (300, 150)  # places of a panel of events: more cannot be told apart in print
GROUND = "#808080"  # the reference's tail behind the others
# Where the key of a panel stands: left of its row, or right of it.
SIDES: Any = {"left": ("center right", (-0.5, 0.5)), "right": ("center left", (1.0, 0.5))}


@dataclass(frozen=True)
class Mark:
    """A line or marks that are no arm's: of a publication, a prediction, another arm's noise."""

    x: Any
    y: Any
    look: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class Lines:
    """A panel of curves."""

    title: str
    table: pd.DataFrame  # `arm`, `x`, `y`, and `low` and `high` where a value has an interval
    looks: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, str] = field(default_factory=dict)  # of the arms, for the key, if any
    shade: float = 0.0  # how dark the ground between low and high is; 0 for upright lines instead
    xlabel: str = ""
    ylabel: str = ""
    xscale: str = "linear"
    yscale: str = "linear"
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    ticks: Mapping[float, str] = field(default_factory=dict)  # labels by x; without, few round ones
    band: Sequence[float] = ()
    neutral: float | None = None
    marks: Sequence[Mark] = ()  # what else is drawn
    texts: Sequence[tuple[float, float, str, str]] = ()  # place (shares of the panel), text, colour
    keyed: str = ""  # `left` or `right`, if the panel has a key of its own there
    key: str = ""  # that key's title
    is_inner: bool = False  # whether it has the labels of its row and column alone
    rows: float = 7.0

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it."""
        axes.spines["left"].set_visible(True)
        key: dict[str, Artist] = {}
        for arm, look in self.looks.items():
            points = self.table[self.table["arm"] == arm]
            if points.empty:
                continue
            if "low" in points and self.shade:
                face = {"color": look["color"], "alpha": self.shade, "linewidth": 0}
                axes.fill_between(points["x"], points["low"], points["high"], **face)
            if "low" in points and (not self.shade or len(points) < FEW):
                known = points[np.isfinite(points["low"] + points["high"])]
                axes.vlines(known["x"], known["low"], known["high"], look["color"], linewidth=1)
            whole = {"linewidth": 0.8, "zorder": 3, "label": arm, **look}
            (line,) = axes.plot(points["x"], points["y"], **whole)
            key |= {self.names[arm]: line} if arm in self.names else {}
        for mark in self.marks:
            (line,) = axes.plot(mark.x, mark.y, **mark.look)
            key |= {mark.name: line} if mark.name else {}
        bands(axes, "y", self.band, self.neutral)
        self._axes(axes, is_first, is_last)
        for x, y, text, colour in self.texts:
            ha = "center" if x == 0.5 else "right" if x > 0.5 else "left"
            va = "center" if x == 0.5 else "top"
            axes.text(x, y, text, color=colour, fontsize=6.2, ha=ha, va=va,
                      transform=axes.transAxes).set_in_layout(False)  # fmt: skip
        if not self.keyed:
            return key
        if is_first or self.keyed == "right":
            loc, anchor = SIDES[self.keyed]
            axes.legend(list(key.values()), list(key), loc=loc, bbox_to_anchor=anchor, fontsize=6.2,
                        title=self.key or None, title_fontsize=6.6, frameon=False, alignment="left",
                        handlelength=1.2, labelspacing=0.2, borderpad=0)  # fmt: skip
        return {}

    def _axes(self, axes: Axes, is_first: bool, is_last: bool) -> None:
        box, ends = axes.dataLim, self.ylim
        if ends is None and self.yscale == "log" and np.isfinite([box.y0, box.y1]).all():
            low, high = min(box.y0, *self.band, np.inf), max(box.y1, *self.band, -np.inf)
            air = max((high / low) ** 0.08, 1.01)
            ends = low / air, high * air
        scaled(axes, "y", ends, self.yscale)
        scaled(axes, "x", self.xlim, self.xscale)
        if self.ticks:
            axes.set_xticks(list(self.ticks), list(self.ticks.values()))
        said = self.xlabel + ", log" * (self.xscale == "log" and bool(self.xlabel))
        axes.set(xlabel=said if is_last else "", ylabel=self.ylabel if is_first else "")
        axes.tick_params(labelsize=6.6, pad=1.5, labelbottom=is_last or not self.is_inner,
                         labelleft=is_first or not self.is_inner)  # fmt: skip


def timeline(title: str, start: NDArray[Any], length: NDArray[Any], colour: str,
             xlim: tuple[float, float], ylim: tuple[float, float],
             **look: Any) -> Lines:  # fmt: skip
    """Single events, when each was and how long, as dots that can be told apart.

    Both, and the ends that all panels of a page share, are in the units of the axes.
    """
    low, high = np.log10(ylim)
    right, up = DOTS[0] / xlim[1], DOTS[1] / (high - low)
    places = np.unique((right * start).round() + 1j * (up * (np.log10(length) - low)).round())
    dots = {"x": places.real / right, "y": 10 ** (low + places.imag / up)}
    return Lines(
        title, pd.DataFrame({"arm": title, **dots}),
        {title: {"color": colour, "marker": ".", "linestyle": "none", "markersize": 1.6,
                 "markeredgewidth": 0, "rasterized": True}},
        xlim=xlim, ylim=(ylim[0], ylim[1] * 10 ** (0.18 * (high - low))), yscale="log", rows=5.5,
        texts=[(0.98, 0.98, f"n={len(start):,}", style.GREY)], is_inner=True, **look)  # fmt: skip


class Curve(NamedTuple):
    """The share `y` of some events that is as long as `x` or longer, and how many there are."""

    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]
    n: int


def curve(lengths: NDArray[Any], factor: float = 1.0) -> Curve:
    """The curve of lengths, at ranks in equal steps of their logarithm; none without any event."""
    if not (number := len(lengths)):
        return Curve(np.empty(0), np.empty(0), 0)
    ranks = np.unique(np.geomspace(1, number, POINTS).round().astype(np.int64))[::-1]
    return Curve(factor * np.sort(lengths)[number - ranks], ranks / number, number)


def ecdf(title: str, curves: Mapping[str, tuple[Curve, str]], ground: Curve,
         is_keyed: bool, **look: Any) -> Lines:  # fmt: skip
    """The share of events that are as long or longer, on logarithmic axes.

    `curves`: curve and colour by name, which stands right of it if it `is_keyed`; `ground`: behind.
    """
    tables = [pd.DataFrame({"arm": name, "x": of.x, "y": of.y}) for name, (of, _) in curves.items()]
    behind = Mark(ground.x, ground.y, {"color": GROUND, "linewidth": 2.2, "zorder": 2})
    total = f"n={sum(of.n for of, _ in curves.values()):,}"
    return Lines(
        title, pd.concat(tables),
        {name: {"color": colour, "linewidth": 1.0} for name, (_, colour) in curves.items()},
        {name: f"{name}, n={of.n:,}" for name, (of, _) in curves.items() if is_keyed},
        xscale="log", yscale="log", marks=[behind], is_inner=True, rows=5.5,
        keyed="right" if is_keyed else "",
        texts=[] if is_keyed else [(0.98, 0.98, total, style.GREY)], **look)  # fmt: skip
