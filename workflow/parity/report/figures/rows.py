"""Three forms with a row for each arm: conclusions, distributions, and sums of parts."""

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
from parity.report.figures.page import bands, beside, name_rows, say, scaled
from parity.report.figures.specs import FEW
from parity.report.view import rows_of

# What a forest may know of an arm.
NUMBERS = ("estimate", "low95", "high95", "low90", "high90", "mark", "box_low", "box_high")
WORDS = ("words", "symbol", "note", "hatched")
THICK, THIN = 2.2, 0.8  # points: the 90 % and the 95 % interval
JITTER = 0.26  # of a row, to either side
CASES = ("#000000", "#808080", "#4d4d4d", "#666666")  # no arm's


@dataclass(frozen=True)
class Forest:
    """A panel of estimates.

    `table` has a row for each arm, with `arm`, `label` and, as far as they are known, `NUMBERS` on
    the axis and `WORDS`: `words` stand in place of a mark, `symbol` and `note` right of it;
    `hatched` is true of what is confounded, the box is where the estimate is expected, and `mark`
    what it is held against.
    """

    title: str
    table: pd.DataFrame
    looks: Mapping[str, style.ArmStyle]
    blocks: pd.DataFrame | None = None  # `arm` and `value` of each block, drawn behind the interval
    label: str = ""  # what the axis is of
    head: str = ""  # what stands above the notes
    scale: str = "log"  # linear, log or symlog
    band: Sequence[float] = ()  # both ends of the margin
    neutral: float | None = 1.0
    published: Sequence[float] = ()  # of a publication: one value, or both ends of a range
    ends: tuple[float, float] | None = None  # of the axis
    groups: Sequence[int] = ()  # rows above which a line stands

    @property
    def rows(self) -> float:
        """As many as arms."""
        return len(self.table)

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it; the label stands below the last row of panels."""
        table = self.table.reindex(columns=["arm", "label", *NUMBERS, *WORDS])
        texts = table[[*WORDS]].astype(object).fillna("")
        table = table.assign(**texts).reset_index(drop=True)
        ends = self.ends or limits([self])
        name_rows(axes, list(table["label"]), is_first)
        scaled(axes, "x", ends, self.scale)
        bands(axes, "x", self.band, self.neutral)
        if len(self.published) > 1:
            axes.axvspan(*self.published, facecolor=style.PUBLISHED, zorder=-2, linewidth=0)
        for value in self.published:
            axes.axvline(value, color="black", linestyle=":", linewidth=0.8, zorder=-1)
        for place in self.groups:
            axes.axhline(place - 0.5, color=style.EDGE, linewidth=0.6, zorder=0)
        beside(axes, -0.9, self.head)
        if self.blocks is not None and len(self.blocks):
            self._strip(axes, self.blocks, ends)
        shown = table[table["words"] == ""]
        for low, high, width in (("low95", "high95", THIN), ("low90", "high90", THICK)):
            known = shown[np.isfinite(shown[low] + shown[high])]
            colours = [self.looks[arm].colour for arm in known["arm"]]
            left, right = (np.clip(known[end], *ends) for end in (low, high))
            axes.hlines(known.index, left, right, colours, linewidth=width, zorder=3)
        for place, row in enumerate(rows_of(table)):
            self._row(axes, place, row, ends)
        if not np.isfinite(table[["estimate", "mark"]]).any(axis=None):
            axes.set_xticks([])
        if is_last or not self.label.startswith("cost"):
            grid: Any = axes.get_gridspec()
            axes.set_xlabel(self.label, fontsize=7.5 if grid.ncols < 4 else 6.4)
        return {}

    def _strip(self, axes: Axes, blocks: pd.DataFrame, ends: tuple[float, float]) -> None:
        """Each block's value as a dot, those beyond the axis at its end."""
        place = {arm: number for number, arm in enumerate(self.table["arm"])}
        shown = blocks[blocks["arm"].isin(place)]
        # As far from each other as the golden ratio puts them, and the same in every run.
        off = (np.arange(len(shown)) * 0.618034) % 1 * 2 - 1
        colours = [self.looks[arm].colour for arm in shown["arm"]]
        axes.scatter(np.clip(shown["value"], *ends), shown["arm"].map(place) + JITTER * off, s=4,
                     c=colours, linewidths=0, zorder=1)  # fmt: skip

    def _row(self, axes: Axes, place: int, row: Any, ends: tuple[float, float]) -> None:
        """What an arm has beside its intervals: words, marks, and arrows beyond the axis."""
        beside(axes, place, row.symbol, fontsize=9, fontweight="bold", color="black")
        beside(axes, place, row.note, 17 if "symbol" in self.table else 3)
        if np.isfinite(row.mark):
            axes.plot(row.mark, place, "|", color="black", markersize=8, zorder=2)
        if row.words:
            say(axes, place, row.words)
        if row.words or not np.isfinite(row.estimate):
            return
        look = self.looks[row.arm]
        if row.hatched:
            axes.axhspan(place - 0.45, place + 0.45, facecolor="none", hatch="////", zorder=-1)
        if np.isfinite(row.box_low):
            axes.barh(place, row.box_high - row.box_low, 0.62, row.box_low, facecolor="white",
                      edgecolor=style.GREY, linewidth=0.7, zorder=1)  # fmt: skip
        low, high = np.nanmin([row.low95, row.estimate]), np.nanmax([row.high95, row.estimate])
        for at, marker, is_cut in ((0.012, "<", low < ends[0]), (0.988, ">", high > ends[1])):
            if is_cut:
                axes.plot(at, place, marker, color=look.colour, markersize=4, clip_on=False,
                          transform=axes.get_yaxis_transform())  # fmt: skip
        if ends[0] <= row.estimate <= ends[1]:
            axes.plot(row.estimate, place, **look.behind(), zorder=2.5, clip_on=False)


