"""What both kinds of panels share: rows of arms, and words in and beside them.

Arms are rows, from top to bottom in the order of the plan; every row holds a mark or
words that say why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from parity.present import style, words
from parity.present.specs import Quantity
from parity.present.style import ArmStyle
from parity.present.view import View

LETTER = 0.052  # inches that a letter of 7 pt italics takes
NARROW = 1.5  # inches below which a panel has room for few ticks


@dataclass(frozen=True)
class Column:
    """What one column of panels shows."""

    view: View
    case: str
    quantity: Quantity
    arms: Sequence[str]
    styles: dict[str, ArmStyle]

    @property
    def labels(self) -> list[str]:
        """Names of the arms."""
        return [words.arm_title(self.view.plan, arm) for arm in self.arms]


def rows(axes: Axes, labels: Sequence[str], show: bool = True) -> None:
    """Prepare one row per label, the first on top."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels if show else [""] * len(labels))
    for row in range(len(labels) - 1):
        axes.axhline(row + 0.5, color="#f0f0f0", linewidth=0.5, zorder=0)


def inches(axes: Axes) -> float:
    """The width of a panel."""
    return axes.get_position().width * axes.figure.get_size_inches()[0]


def tick_steps(axes: Axes) -> int:
    """Into how many steps the ticks may part a panel, so that their labels stay apart."""
    return 3 if inches(axes) < NARROW else 4


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
    axes.text(
        1.02, row + (0.1 if row < 0 else 0), text, transform=axes.get_yaxis_transform(),
        ha="left", va="center", **({"fontsize": 7, "color": style.GREY} | look),
    )  # fmt: skip


def plain_tick(value: float, _position: int) -> str:
    """The label of a tick on a logarithmic axis, without powers of ten."""
    return f"{value:g}"
