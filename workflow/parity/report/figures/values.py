"""The form of distributions: a row for each arm, drawn by seaborn as points, boxes or violins."""

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
