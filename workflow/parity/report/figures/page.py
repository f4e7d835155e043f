"""A page: panels in a grid that matplotlib lays out, a title, a key and the small print below."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator

from parity.core.wording import span
from parity.report import formatting
from parity.report.figures import style
from parity.report.templating import WORDS
from parity.report.view import ALONE, EVENTS, View

PAGE = 8.0  # inches that a figure may be high, so that its caption fits below
KEYED = 4  # entries of a key beside each other
LINE = 0.13  # inches of a line of text
LETTERS = 105  # of 7 points across a page
LETTER = 0.055  # inches of a letter of 7.5 points
WIDE = 3.0  # times its lower end to which an axis has ticks at equal distances
NARROW, NARROWEST = 1.5, 1.0  # inches below which a panel has room for few ticks, or fewer
OVER = 1.2  # times the width of its panel that a label below may take
FAR = 1e5  # from which a tick's label, told in full, would meet the one before
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
BESIDE = 14  # letters of a narrow panel's title that leave its head room
LONG = 25  # letters from which an arm's name takes two lines
FOOT = WORDS["figures"]  # small print
SYMBOLS = f"{FOOT['signs']}     {FOOT['lines']}"


class Panel(Protocol):
    """One panel: what it shows, and the form that it is drawn in."""

    @property
    def title(self) -> str:
        """What stands above it."""

    @property
    def rows(self) -> float:
        """Its height, in rows of arms."""

    def draw(self, axes: Axes, is_first: bool, is_last: bool) -> Mapping[str, Artist]:
        """Draw it, and return what the key of the page has of it.

        `is_first`, `is_last`: whether none is left of it, and none below it.
        """


def page(title: str, panels: Sequence[Panel], across: int = 1, foot: Sequence[str] = (),
         left: str = "", around: float = 0.62,
         width: float = style.TWO_COLUMNS) -> Figure:  # fmt: skip
    """A figure, drawn and laid out: panels row by row, `across` of them beside each other.

    `foot`: lines of small print; `left`: what the vertical axes of all panels are of; `around`:
    inches above and below each row of panels; `width`: of the page.
    """
    down = -(-len(panels) // across)
    lines = [panels[n * across : (n + 1) * across] for n in range(down)]
    heights = [style.ROW * max(panel.rows for panel in line) for line in lines]
    figure = plt.figure(figsize=(width, 1.0), layout="constrained")
    grid = figure.add_gridspec(down, across, height_ratios=heights)
    key: dict[str, Artist] = {}
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(grid[divmod(number, across)])
        is_last = number + across >= len(panels)
        key |= panel.draw(axes, number % across == 0, is_last)
        # A head that reaches over the panel stands below the title, a short one beside it.
        head = len(getattr(panel, "head", ""))
        pad = 11 if head > LONG // 3 else 4
        letters, size = (98 // across - 4, 7.2) if across < 4 else (23, 6.3)
        whole_numbers = panel.title.replace(" %", "\u00a0%")
        above = "\n".join(textwrap.fill(line, letters) for line in whole_numbers.split("\n"))
        # Beside a short head of a narrow panel there is room for so many letters.
        if across > 3 and 0 < head <= LONG // 3 and len(above.rpartition("\n")[2]) > BESIDE:
            above = "\n".join(above.rsplit(" ", 1))
        axes.set_title(above, loc="left", pad=pad, fontsize=size, linespacing=1.0)
    below = "\n".join(filter(None, foot))
    text_lines = below.count("\n") + bool(below) - (-len(key) // KEYED)
    edges = 0.25 + LINE * text_lines + 0.17 * bool(title)
    whole = sum(heights) + around * down + edges
    figure.set_figheight(min(PAGE, whole))
    for one in figure.axes if whole > PAGE else ():
        # Long names are in one line again, where rows are too low for two.
        texts = [label.get_text() for label in one.get_yticklabels()]
        if any("\n" in text for text in texts):
            one.set_yticks(one.get_yticks(), [text.replace("\n", " ") for text in texts])
    if key:
        figure.legend(list(key.values()), list(key), ncols=KEYED, frameon=False, alignment="left",
                      title=title, title_fontproperties={"weight": "bold", "size": 8}, borderpad=0,
                      loc="outside upper left", handlelength=1.8, labelspacing=0.25)  # fmt: skip
    elif title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=8, fontweight="bold")
    if left:
        letters = int((figure.get_figheight() - edges) / LETTER)
        figure.supylabel(textwrap.fill(left, max(letters, 16)), fontsize=7.5)
    if below:
        figure.supxlabel(below, fontsize=6.6, color=style.GREY)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.03, h_pad=0.03, wspace=0.01, hspace=0.01)
    engine.execute(figure)
    if _fold_labels(figure):
        engine.execute(figure)
    figure.set_layout_engine("none")
    return figure


def _fold_labels(figure: Figure) -> bool:
    """Fold what is said below a panel where it would reach into the next; whether any was."""
    is_folded = False
    for axes in figure.axes:
        letters = max(int(OVER * axes.bbox.width / figure.dpi / LETTER), 8)
        text = axes.get_xlabel()
        folded = "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))
        axes.set_xlabel(folded)
        is_folded |= folded != text
    return is_folded


def looks_of(view: View) -> dict[str, style.ArmStyle]:
    """The style of each arm in all figures of a dataset.

    Where events are drawn, limits of a kind go from dark to light, which a grey print keeps.
    """
    looks = style.arm_styles(view.plan)
    kinds = view.kinds if len(view.of_events[EVENTS]) else {}
    for arms in (arms for title, arms in kinds.items() if title != ALONE):
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.55, len(arms)))
        for arm, colour in zip(arms, map(matplotlib.colors.to_hex, colours), strict=True):
            looks[arm] = replace(looks[arm], colour=colour, hollow=False)
    return looks


def foot_of(view: View, cases: Sequence[str], *lines: str) -> list[str]:
    """Small print: the lines given, the arms that are only declared, the kind of system."""
    declared = dict.fromkeys(arm for case in cases for arm in view.dataset.not_tested(case))
    titles = [formatting.arm_title(view.plan, a) for a in declared if a not in view.plan.arms]
    absent = f"not tested: {', '.join(titles)}" if titles else ""
    last = "     ".join(filter(None, (absent, view.origin.note)))
    return [*lines, *textwrap.wrap(last, LETTERS)]


def planned(view: View, cases: Sequence[str]) -> str:
    """In how many blocks these cases are planned."""
    blocks_of = view.plan.blocks_of
    return f"{span([blocks_of[case] for case in cases])} planned"


def blocks_that_count(view: View, cases: Sequence[str]) -> str:
    """What `n` means in a figure of these cases."""
    return f"n: blocks that count, of {planned(view, cases)}"


def band_of(margin: float | None) -> tuple[float, ...]:
    """Both ends of a margin as ratios; none without one."""
    return (1 / (1 + margin), 1 + margin) if margin and np.isfinite(margin) else ()


def name_rows(axes: Axes, labels: Sequence[str], is_first: bool = True) -> None:
    """A row for each label, the first on top; a long name takes two lines."""
    folded = []
    for label in labels:
        # The second line holds the last variant.
        place = max(label.rfind(" ("), label.rfind(", ") + 1) if len(label) > LONG else 0
        folded.append(f"{label[:place]}\n{label[place + 1 :]}" if place > 0 else label)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), folded if is_first else [""] * len(labels))
    for tick in axes.get_yticklabels():
        if "\n" in tick.get_text():
            tick.set(fontsize=6, linespacing=0.9)
    axes.hlines(np.arange(len(labels) - 1) + 0.5, 0, 1, transform=axes.get_yaxis_transform(),
                color="#ececec", linewidth=0.5, zorder=0)  # fmt: skip


def beside(axes: Axes, row: float, text: str, points: float = 3.0, **look: Any) -> None:
    """Words right of a row, so many points from the panel; row -0.9 is the head."""
    if text:
        shown: dict[str, Any] = {"fontsize": 6.8, "color": style.GREY} | look
        axes.annotate(text, (1, row), (points, 0), xycoords=axes.get_yaxis_transform(), va="center",
                      textcoords="offset points", annotation_clip=False, **shown)  # fmt: skip


def say(axes: Axes, row: float, text: str) -> None:
    """Words in a row that has no mark, cut to the panel's width."""
    grid: Any = axes.get_gridspec()
    letters = 66 // grid.ncols - 4
    shown = text if len(text) <= letters else text[: letters - 1].rstrip(" :") + "…"
    box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    said = axes.text(0.5, row, shown, transform=axes.get_yaxis_transform(), color=style.GREY,
                     style="italic", ha="center", va="center", fontsize=6.6, bbox=box)  # fmt: skip
    said.set_in_layout(False)


