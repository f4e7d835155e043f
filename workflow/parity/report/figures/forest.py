"""The form of conclusions: a row for each arm, its estimate and intervals, its blocks behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from parity.report.figures import style
from parity.report.figures.page import bands, beside, rows, say, scaled
from parity.report.view import rows_of

THICK, THIN = 2.2, 0.8  # points: the 90 % and the 95 % interval
JITTER = 0.26  # of a row, to either side


@dataclass(frozen=True)
class Forest:
    """A panel of estimates.

    Attributes:
        table: a row for each arm, with `arm` and `label`, and where it has an estimate
            `estimate`, `low95`, `high95`, `low90`, `high90` (numbers on the axis); `words` stand
            in place of a mark, `symbol` and `note` right of it. `hatched` marks what is
            confounded, `box_low` and `box_high` where it is expected, `mark` what it is held
            against.
        blocks: `arm` and `value`: what each block says, drawn behind the interval.
        label: what the axis is of.
        head: what stands above the notes.
        scale: linear, log or symlog.
        band: both ends of the margin.
        published: of a publication: one value, or both ends of a range.
        ends: of the axis.
        groups: rows above which a line stands.
    """

    title: str
    table: pd.DataFrame
    looks: Mapping[str, style.ArmStyle]
    blocks: pd.DataFrame | None = None
    label: str = ""
    head: str = ""
    scale: str = "log"
    band: Sequence[float] = ()
    neutral: float | None = 1.0
    published: Sequence[float] = ()
    ends: tuple[float, float] | None = None
    groups: Sequence[int] = ()

    @property
    def rows(self) -> float:
        """As many as arms."""
        return len(self.table)

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it; the label stands below the last row of panels."""
        rows(axes, list(self.table["label"]), is_first)
        ends = self.ends or limits([self])
        scaled(axes, "x", ends, self.scale)
        bands(axes, "x", self.band, self.neutral)
        if len(self.published) > 1:
            axes.axvspan(*self.published, facecolor=style.PUBLISHED, zorder=-2, linewidth=0)
        for value in self.published:
            axes.axvline(value, color="black", linestyle=":", linewidth=0.8, zorder=-1)
        for place in self.groups:
            axes.axhline(place - 0.5, color=style.EDGE, linewidth=0.6, zorder=0)
        self._strip(axes, ends)
        for number, row in enumerate(rows_of(self.table)):
            self._row(axes, number, row, ends)
        if self.head:
            beside(axes, -0.9, self.head)
        if not np.isfinite(self.table["estimate"]).any():
            axes.set_xticks([])
        if is_last or not self.label.startswith("cost"):
            axes.set_xlabel(self.label)
        return {}

    def _strip(self, axes: Axes, ends: tuple[float, float]) -> None:
        """Each block's value as a dot, those beyond the axis at its end."""
        if self.blocks is None or self.blocks.empty:
            return
        place = {arm: number for number, arm in enumerate(self.table["arm"])}
        shown = self.blocks[self.blocks["arm"].isin(place)]
        # As far from each other as the golden ratio puts them, and the same in every run.
        off = (np.arange(len(shown)) * 0.618034) % 1 * 2 - 1
        axes.scatter(
            np.clip(shown["value"], *ends), shown["arm"].map(place) + JITTER * off, s=4,
            c=[self.looks[arm].colour for arm in shown["arm"]], alpha=0.4, linewidths=0, zorder=1,
        )  # fmt: skip

    def _row(self, axes: Axes, number: int, row: Any, ends: tuple[float, float]) -> None:
        fact = row._asdict().get
        beside(axes, number, fact("symbol") or "", fontsize=9, fontweight="bold", color="black")
        beside(axes, number, fact("note") or "", 17 if "symbol" in row._fields else 3)
        if (mark := fact("mark")) is not None and np.isfinite(mark):
            axes.plot(mark, number, "|", color="black", markersize=8, zorder=2)
        if fact("words"):
            say(axes, number, str(row.words))
            return
        if not np.isfinite(row.estimate):
            return
        look = self.looks[row.arm]
        if fact("hatched"):
            axes.axhspan(number - 0.45, number + 0.45, facecolor="none", hatch="////", zorder=-1)
        if (low := fact("box_low")) is not None:
            size: dict[str, Any] = {"height": 0.62, "facecolor": "white", "edgecolor": style.GREY}
            axes.barh(number, row.box_high - low, left=low, linewidth=0.7, zorder=1, **size)
        for width, low, high in ((THIN, "low95", "high95"), (THICK, "low90", "high90")):
            if (interval := [fact(low, np.nan), fact(high, np.nan)]) and np.isfinite(
                interval[0] + 0 * interval[1]
            ):
                axes.plot(
                    np.clip(interval, *ends), [number, number], color=look.colour, linewidth=width,
                    solid_capstyle="butt", zorder=3,
                )  # fmt: skip
        outer = (fact("low95", row.estimate), fact("high95", row.estimate))
        for end, marker, is_cut in (
            (0.012, "<", min(outer[0], row.estimate) < ends[0]),
            (0.988, ">", max(outer[1], row.estimate) > ends[1]),
        ):
            if is_cut:
                at: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "color": look.colour}
                axes.plot(end, number, marker, markersize=4, clip_on=False, **at)
        if ends[0] <= row.estimate <= ends[1]:
            axes.plot(row.estimate, number, **look.behind(), zorder=2.5, clip_on=False)


def limits(panels: Sequence[Forest]) -> tuple[float, float]:
    """Ends of an axis with room for all intervals and bands, and for most of the blocks."""
    logarithmic = panels[0].scale == "log"
    turned = np.log if logarithmic else np.asarray
    known: list[float] = []
    for panel in panels:
        columns = panel.table.columns.intersection(
            ["estimate", "low95", "high95", "mark", "box_low", "box_high"]
        )
        values = panel.table[columns].to_numpy(float).ravel()
        values = np.concatenate([values, panel.published])
        known += list(turned(values[np.isfinite(values) & ((values > 0) | (not logarithmic))]))
        if len(panel.band):
            known += list(1.5 * turned(np.asarray(panel.band, float)))
        if panel.neutral is not None:
            known.append(float(turned(panel.neutral)))
    if not known:
        return (0.9, 1.1) if logarithmic else (-1.0, 1.0)
    low, high = min(known), max(known)
    for panel in panels:
        if panel.blocks is not None and len(panel.blocks):
            values = turned(panel.blocks["value"].to_numpy(float))
            ends, reach = np.quantile(values, (0.05, 0.95)), 0.75 * (max(known) - min(known))
            low = min(low, max(ends[0], min(known) - reach))
            high = max(high, min(ends[1], max(known) + reach))
    air = 0.05 * (high - low) or 0.02 * (abs(high) or 1)
    if panels[0].scale == "symlog":
        return min(2 * low, -1.0), 2 * high
    ends = low - air, high + air
    return (float(np.exp(ends[0])), float(np.exp(ends[1]))) if logarithmic else ends