def limits(panels: Sequence[Forest]) -> tuple[float, float]:
    """Ends of an axis with room for all intervals and bands, and for most of the blocks."""
    is_log = panels[0].scale == "log"
    turned, back = (np.log, np.exp) if is_log else (np.asarray, np.asarray)
    needed: list[float] = []
    for panel in panels:
        columns = panel.table.columns.intersection([*NUMBERS]).difference(["low90", "high90"])
        values = np.append(panel.table[columns].to_numpy(float).ravel(), panel.published)
        needed += [*turned(values[np.isfinite(values) & ((values > 0) | (not is_log))])]
        needed += [*(1.5 * turned(np.array(panel.band, float)))]
        needed += [] if panel.neutral is None else [float(turned(panel.neutral))]
    if not needed:
        return (0.9, 1.1) if is_log else (-1.0, 1.0)
    low, high = first, last = min(needed), max(needed)
    for panel in panels:
        if panel.blocks is not None and len(panel.blocks):
            most = np.quantile(turned(panel.blocks["value"].to_numpy(float)), (0.05, 0.95))
            reach = 0.75 * (last - first)
            low, high = min(low, max(most[0], first - reach)), max(high, min(most[1], last + reach))
    if panels[0].scale == "symlog":
        return min(2 * low, -1.0), 2 * high
    air = 0.05 * (high - low) or 0.02 * (abs(high) or 1)
    return float(back(low - air)), float(back(high + air))


