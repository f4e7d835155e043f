"""The form of sums: a bar for each row, made of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from parity.report.figures import style
from parity.report.figures.page import rows, scaled


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
