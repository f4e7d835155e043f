"""Panels: what a column of them shows, and what values and comparisons have in common.

Arms are rows, from top to bottom in the order of the plan; every row holds a mark or
words that say why there is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from parity.benchmarks.metrics import Quantity
from parity.report.figures import style
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting
from parity.report.view import View

LETTER = 0.052  # inches that a letter of 7 pt italics takes
LONG = 25  # letters from which an arm's name takes two lines
WIDE = 3.0  # times its lower end to which an axis has ticks at equal distances
FAR = 1e5  # from which a tick's label, told in full, would meet the one before
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
NARROW = 1.5  # inches below which a panel has room for few ticks


@dataclass(frozen=True)
class Column:
    """What one column of panels shows.

    Attributes:
        rows: what is compared, by arm, if not the arms with the plan's reference.
        against: what each arm is compared with, in words, if not the plan's reference.
        published: cost ratios of a publication to mark: one, or both ends of a range.
    """

    view: View
    case: str
    quantity: Quantity
    arms: Sequence[str]
    rows: Mapping[str, Any] | None = None
    against: str = ""
    published: tuple[float, ...] = ()

    @cached_property
    def styles(self) -> Mapping[str, ArmStyle]:
        """How each arm of the plan is drawn."""
        return style.arm_styles(self.view.plan)

    @property
    def compared(self) -> Mapping[str, Any]:
        """What is compared, by arm, as named tuples."""
        if self.rows is not None:
            return self.rows
        return self.view.comparisons(self.case, self.quantity.metric)

    @property
    def reference(self) -> str:
        """What the ratio of each arm compares with, in words."""
        return self.against or formatting.reference_title(self.view.plan)

    @property
    def labels(self) -> list[str]:
        """Names of the arms."""
        return [formatting.arm_title(self.view.plan, arm) for arm in self.arms]


def rows(axes: Axes, labels: Sequence[str], show: bool = True) -> None:
    """Prepare one row per label, the first on top."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), [_folded(each) if show else "" for each in labels])
    for tick in axes.get_yticklabels():
        if "\n" in tick.get_text():
            tick.set(fontsize=5.8, linespacing=0.95)
    for row in range(len(labels) - 1):
        axes.axhline(row + 0.5, color="#f0f0f0", linewidth=0.5, zorder=0)


def _folded(label: str) -> str:
    """A name, in two lines if it is long; the second holds the last variant."""
    place = max(label.rfind(" ("), label.rfind(", ") + 1)
    return f"{label[:place]}\n{label[place + 1 :]}" if place > 0 and len(label) > LONG else label


def inches(axes: Axes) -> float:
    """The width of a panel."""
    return float(axes.bbox.width / axes.figure.dpi)


def ticks(axes: Axes, steps: Sequence[float]) -> None:
    """Ticks at multiples of these numbers, so few that their labels, told in full, stay apart."""
    most = 3 if inches(axes) < NARROW else 4
    axes.xaxis.set_major_locator(MaxNLocator(most, steps=steps))
    axes.ticklabel_format(axis="x", useOffset=False)


def logarithmic(
    axes: Axes, ends: tuple[float, float], steps: Sequence[float] = (1, 2, 2.5, 5, 10)
) -> None:
    """A logarithmic axis with few ticks: at equal distances, or at 1, 2 and 5 where it is wide."""
    axes.set(xscale="log", xlim=ends)
    (low, high), most = ends, 3 if inches(axes) < NARROW else 4
    chosen = [*MaxNLocator(most, steps=steps).tick_values(low, high)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)) if high > WIDE * low else ():
        chosen = [digit * 10.0**decade for decade in decades for digit in digits]
        if sum(low <= value <= high for value in chosen) <= most + 1:
            break
    shown = [value for value in chosen if low <= value <= high]
    axes.set_xticks(shown[:: -(-len(shown) // (most + 1))] if len(shown) > most + 1 else shown)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))


def ticks_around_one(axes: Axes, room: float = 0.12, apart: float = 0.22) -> None:
    """On a logarithmic axis of ratios 1 and the farthest round ratios that stay inside.

    Args:
        room: the share of the axis at either end in which a label would meet that of a panel
            beside it.
        apart: the share of the axis within which a label would meet that of 1.
    """
    low, high = map(math.log, axes.get_xlim())
    ends, off = (low + room * (high - low), high - room * (high - low)), apart * (high - low)
    decades = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    known = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    inside = [v for v in known if ends[0] < math.log(v) < ends[1] and abs(math.log(v)) > off]
    axes.set_xticks(sorted({min([1.0, *inside]), 1.0, max([1.0, *inside])}))


def say(axes: Axes, row: int, text: str, beyond: float = 0.0) -> None:
    """Words in a row that has no mark, cut to the panel's width.

    Args:
        beyond: inches right of the panel that the words may take as well.
    """
    limit = int((inches(axes) + beyond) / LETTER)
    if len(text) > limit:
        text = text[: limit - 1].rstrip(" :") + "…"
    place, side = (0.02, "left") if beyond else (0.5, "center")
    axes.text(
        place, row, text, transform=axes.get_yaxis_transform(), ha=side, va="center",
        fontsize=7, style="italic", color=style.GREY,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def beside(axes: Axes, row: float, text: str, **look: Any) -> None:
    """Words right of a row; row -1 is the head of that column."""
    shown: dict[str, Any] = {"fontsize": 7, "color": style.GREY} | look
    axes.text(
        1.02, row + (0.1 if row < 0 else 0), text, transform=axes.get_yaxis_transform(),
        ha="left", va="center", **shown,
    )  # fmt: skip


def plain_tick(value: float, _position: int) -> str:
    """The label of a tick on a logarithmic axis, without powers of ten unless it is far away."""
    if abs(value) < FAR:
        return f"{value:g}"
    power = math.floor(math.log10(abs(value)))
    digits, ten = f"{value / 10**power:g}", f"10{str(power).translate(RAISED)}"
    return ten if digits == "1" else f"-{ten}" if digits == "-1" else f"{digits}·{ten}"
