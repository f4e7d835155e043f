"""Three forms with a row for each arm: conclusions, distributions, and sums of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parity.report.figures import style
from parity.report.figures.page import bands, beside, rows, say, scaled
from parity.report.figures.specs import FEW
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


@dataclass(frozen=True)
class Values:
    """A panel of values.

    Attributes:
        table: `arm` and `value`, and `case` where several are shown, each at a place of its own.
        labels: names of all arms, in the order of their rows.
        words: why an arm has no value.
        label: what the axis is of.
        notes: columns right of the panel: a head, and words by arm.
        is_violin: whether densities are drawn where each arm has enough values.
    """

    title: str
    table: pd.DataFrame
    labels: Mapping[str, str]
    looks: Mapping[str, style.ArmStyle]
    words: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    is_logarithmic: bool = False
    from_zero: bool = False
    is_relative: bool = False
    is_violin: bool = False
    notes: Sequence[tuple[str, Mapping[str, str]]] = ()

    @property
    def rows(self) -> float:
        """As many as arms."""
        return len(self.labels) * (1.5 if self.is_violin else 1)

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it."""
        by_arm = self.table.groupby("arm")["value"]
        known = by_arm.agg(["size", np.ptp, "median"])
        if len(known):
            self._distributions(axes, known)
        rows(axes, list(self.labels.values()), is_first)
        for number, arm in enumerate(self.labels):
            if arm in self.words and arm not in known.index:
                say(axes, number, self.words[arm])
        if self.is_relative:
            bands(axes, "x", (), 0.0)
        self._counts(axes, known["size"])
        values = self.table["value"]
        if not len(values):
            axes.set_xticks([])
        elif self.is_logarithmic and values.min() > 0:
            scaled(axes, "x", (values.min() / 1.4, values.max() * 1.4), "log")
        else:
            low = 0.0 if self.from_zero else values.min()
            air = 0.06 * (values.max() - low) or max(0.001 * abs(values.max()), 0.1)
            scaled(axes, "x", (low if self.from_zero else low - air, values.max() + air))
        axes.set(xlabel=self.label, ylabel="")
        return self._cases()

    def _counts(self, axes: Axes, counts: pd.Series) -> None:
        """How many values there are: once, or in each row; or what stands there instead."""
        for column, (head, texts) in enumerate(self.notes):
            beside(axes, -1.5, head, 100 * (column + 1), ha="right")
            for number, arm in enumerate(self.labels):
                beside(axes, number, texts.get(arm, ""), 100 * (column + 1), ha="right")
        if self.notes or not len(counts):
            return
        is_same = counts.nunique() == 1
        beside(axes, -0.9, f"n = {counts.iloc[0]}" if is_same else "n")
        for number, arm in enumerate(self.labels):
            if arm in counts.index and not is_same:
                beside(axes, number, str(counts[arm]))

    def _distributions(self, axes: Axes, known: pd.DataFrame) -> None:
        """Dots alone for few values, on boxes or violins where there are more."""
        # Seaborn takes the scale of the axis for that of densities, so it comes first.
        if self.is_logarithmic and self.table["value"].min() > 0:
            axes.set_xscale("log")
        arms = list(self.labels)
        common: dict[str, Any] = {
            "x": "value",
            "y": "arm",
            "order": arms,
            "orient": "h",
            "ax": axes,
        }
        palette = {arm: self.looks[arm].colour for arm in arms}
        many = known.index[(known["size"] > FEW) & (known["ptp"] > 0)]
        boxed = self.table[self.table["arm"].isin(many)]
        several = "case" in self.table
        if len(boxed) and self.is_violin:
            seaborn.violinplot(
                boxed, hue="arm", palette=palette, legend=False, inner="quart", cut=0, width=0.95,
                linewidth=0.7, alpha=0.35, density_norm="width", **common,
            )  # fmt: skip
        elif len(boxed) and not several:
            seaborn.boxplot(
                boxed, hue="arm", palette=palette, legend=False, width=0.62, linewidth=0.8,
                whis=(0, 100),  # codespell:ignore whis
                boxprops={"alpha": 0.35}, medianprops={"color": "black"}, **common,
            )  # fmt: skip
        if several:
            look: dict[str, Any] = {"dodge": True, "palette": CASES[: self.table["case"].nunique()]}
            spread(axes, self.table, hue="case", size=2.6, alpha=0.7, **look, **common)
            return
        size = 1.6 if len(many) else 3.4
        spread(axes, self.table, hue="arm", palette=palette, size=size, alpha=0.75, **common)
        few = known.loc[[arm for arm in arms if arm in known.index and arm not in many]]
        places = np.array([arms.index(arm) for arm in few.index])
        if len(few):
            axes.vlines(few["median"], places - 0.34, places + 0.34, color="black", linewidth=1.1)

    def _cases(self) -> Mapping[str, Artist]:
        """What the colours of several cases mean."""
        cases = list(dict.fromkeys(self.table.get("case", ())))
        look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
        return {
            c: Line2D([], [], color=colour, **look) for c, colour in zip(cases, CASES, strict=False)
        }


CASES = ("#0072B2", "#D55E00", "#009E73", "#555555")  # of Okabe and Ito


def spread(axes: Axes, table: pd.DataFrame, **look: Any) -> None:
    """Every value as a dot, moved aside by the same amounts in every run."""
    state = np.random.get_state()
    np.random.seed(1)
    seaborn.stripplot(table, legend=False, jitter=0.18, linewidth=0, zorder=3, **look)
    np.random.set_state(state)


@dataclass(frozen=True)
class Stack:
    """A panel of bars.

    Attributes:
        table: a row for each bar, by its label, and a column for each part.
        faces: colour of each part, in the order in which they are put on each other.
        ranges: smallest and largest sum, two columns, or nothing.
        notes: words at the end of each bar.
        visible: a part that is nowhere so large is not in the key.
        is_bare: whether it has no axes and no key.
    """

    title: str
    table: pd.DataFrame
    faces: Mapping[str, str]
    ranges: np.ndarray | None = None
    notes: Sequence[str] = ()
    label: str = ""
    visible: float = 0.0
    is_bare: bool = False
    small: Sequence[int] = field(default_factory=tuple)

    @property
    def rows(self) -> float:
        """As many as bars."""
        return len(self.table) * (0.8 if self.is_bare else 1)

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it."""
        places, left = np.arange(len(self.table)), np.zeros(len(self.table))
        drawn: dict[str, Artist] = {}
        for part, face in self.faces.items():
            widths = self.table[part].fillna(0).to_numpy(float)
            bars = axes.barh(places, widths, 0.7, left, color=face, linewidth=0, zorder=2)
            left += widths
            if widths.max(initial=0) > self.visible:
                drawn[part] = bars[0]
        if self.ranges is not None:
            axes.hlines(places, *self.ranges.T, color="black", linewidth=0.9, zorder=3)
        for number, (place, note) in enumerate(zip(left, self.notes, strict=False)):
            at = 0 if self.is_bare else place
            look: dict[str, Any] = {"fontsize": 6.4}
            look |= {"fontsize": 5.8, "color": style.GREY} if number in self.small else {}
            axes.text(at, number, f" {note}", va="center", zorder=4, **look)
        rows(axes, [str(label) for label in self.table.index], is_first)
        axes.set_xlim(0, 1.14 * (axes.dataLim.x1 or 1) if self.notes else 1.03 * axes.dataLim.x1)
        if self.is_bare:
            axes.set_xticks([])
            axes.spines[:].set_visible(False)
            return {}
        scaled(axes, "x", axes.get_xlim())
        axes.set_xlabel(self.label if is_last else "")
        return drawn
