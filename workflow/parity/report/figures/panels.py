"""Panels: how the values of each arm lie and spread, and how they compare with the reference.

Arms are rows, from top to bottom in the order of the plan; every row holds a mark or
words that say why there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from parity.benchmarks.figure_spec import FigureSpec
from parity.benchmarks.metrics import Quantity
from parity.report.figures import style
from parity.report.figures.specs import FEW
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting
from parity.report.view import View

LETTER = 0.052  # inches that a letter of 7 pt italics takes
LONG = 27  # letters from which an arm's name takes two lines
NARROW = 1.5  # inches below which a panel has room for few ticks
NUMBERS = 1.56  # inches right of a panel for count, estimate and symbol
SMALL = 1.0  # inches below which a panel's label has to be short
CLOSE = 0.1  # length of an axis of ratios below which its ticks have three decimals
THICK, THIN = 2.2, 0.8  # points: the 90 % and the 95 % interval


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
    styles: dict[str, ArmStyle]
    rows: Mapping[str, Any] | None = None
    against: str = ""
    published: tuple[float, ...] = ()

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
    name, bracket, variant = label.rpartition(" (")
    return f"{name}\n({variant}" if bracket and len(label) > LONG else label


def inches(axes: Axes) -> float:
    """The width of a panel."""
    return float(axes.bbox.width / axes.figure.dpi)


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
    shown: dict[str, Any] = {"fontsize": 7, "color": style.GREY} | look
    axes.text(
        1.02, row + (0.1 if row < 0 else 0), text, transform=axes.get_yaxis_transform(),
        ha="left", va="center", **shown,
    )  # fmt: skip


def plain_tick(value: float, _position: int) -> str:
    """The label of a tick on a logarithmic axis, without powers of ten."""
    return f"{value:g}"


def distribution(axes: Axes, column: Column, spec: FigureSpec) -> None:
    """Values of each arm: points, and above `FEW` a box with whiskers to the extremes."""
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
    base = column.view.median(column.case, column.quantity.metric, column.view.plan.reference)
    return (
        {} if base is None else {a: [100 * (v / base - 1) for v in vs] for a, vs in values.items()}
    )


def _value_label(column: Column, relative: bool) -> str:
    quantity = column.quantity
    reference = column.view.plan.reference
    if not relative:
        return f"{quantity.label} ({quantity.unit})"
    median = column.view.median(column.case, quantity.metric, reference)
    if median is None:
        return f"{quantity.label}: deviation from\nthe reference (%)"
    base = f"{formatting.significant(quantity.factor * median, 4)} {quantity.unit}"
    title = formatting.arm_title(column.view.plan, reference)
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
        axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))
        axes.xaxis.set_minor_formatter(NullFormatter())
        return
    air = 0.06 * (high - low) or max(0.001 * abs(high), 0.1)
    axes.set_xlim(*((0, 1.04 * high) if spec.from_zero else (low - air, high + air)))
    axes.xaxis.set_major_locator(MaxNLocator(tick_steps(axes), steps=[1, 2, 5, 10]))
    axes.ticklabel_format(axis="x", useOffset=False)


def _points(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """Every value, and a bar at the median if they differ."""
    axes.scatter(
        values, np.full(len(values), row), s=(0.75 * look.size) ** 2, marker=look.marker,
        color=look.face, edgecolor=look.colour, linewidth=0.75 * look.rim, zorder=3,
    )  # fmt: skip
    if np.ptp(values) > 0:
        ends = [row - 0.32, row + 0.32]
        axes.plot([np.median(values)] * 2, ends, color="black", linewidth=1.1, zorder=3)


def _box(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """Quartiles and median; whiskers to minimum and maximum, so that no outlier is hidden."""
    line = {"color": look.colour, "linewidth": 0.9}
    axes.boxplot(
        values, positions=[row], orientation="horizontal", widths=0.55, manage_ticks=False,
        whis=(0, 100), patch_artist=True,  # codespell:ignore whis
        boxprops={"facecolor": look.tint, "edgecolor": look.colour, "linewidth": 0.9},
        whiskerprops=line | {"solid_capstyle": "butt"}, capprops=line,
        medianprops={"color": "black", "linewidth": 1.1},
    )  # fmt: skip


def _bar(axes: Axes, row: int, values: np.ndarray, look: ArmStyle) -> None:
    """A bar to the median from zero, with a line from minimum to maximum."""
    low, high = values.min(), values.max()
    axes.barh(
        row, np.median(values), 0.62, facecolor=look.tint, edgecolor=look.colour, linewidth=0.8
    )
    top, bottom = row - 0.16, row + 0.16
    axes.plot(
        [low, low, np.nan, low, high, np.nan, high, high],
        [top, bottom, np.nan, row, row, np.nan, top, bottom], color="black", linewidth=1.0,
    )  # fmt: skip


@dataclass(frozen=True)
class Scale:
    """The axis of one comparison.

    Attributes:
        factor: what turns an estimate into the axis' unit.
        neutral: where arm and reference cost the same.
        margin: the equivalence margin; None for differences.
        limits: both ends of the axis.
        published: ratios of a publication to mark.
    """

    factor: float
    neutral: float
    margin: float | None
    limits: tuple[float, float]
    published: tuple[float, ...] = ()


def comparison(
    axes: Axes,
    column: Column,
    logarithmic: bool = False,
    numbers: bool = False,
    label: bool = True,
) -> None:
    """Estimate and intervals of each arm, on the band of equivalence if there is a margin.

    The thick line is the 90 % interval, which decides equivalence, the thin one that of
    95 %. Right of each row stand its number of blocks and the symbol of its outcome, with
    `numbers` also the estimate; `label` says below what the axis is. An interval that
    leaves the axis ends in an arrow.
    """
    found = column.compared
    shown = [row for arm in column.arms if (row := found.get(arm)) and row.blocks]
    scale = _scale(column, list(found.values()), shown, logarithmic)
    _axis(axes, scale, bool(shown), logarithmic)
    for number, arm in enumerate(column.arms):
        row = found.get(arm)
        if row is None and arm == column.view.plan.reference:
            say(axes, number, "reference")
        elif row is None or not row.blocks:
            beyond = NUMBERS - 0.1 if numbers else 0.0
            say(axes, number, column.view.absence(column.case, arm), beyond)
        else:
            _interval(axes, number, row, column.styles[arm], scale)
            _note(axes, number, row, numbers)
    kind = "difference" if scale.margin is None else "ratio"
    beside(axes, -1, f"n   {kind} [95 % interval]" if numbers else "n")
    if label:
        axes.set_xlabel(_comparison_label(column, scale, short=inches(axes) < SMALL))


def _scale(column: Column, found: Sequence[Any], shown: Sequence[Any], logarithmic: bool) -> Scale:
    ratio = any(row.kind == "ratio" for row in found)
    factor, neutral = (1.0, 1.0) if ratio else (column.quantity.factor, 0.0)
    margin = found[0].margin if ratio else None
    limits = _limits(shown, factor, margin, neutral, column.published)
    if shown and logarithmic:
        lowest = min(factor * row.estimate for row in shown)
        limits = (min(-1.0, 3 * lowest), 2 * limits[1])
    return Scale(factor, neutral, margin, limits, column.published)


def _limits(
    shown: Sequence[Any],
    factor: float,
    margin: float | None,
    neutral: float,
    published: Sequence[float],
) -> tuple[float, float]:
    """Room for all estimates and the band; very wide intervals are cut and marked.

    Ratios have the neutral value in the middle, but for what is published, which lies on
    one side; differences take only the side they need.
    """
    centres = [factor * row.estimate for row in shown]
    ends = [factor * e for row in shown for e in (row.low95, row.high95) if np.isfinite(e)]
    reach = max([abs(c - neutral) for c in centres] + [2.2 * (margin or 0)], default=0.0)
    widest = max([abs(e - neutral) for e in ends], default=0.0)
    reach = 1.12 * max(reach, min(widest, 4 * reach) if reach else widest) or 1.0
    if neutral:
        if not published:
            return neutral - reach, neutral + reach
        low = min([*centres, *ends, neutral - 1.5 * (margin or 0)])
        top = max([*published, neutral + reach / 1.12])
        return max(neutral - reach, low - 0.01), neutral + 1.08 * (top - neutral)
    low = max(min([*centres, *ends, 0.0]), -reach)
    high = min(max([*centres, *ends, 0.0]), reach)
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _axis(axes: Axes, scale: Scale, any_shown: bool, logarithmic: bool) -> None:
    """Limits, the neutral line, the band with its edges, and ticks."""
    if any_shown and logarithmic:
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.5)
    axes.set_xlim(scale.limits)
    if scale.margin:
        edges = 1 / (1 + scale.margin), 1 + scale.margin
        axes.axvspan(*edges, color=style.BAND, zorder=-2, linewidth=0)
        for edge in edges:
            axes.axvline(edge, color=style.EDGE, linewidth=0.5, zorder=-1)
    if len(scale.published) > 1:
        axes.axvspan(*scale.published, color=style.PUBLISHED, zorder=-2, linewidth=0)
    for value in scale.published:
        axes.axvline(value, color="black", linestyle=":", linewidth=0.8, zorder=-1)
    axes.axvline(scale.neutral, color=style.EDGE, linewidth=0.6, zorder=-1)
    if not any_shown:
        axes.set_xticks([])
    elif logarithmic:
        axes.xaxis.set_major_formatter(FuncFormatter(plain_tick))
    else:
        # Labels of three decimals do not fit into a small panel.
        tight = inches(axes) < SMALL and scale.limits[1] - scale.limits[0] < CLOSE
        steps = [1, 2, 4, 5, 10] if scale.margin and tight else [1, 2, 2.5, 5, 10]
        axes.xaxis.set_major_locator(MaxNLocator(tick_steps(axes), steps=steps))
        axes.ticklabel_format(axis="x", useOffset=False)


def _interval(axes: Axes, number: int, row: Any, look: ArmStyle, scale: Scale) -> None:
    """Marker and intervals; hatching behind what is confounded; an arrow where one is cut."""
    if formatting.is_confounded(row):
        axes.axhspan(number - 0.45, number + 0.45, facecolor="none", hatch="////", zorder=-1)
    if row.blocks > 1:
        for ends, width in (((row.low95, row.high95), THIN), ((row.low90, row.high90), THICK)):
            axes.plot(
                np.clip([scale.factor * end for end in ends], *scale.limits), [number, number],
                color=look.colour, linewidth=width, solid_capstyle="butt", zorder=2,
            )  # fmt: skip
        whole = (scale.factor * row.low95, scale.factor * row.high95)
        arrows(axes, number, whole, scale.limits, look.colour)
    axes.plot(
        scale.factor * row.estimate, number, look.marker, color=look.colour,
        markerfacecolor=look.face, markersize=look.size, markeredgewidth=look.rim, zorder=3,
        clip_on=False,
    )  # fmt: skip


def arrows(
    axes: Axes,
    row: int,
    interval: tuple[float, float],
    limits: tuple[float, float],
    colour: str,
    size: float = 4,
) -> None:
    """An arrow at each end of the axis that an interval goes beyond; `size` in points."""
    sides = ((0.012, "<", interval[0] < limits[0]), (0.988, ">", interval[1] > limits[1]))
    for place, marker, is_cut in sides:
        if is_cut:
            across = axes.get_yaxis_transform()
            axes.plot(place, row, marker, color=colour, markersize=size, transform=across)


def _note(axes: Axes, number: int, row: Any, numbers: bool) -> None:
    """Block count, outcome symbol and confounding mark, right of the row."""
    beside(axes, number, str(row.blocks))
    mark = style.CONFOUNDED if formatting.is_confounded(row) else ""
    offset = (16 if row.blocks < 100 else 20, 0)
    bold: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "va": "center", "ha": "center"}
    place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    if numbers:
        axes.annotate(
            formatting.estimate(row), (1.02, number), (13, 0), fontsize=7, va="center", **place
        )
        offset = (96, 0)
    axes.annotate(f"{style.SYMBOLS[row.outcome]}{mark}", (1.02, number), offset, **bold, **place)


def _comparison_label(column: Column, scale: Scale, short: bool) -> str:
    if scale.margin is None:
        native = formatting.arm_title(column.view.plan, column.view.plan.reference)
        return f"{column.quantity.label}: difference to\n{native} ({column.quantity.unit})"
    reference = column.reference
    if short:
        return f"ratio to {reference}\n(band: {formatting.margin(scale.margin)})"
    return f"cost relative to {reference}\n(ratio; band: margin {formatting.margin(scale.margin)})"
