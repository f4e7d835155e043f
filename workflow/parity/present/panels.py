"""The two kinds of panels: how values lie, and how arms compare with the reference.

Arms are rows, from top to bottom in the order of the plan; both functions draw into
given axes and leave every row with a mark or with words that say why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from parity.present import style, words
from parity.present.specs import FigureSpec, Quantity
from parity.present.style import ArmStyle
from parity.present.view import View

LETTER = 0.052  # inches that a letter of 7 pt italics takes
NUMBERS = 1.56  # inches right of a panel for count, estimate and symbol
FEW = 12  # up to this many values a row shows each one instead of a box


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


def say(axes: Axes, row: int, text: str, beyond: float = 0.0) -> None:
    """Words in a row that has no mark, cut to the panel's width.

    Args:
        beyond: inches right of the panel that the words may take as well.
    """
    inches = axes.get_position().width * axes.figure.get_size_inches()[0] + beyond
    limit = int(inches / LETTER)
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


def distribution(axes: Axes, column: Column, spec: FigureSpec) -> None:
    """Values of each arm: points, and from `FEW` on a box with whiskers to the extremes."""
    scaled = _scaled(column, spec.relative)
    for row, arm in enumerate(column.arms):
        if arm not in scaled:
            say(axes, row, column.view.absence(column.case, arm))
            continue
        look = column.styles[arm]
        values = np.asarray(scaled[arm])
        beside(axes, row, str(len(values)))
        if spec.from_zero:
            _bar(axes, row, values, look)
        elif len(values) > FEW and np.ptp(values) > 0:
            _box(axes, row, values, look)
        else:
            _points(axes, row, values, look)
    if spec.relative and scaled:
        axes.axvline(0, color=style.EDGE, linewidth=0.6, zorder=0)
    beside(axes, -1, "n")
    axes.set_xlabel(_value_label(column, spec.relative))
    _value_axis(axes, list(scaled.values()), spec)


def _scaled(column: Column, relative: bool) -> dict[str, list[float]]:
    """Values by arm in the axis' unit: absolute, or % above the reference's median."""
    values = column.view.values(column.case, column.quantity.metric)
    if not relative:
        return {a: [column.quantity.factor * v for v in vs] for a, vs in values.items()}
    base = column.view.median(column.case, column.quantity.metric, column.view.plan["reference"])
    return (
        {} if base is None else {a: [100 * (v / base - 1) for v in vs] for a, vs in values.items()}
    )


def _value_label(column: Column, relative: bool) -> str:
    quantity = column.quantity
    reference = column.view.plan["reference"]
    if not relative:
        return f"{quantity.label} ({quantity.unit})"
    median = column.view.median(column.case, quantity.metric, reference)
    if median is None:
        return f"{quantity.label}: deviation from\nthe reference (%)"
    base = f"{words.significant(quantity.factor * median, 4)} {quantity.unit}"
    title = words.arm_title(column.view.plan, reference)
    return f"{quantity.label}: deviation from\nmedian {title}, {base} (%)"


def _value_axis(axes: Axes, values: Sequence[Sequence[float]], spec: FigureSpec) -> None:
    """Limits with a little air; readable ticks on a logarithmic axis."""
    numbers = [v for vs in values for v in vs]
    if not numbers:
        axes.set_xticks([])
        return
    low, high = min(numbers), max(numbers)
    if spec.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.4, high * 1.4)
        axes.xaxis.set_major_formatter(FuncFormatter(_plain_tick))
        axes.xaxis.set_minor_formatter(NullFormatter())
        return
    air = 0.06 * (high - low) or max(0.001 * abs(high), 0.1)
    axes.set_xlim(*((0, 1.04 * high) if spec.from_zero else (low - air, high + air)))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.ticklabel_format(axis="x", useOffset=False)


def _plain_tick(value: float, _position: int) -> str:
    return f"{value:g}"


def _points(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """Every value, and a bar at the median if they differ."""
    axes.plot(
        values, np.full(len(values), row), look.marker, color=look.colour,
        markerfacecolor=look.face, markersize=0.75 * look.size, markeredgewidth=0.75 * look.rim,
        linestyle="none",
    )  # fmt: skip
    if np.ptp(values) > 0:
        axes.plot([np.median(values)] * 2, [row - 0.32, row + 0.32], color="black", linewidth=1.1)


def _box(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """Quartiles and median; whiskers to minimum and maximum, so that no outlier is hidden."""
    line = {"color": look.colour, "linewidth": 0.9}
    axes.boxplot(
        [values], positions=[row], orientation="horizontal", widths=0.55,
        whis=(0, 100),  # codespell:ignore whis
        patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": look.tint, "edgecolor": look.colour, "linewidth": 0.9},
        whiskerprops=line, capprops=line, medianprops={"color": "black", "linewidth": 1.1},
    )  # fmt: skip


def _bar(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """A bar to the median from zero, with a line from minimum to maximum."""
    middle = float(np.median(values))
    axes.barh(
        row, middle, height=0.62, facecolor=look.tint, edgecolor=look.colour, linewidth=0.8,
    )  # fmt: skip
    axes.plot([values.min(), values.max()], [row, row], color="black", linewidth=1.0)
    for end in (values.min(), values.max()):
        axes.plot([end, end], [row - 0.16, row + 0.16], color="black", linewidth=1.0)


def comparison(
    axes: Axes, column: Column, logarithmic: bool = False, numbers: bool = False
) -> None:
    """Estimate and 95 % interval of each arm, on the band of equivalence if there is a margin.

    Right of each row stand its number of blocks and the symbol of its outcome, with
    `numbers` also the estimate. An interval that leaves the axis ends in an arrow.
    """
    found = column.view.comparisons(column.case, column.quantity.metric)
    shown = [row for row in found.values() if row.blocks]
    ratio = any(row.kind == "ratio" for row in found.values())
    factor = 1.0 if ratio else column.quantity.factor
    neutral = 1.0 if ratio else 0.0
    margin = next((row.margin for row in found.values()), None) if ratio else None
    limits = _limits(shown, factor, margin, neutral)
    if shown and logarithmic:
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        lowest = min(factor * row.estimate for row in shown)
        limits = (min(-1.0, 3 * lowest), 2 * limits[1])
    axes.set_xlim(limits)
    if margin:
        axes.axvspan(1 / (1 + margin), 1 + margin, color=style.BAND, zorder=-2, linewidth=0)
    axes.axvline(neutral, color=style.EDGE, linewidth=0.6, zorder=-1)
    for number, arm in enumerate(column.arms):
        row = found.get(arm)
        if arm == column.view.plan["reference"]:
            say(axes, number, "reference")
        elif row is None or not row.blocks:
            beyond = NUMBERS - 0.1 if numbers else 0.0
            say(axes, number, column.view.absence(column.case, arm), beyond)
        else:
            _interval(axes, number, row, column.styles[arm], factor, limits)
            _note(axes, number, row, numbers)
    beside(axes, -1, "n   ratio [95 % interval]" if numbers else "n")
    if not numbers:
        axes.set_xlabel(_comparison_label(column, ratio, margin))
    if shown and logarithmic:
        axes.xaxis.set_major_formatter(FuncFormatter(_plain_tick))
    elif shown:
        axes.xaxis.set_major_locator(MaxNLocator(3 if numbers else 4, steps=[1, 2, 2.5, 5, 10]))
        axes.ticklabel_format(axis="x", useOffset=False)
    else:
        axes.set_xticks([])


def _limits(
    shown: Sequence[Any], factor: float, margin: float | None, neutral: float
) -> tuple[float, float]:
    """Room for all estimates and the band; very wide intervals are cut and marked."""
    centres = [factor * row.estimate for row in shown]
    ends = [factor * e for row in shown for e in (row.low95, row.high95) if np.isfinite(e)]
    reach = max([abs(c - neutral) for c in centres] + [2.2 * (margin or 0)], default=0.0)
    widest = max([abs(e - neutral) for e in ends], default=0.0)
    reach = 1.12 * max(reach, min(widest, 4 * reach) if reach else widest) or 1.0
    lowest = min([*centres, *ends, neutral])
    if neutral == 0 and lowest >= neutral - 0.05 * reach:
        return neutral - 0.06 * reach, neutral + reach
    return neutral - reach, neutral + reach


def _interval(
    axes: Axes, number: int, row: Any, look: ArmStyle, factor: float, limits: tuple[float, float]
) -> None:
    """Marker and interval; hatching behind what is confounded; an arrow where it is cut."""
    if words.is_confounded(row):
        axes.axhspan(number - 0.45, number + 0.45, facecolor="none", hatch="////", zorder=-1)
    centre = factor * row.estimate
    ends = [factor * end for end in (row.low95, row.high95)]
    if row.blocks > 1:
        axes.plot(
            np.clip(ends, *limits), [number, number], color=look.colour, linewidth=1.3, zorder=2
        )
        arrows = ((0.012, "<", ends[0] < limits[0]), (0.988, ">", ends[1] > limits[1]))
        for edge, marker, is_cut in arrows:
            if is_cut:
                place = axes.get_yaxis_transform()
                axes.plot(edge, number, marker, color=look.colour, markersize=4, transform=place)
    axes.plot(
        centre, number, look.marker, color=look.colour, markerfacecolor=look.face,
        markersize=look.size, markeredgewidth=look.rim, zorder=3, clip_on=False,
    )  # fmt: skip


def _note(axes: Axes, number: int, row: Any, numbers: bool) -> None:
    """Block count, outcome symbol and confounding mark, right of the row."""
    beside(axes, number, str(row.blocks))
    mark = style.CONFOUNDED if words.is_confounded(row) else ""
    offset = (16 if row.blocks < 100 else 20, 0)
    bold = {"fontsize": 8, "fontweight": "bold", "va": "center", "ha": "center"}
    place = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    if numbers:
        axes.annotate(
            words.estimate(row), (1.02, number), (13, 0), fontsize=7, va="center", **place
        )
        offset = (96, 0)
    axes.annotate(f"{style.SYMBOLS[row.outcome]}{mark}", (1.02, number), offset, **bold, **place)


def _comparison_label(column: Column, ratio: bool, margin: float | None) -> str:
    reference = words.arm_title(column.view.plan, column.view.plan["reference"])
    if not ratio:
        return f"{column.quantity.label}: difference to\n{reference} ({column.quantity.unit})"
    return f"cost relative to {reference}\n(ratio; band: margin {words.margin(margin)})"
