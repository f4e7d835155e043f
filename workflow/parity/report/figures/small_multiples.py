"""Single events in small panels: when they were, and how many are longer."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from parity.benchmarks.figure_spec import FigureSpec
from parity.records import events
from parity.report.figures import page_layout, style
from parity.report.figures.style import ArmStyle
from parity.report.text import formatting
from parity.report.view import ALONE, EVENTS, View

LETTERS = 37  # of a line right of a panel
LEFT, RIGHT, GAP = 0.62, 0.08, 0.12  # inches left of, right of and between panels
HEAD, FOOT = 0.22, 0.72  # inches of the page
ABOVE, LETTER, COUNT = 0.24, 0.047, 0.14  # inches of a title, of a letter of it, and of a count
TALL = 1.1  # inches of a panel, at most
BESIDE = 1.8  # inches right of a panel for the names of its arms
GROUND = "#b0b0b0"  # the reference behind the others
DOTS = (300, 150)  # places of a timeline: more cannot be told apart in print
POINTS = 300  # of a curve
_IN_MICROSECONDS = 1e-3

Lengths = NDArray[np.int64]
Numbers = NDArray[np.floating[Any]]


def timelines(view: View, spec: FigureSpec) -> Figure:
    """Length against time of each event of one run of each arm, all in the same block."""
    case = view.shown(spec)[0]
    runs = view.of_events[EVENTS]
    of_case = runs[runs["case"] == case]
    # The block that most arms have a run in; the first of several.
    block = str(of_case["block"].value_counts(sort=False).sort_index().idxmax())
    held = set(of_case[of_case["block"] == block]["arm"])
    arms = [arm for arm in view.arms if arm in held]
    folder = (view.folder or Path()) / EVENTS
    found = {arm: events.of_run(folder, case, arm, block) for arm in arms}
    lasted = max([start[-1] for start, _ in found.values() if len(start)], default=1) / 1e9
    said = [f"one run of each arm, all of one block ({block}); n: events"]
    figure, panels = _grid(view, spec, case, _titles(view, arms), said)
    looks, ends = styles(view), _ends([length for _, length in found.values()])
    room = _with_room(panels[0], ends)
    for axes, arm in zip(panels, arms, strict=True):
        start, length = found[arm]
        axes.set(xlim=(0, lasted), ylim=room, yscale="log")
        places = _apart(start / 1e9, _IN_MICROSECONDS * length, lasted, ends)
        axes.plot(*places, ".", color=looks[arm].colour, markersize=1.6, markeredgewidth=0,
                  rasterized=True)  # fmt: skip
        _count(axes, len(start))
    _name_axes(figure, panels, "seconds since the run began", "length (µs)")
    return figure


def tails(view: View, spec: FigureSpec) -> Figure:
    """The share of events that are longer, of all runs of each arm, on the reference's.

    Another case, as of FWQ, has one panel for all arms, in the colours of theirs.
    """
    case, *others = view.shown(spec)
    arms = _held(view, case)
    groups = dict(zip(_titles(view, arms), ([(case, arm)] for arm in arms), strict=True))
    for other in others:
        title = f"{formatting.case_levels(view.plan, other)}, all arms"
        groups[title] = [(other, arm) for arm in _held(view, other)]
    return _tails(view, spec, groups, named=False)


def kinds(view: View, spec: FigureSpec) -> Figure:
    """The same, where arms of a kind share a panel, from the first, which is dark, to the last."""
    case = view.shown(spec)[0]
    held = set(_held(view, case))
    groups = {
        title: [(case, arm) for arm in arms if arm in held]
        for title, arms in view.kinds.items()
        if title != ALONE and held & set(arms)
    }
    return _tails(view, spec, groups, named=True)


def _held(view: View, case: str) -> list[str]:
    """The arms that have events of a case."""
    held = set(view.of_events[EVENTS].query("case == @case")["arm"])
    return [arm for arm in view.arms if arm in held]


def styles(view: View) -> dict[str, ArmStyle]:
    """The style of each arm; those of a kind go from dark to light, which a grey print keeps."""
    looks = style.arm_styles(view.plan)
    for title, arms in view.kinds.items():
        if title != ALONE:
            colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(arms)))
            looks |= {
                arm: replace(looks[arm], colour=matplotlib.colors.to_hex(colour), hollow=False)
                for arm, colour in zip(arms, colours, strict=True)
            }
    return looks


def short(view: View, arms: Sequence[str]) -> dict[str, str]:
    """What arms of a kind are called beside each other: without what all of them begin with."""
    titles = {arm: formatting.arm_title(view.plan, arm) for arm in arms}
    heads = {title.partition(", ")[0] for title in titles.values()}
    alike = len(heads) == 1 and all(", " in title for title in titles.values())
    return {arm: t.partition(", ")[2] if alike else t for arm, t in titles.items()}


def _titles(view: View, arms: Sequence[str]) -> list[str]:
    return [formatting.arm_title(view.plan, arm) for arm in arms]


def _tails(
    view: View,
    spec: FigureSpec,
    groups: Mapping[str, Sequence[tuple[str, str]]],
    named: bool,
) -> Figure:
    """A panel for each group of cases and arms; `named`: with the arms' names right of it."""
    folder, first = view.folder or Path(), (view.shown(spec)[0], view.plan.reference)
    all_of_them = [pair for pairs in groups.values() for pair in pairs]
    wanted = dict.fromkeys([first, *((case, first[1]) for case, _ in all_of_them), *all_of_them])
    # Only the curves are kept: the events of all arms may be many.
    curves = {pair: curve(events.lengths(folder / EVENTS, *pair)) for pair in wanted}
    said = "all runs of an arm together; n: events     grey: "
    said += f"{formatting.arm_title(view.plan, first[1])}, n={curves[first][2]:,}"
    figure, panels = _grid(view, spec, first[0], list(groups), [said], BESIDE if named else 0)
    looks = styles(view)
    ends = _ends([curve[0] for curve in curves.values()])
    lowest = min([curve[1][-1] for curve in curves.values() if curve[2]], default=0.1)
    for axes, pairs in zip(panels, groups.values(), strict=True):
        shares = (0.7 * lowest, 1.5)
        axes.set(xlim=ends, xscale="log", yscale="log",
                 ylim=shares if named else _with_room(axes, shares))  # fmt: skip
        axes.plot(*_in_microseconds(curves[pairs[0][0], first[1]]), color=GROUND, linewidth=2.2)
        names = short(view, [arm for _, arm in pairs])
        for pair in pairs:
            label = textwrap.fill(f"{names[pair[1]]}, n={curves[pair][2]:,}", LETTERS)
            axes.plot(*_in_microseconds(curves[pair]), color=looks[pair[1]].colour, linewidth=1.0,
                      label=label)  # fmt: skip
        if named:
            axes.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02),
                        borderpad=0, handlelength=1, labelspacing=0.15)  # fmt: skip
        else:
            _count(axes, sum(curves[pair][2] for pair in pairs))
    _name_axes(figure, panels, "length (µs)", "share of events\nas long or longer")
    return figure