@dataclass(frozen=True)
class Values:
    """A panel of values."""

    title: str
    table: pd.DataFrame  # `arm`, `value`, and `case` where several are shown, each at its own place
    labels: Mapping[str, str]  # names of all arms, in the order of their rows
    looks: Mapping[str, style.ArmStyle]
    words: Mapping[str, str] = field(default_factory=dict)  # why an arm has no value
    label: str = ""  # what the axis is of
    is_logarithmic: bool = False
    from_zero: bool = False
    is_relative: bool = False
    is_violin: bool = False  # whether densities are drawn where each arm has enough values
    notes: Sequence[tuple[str, Mapping[str, str]]] = ()  # columns right of it: head, words by arm

    @property
    def rows(self) -> float:
        """As many as arms."""
        return len(self.labels) * (1.5 if self.is_violin else 1)

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it; the key tells the colours of several cases."""
        values, is_log = self.table["value"], self.is_logarithmic and self.table["value"].min() > 0
        known = self.table.groupby("arm")["value"].agg(["size", np.ptp, "median"])
        if len(known):
            # Seaborn takes the scale of the axis for that of densities, so it comes first.
            axes.set_xscale("log" if is_log else "linear")
            self._distributions(axes, known)
        name_rows(axes, list(self.labels.values()), is_first)
        for place, arm in enumerate(self.labels):
            if arm in self.words and arm not in known.index:
                say(axes, place, self.words[arm])
        if self.is_relative:
            bands(axes, "x", (), 0.0)
        is_same = known["size"].nunique() == 1
        counts = {str(arm): f"{n}" * (not is_same) for arm, n in known["size"].items()}
        head = f"n = {known['size'].iloc[0]}" if is_same else "n" if len(known) else ""
        side, above, first = ("right", -1.5, 100) if self.notes else ("left", -0.9, 3)
        for column, (text, of_arm) in enumerate(self.notes or [(head, counts)]):
            points = first + 100 * column
            beside(axes, above, text, points, ha=side)
            for place, arm in enumerate(self.labels):
                beside(axes, place, of_arm.get(arm, ""), points, ha=side)
        if not len(values):
            axes.set_xticks([])
        elif is_log:
            scaled(axes, "x", (values.min() / 1.4, values.max() * 1.4), "log")
        else:
            low = 0.0 if self.from_zero else values.min()
            air = 0.06 * (values.max() - low) or max(0.001 * abs(values.max()), 0.1)
            scaled(axes, "x", (low if self.from_zero else low - air, values.max() + air))
        axes.set(xlabel=self.label + ", log" * bool(is_log), ylabel="")
        look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
        cases = dict.fromkeys(self.table.get("case", ()))
        return {c: Line2D([], [], color=of, **look) for c, of in zip(cases, CASES, strict=False)}

    def _distributions(self, axes: Axes, known: pd.DataFrame) -> None:
        """Dots alone for few values, on boxes or violins where there are more."""
        arms, several = list(self.labels), "case" in self.table
        common: dict[str, Any] = dict(x="value", y="arm", order=arms, orient="h", ax=axes)
        palette = {arm: self.looks[arm].colour for arm in arms}
        of_arm = {"hue": "arm", "palette": palette, "legend": False}
        many = known.index[(known["size"] > FEW) & (known["ptp"] > 0)]
        boxed = self.table[self.table["arm"].isin(many)]
        if len(boxed) and self.is_violin:
            seaborn.violinplot(boxed, inner="quart", cut=0, width=0.95, linewidth=0.7, alpha=0.35,
                               density_norm="width", **of_arm, **common)  # fmt: skip
        elif len(boxed) and not several:
            seaborn.boxplot(
                boxed, width=0.62, boxprops={"alpha": 0.35}, whis=(0, 100),  # codespell:ignore whis
                linewidth=0.8, medianprops={"color": "black"}, **of_arm, **common)  # fmt: skip
        look: dict[str, Any] = of_arm | {"size": 1.6 if len(many) else 3.4, "alpha": 1.0}
        if several:
            look = {"hue": "case", "dodge": True, "palette": CASES[: self.table["case"].nunique()],
                    "size": 2.6, "alpha": 1.0, "legend": False}  # fmt: skip
        # Every value is moved aside by the same amounts in every run.
        state = np.random.get_state()
        np.random.seed(1)
        seaborn.stripplot(self.table, jitter=0.18, linewidth=0, zorder=3, **look, **common)
        np.random.set_state(state)
        few = known.loc[[arm for arm in arms if arm in known.index and arm not in many]]
        if len(few) and not several:
            places = np.array([arms.index(arm) for arm in few.index])
            axes.vlines(few["median"], places - 0.34, places + 0.34, color="black", linewidth=1.1)


@dataclass(frozen=True)
class Stack:
    """A panel of bars."""

    title: str
    table: pd.DataFrame  # a row for each bar, by its label, and a column for each part
    faces: Mapping[str, str]  # colour of each part, in the order they are put on each other
    ranges: np.ndarray | None = None  # smallest and largest sum, two columns, or nothing
    notes: Sequence[str] = ()  # words at the end of each bar
    label: str = ""
    visible: float = 0.0  # a part that is nowhere so large is not in the key
    is_bare: bool = False  # without axes and key; rows without a label are in small print

    @property
    def rows(self) -> float:
        """As many as bars."""
        return len(self.table) * (0.8 if self.is_bare else 1)

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it."""
        places, left = range(len(self.table)), np.zeros(len(self.table))
        key: dict[str, Artist] = {}
        for part, face in self.faces.items():
            widths = self.table[part].fillna(0).to_numpy(float)
            bars = axes.barh(places, widths, 0.7, left, color=face, edgecolor=style.GREY,
                             linewidth=0.5, zorder=2)  # fmt: skip
            left += widths
            if widths.max(initial=0) > self.visible and not self.is_bare:
                key[part] = bars[0]
        if self.ranges is not None:
            axes.hlines(places, *self.ranges.T, color="black", linewidth=0.9, zorder=3)
        labels = [str(label) for label in self.table.index]
        for place, end, note, label in zip(places, left, self.notes, labels, strict=False):
            look: dict[str, Any] = {"fontsize": 6.4 if label else 6.0, "zorder": 4, "va": "center"}
            look["color"] = "black" if label else style.GREY
            axes.text(0 if self.is_bare else end, place, f" {note}", **look)
        name_rows(axes, labels, is_first)
        end = axes.dataLim.x1
        scaled(axes, "x", (0, 1.14 * (end or 1) if self.notes else 1.03 * end))
        if self.is_bare:
            axes.set_xticks([])
            axes.spines[:].set_visible(False)
        axes.set_xlabel(self.label if is_last else "")
        return key