def bands(axes: Axes, across: str, edges: Sequence[float], neutral: float | None) -> None:
    """The band of a margin, and the line where both sides are equal, across an axis."""
    span_of, line = (axes.axvspan, axes.axvline) if across == "x" else (axes.axhspan, axes.axhline)
    if len(edges):
        span_of(*edges, facecolor=style.BAND, zorder=-2, linewidth=0)
    for value in (*edges, *([] if neutral is None else [neutral])):
        line(value, color=style.EDGE, linewidth=0.5, zorder=-1)


class RoundTicks(Locator):
    """Few round ticks: as many as the labels, told in full, have room for on their axis."""

    axis: Any

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """The ticks between two ends."""
        low, high = sorted((vmin, vmax))
        box = self.axis.axes.bbox
        pixels = box.width if self.axis.axis_name == "x" else 2 * box.height
        inches = pixels / self.axis.figure.dpi
        most = 4 if inches > NARROW else 3 if inches > NARROWEST else 2
        ticks = [*MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)]
        if self.axis.get_scale() == "log" and high > WIDE * low > 0:
            decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for digits in ((1, 2, 5), (1, 3), (1,)):
                ticks = [digit * 10.0**decade for decade in decades for digit in digits]
                if sum(low <= tick <= high for tick in ticks) <= most + 1:
                    break
        elif self.axis.get_scale() == "symlog":
            powers = [(100.0 if most == 4 else 1e4) ** power for power in range(1, 8)]
            ticks = [*(-power for power in reversed(powers)), 0, *powers]
        shown = [tick for tick in ticks if low <= tick <= high]
        return shown[:: -(-len(shown) // (most + 1))] if shown else []

    def __call__(self) -> Sequence[float]:
        """The ticks of the axis as it is."""
        return self.tick_values(*self.axis.get_view_interval())


def scaled(axes: Axes, across: str, ends: tuple[float, float] | None = None,
           scale: str = "linear") -> None:  # fmt: skip
    """Scale and ends of the axis `x` or `y`, with few round ticks."""
    axis: Axis = getattr(axes, f"{across}axis")
    if scale == "symlog":
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.5)
    elif scale != "linear":
        axes.set(**{f"{across}scale": scale})
    if ends is not None:
        axes.set(**{f"{across}lim": ends})
    axis.set_major_locator(RoundTicks())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(plain_tick))


def plain_tick(value: float, _position: int) -> str:
    """The label of a tick, without powers of ten unless it is far away."""
    if abs(value) < FAR:
        return f"{value:g}"
    power = math.floor(math.log10(abs(value)))
    digits, ten = f"{value / 10**power:g}", f"10{str(power).translate(RAISED)}"
    return {"1": ten, "-1": f"-{ten}"}.get(digits, f"{digits}·{ten}")