def curve(lengths: Lengths) -> tuple[Lengths, Numbers, int]:
    """Lengths in ns, the share of events that are as long or longer, and how many there are.

    At ranks in equal steps of their logarithm; without any event there is no point.
    """
    count = len(lengths)
    if not count:
        return lengths, np.empty(0), 0
    ranks = np.unique(np.geomspace(1, count, POINTS).round().astype(np.int64))[::-1]
    return np.sort(lengths)[count - ranks], ranks / count, count


def _in_microseconds(
    curve: tuple[Lengths, Numbers, int],
) -> tuple[Numbers, Numbers]:
    return _IN_MICROSECONDS * curve[0], curve[1]


def _apart(
    start: Numbers,
    length: Numbers,
    lasted: float,
    ends: tuple[float, float],
) -> Numbers:
    """The places of points that can be told apart, as rows of time and of length."""
    low, high = np.log10(ends)
    right, up = DOTS[0] / lasted, DOTS[1] / (high - low)
    places = np.unique((right * start).round() + 1j * (up * (np.log10(length) - low)).round())
    return np.stack([places.real / right, 10 ** (low + places.imag / up)])


def _ends(found: Sequence[Lengths]) -> tuple[float, float]:
    """Ends of an axis of lengths in µs: room for all of them, given in ns."""
    known = np.concatenate([each[each > 0] for each in found])
    if not len(known):
        return 0.1, 10.0
    return 0.7 * _IN_MICROSECONDS * known.min(), 1.5 * _IN_MICROSECONDS * known.max()


def _grid(
    view: View,
    spec: FigureSpec,
    case: str,
    titles: Sequence[str],
    said: Sequence[str],
    beside: float = 0,
) -> tuple[Figure, list[Axes]]:
    """Panels with titles, row by row, with what is said at the foot.

    Args:
        beside: inches right of each panel that are left free.
    """
    across = 2 if beside else 4 if len(titles) <= 16 else 5
    down = -(-len(titles) // across)
    tall = min(TALL, (page_layout.PAGE - HEAD - FOOT) / down - ABOVE - GAP)
    figure = page_layout.new_figure(HEAD + FOOT + down * (tall + ABOVE + GAP))
    page_layout.head(figure, spec.title, LEFT, formatting.case_levels(view.plan, case))
    width = (style.TWO_COLUMNS - LEFT - RIGHT + GAP) / across - GAP - beside
    panels = []
    for number, title in enumerate(titles):
        row, column = divmod(number, across)
        bottom = FOOT + (down - 1 - row) * (tall + ABOVE + GAP)
        axes = page_layout.place(
            figure, LEFT + column * (width + GAP + beside), bottom, width, tall
        )
        folded = textwrap.fill(title, int((width + beside) / LETTER))
        axes.set_title(folded, loc="left", fontweight="normal", fontsize=6.3, pad=2, linespacing=1)
        axes.spines["left"].set_visible(True)
        axes.tick_params(labelsize=6.5, pad=1.5)
        lowest = number + across >= len(titles)
        axes.tick_params(labelbottom=lowest, labelleft=column == 0)
        panels.append(axes)
    page_layout.foot(figure, view, [case], said)
    return figure, panels


def _name_axes(figure: Figure, panels: Sequence[Axes], below: str, left: str) -> None:
    """Few ticks, and what they are of, once for all panels."""
    for axes in panels:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_locator(LogLocator(numticks=5))
                axis.set_minor_locator(NullLocator())
    height = figure.get_size_inches()[1]
    figure.text(0.5, 0.42 / height, below, ha="center")
    figure.text(0.003, 0.5 + (FOOT - HEAD) / 2 / height, left, va="center", rotation=90,
                multialignment="center")  # fmt: skip


def _with_room(axes: Axes, ends: tuple[float, float]) -> tuple[float, float]:
    """Ends of a logarithmic axis with room above for a count."""
    share = COUNT * axes.figure.dpi / axes.bbox.height
    return ends[0], ends[1] * (ends[1] / ends[0]) ** (share / (1 - share))


def _count(axes: Axes, count: int) -> None:
    axes.text(0.98, 0.97, f"n={count:,}", transform=axes.transAxes, ha="right", va="top",
              fontsize=6.3, color=style.GREY)  # fmt: skip
