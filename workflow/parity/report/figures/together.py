"""What all archives say together: bounds by runtime and program, and ratios by system."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parity.core.wording import span
from parity.records.dataset import archived
from parity.report import answer
from parity.report.answer import BOUNDS, Bound
from parity.report.figures import style

# Of no bound, of each step of BOUNDS, and of what is open; black is read on all of them.
STEPS = ListedColormap(["white", "#eff6fc", "#d3e5f3", "#abd0e6", "#7fb8da", "#fdd0a2"])
# A colour is a runtime's in all figures, so systems differ in shape and grey, and then in being
# hollow; more than these sixteen begin anew.
SHAPES = (("o", "#000000"), ("s", "#707070"), ("^", "#000000"), ("D", "#707070"), ("v", "#404040"),
          ("X", "#404040"), ("P", "#000000"), ("p", "#707070"))  # fmt: skip
MARKS = tuple(
    {"marker": mark, "color": colour, "markerfacecolor": "white" if hollow else colour,
     "linestyle": "none", "markeredgewidth": 0.8 if hollow else 0.0}
    for hollow in (False, True) for mark, colour in SHAPES)  # fmt: skip
ACROSS, SPREAD = 5, 0.6  # panels beside each other, and of a row what the systems share
KEYED = 6  # systems beside each other in the key
FARTHEST = 25  # per cent to either side, beyond which an interval is cut


def draw(folders: Sequence[Path], folder: Path) -> None:
    """Draw both of these archives into a folder."""
    style.use()
    of_system: dict[str, list[answer.Compared]] = {}
    known = archived(folders[0].parent)
    for each in folders:
        of_system.setdefault(known[each.name][0], []).append(answer.read(each))
    every = [compared for of in of_system.values() for compared in of]
    style.save(bounds(answer.at_most(*every), answer.to_start(*every)), folder, "bounds")
    told = {name: answer.at_most(*of) for name, of in of_system.items()}
    style.save(systems(told), folder, "systems")


def bounds(told: Sequence[Bound], starts: Mapping[str, float]) -> Figure:
    """A heat map of upper 95 % bounds, programs by runtimes; in its first row what a start takes.

    `starts`: upper bounds of what a runtime adds to a start, in s. Steps of colour are BOUNDS.
    """
    table = pd.DataFrame(told).assign(told=[each.told for each in told])
    cells = table.pivot(index="program", columns="runtime", values="bound")
    words = table.pivot(index="program", columns="runtime", values="told")
    for axis in (0, 1):
        cells = cells.sort_index(axis=axis, key=lambda names: names.str.lower())
    words = words.reindex_like(cells).fillna("–")
    steps = cells.map(lambda bound: 0 if np.isnan(bound) else 1 + sum(bound > b for b in BOUNDS))
    row = {name: [answer.told_start(starts.get(name))] for name in map(str, cells)}
    words = pd.concat([pd.DataFrame(row, ["a start"]), words])
    steps = steps.reindex(words.index, fill_value=0)
    size = style.TWO_COLUMNS, 0.55 + 0.175 * len(words)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    seaborn.heatmap(
        steps.astype(int), vmin=0, vmax=STEPS.N - 1, cmap=STEPS, cbar=False, linewidths=0.6,
        ax=axes, annot=words, fmt="", annot_kws={"size": 7, "color": "black"})  # fmt: skip
    axes.xaxis.tick_top()
    axes.set_xticks(axes.get_xticks(), [name.replace(" (", "\n(") for name in map(str, cells)])
    axes.tick_params(length=0, labelsize=7, labelrotation=0)
    axes.set(xlabel="", ylabel="")
    said = f"upper 95 % bounds; n = {span([each.blocks for each in told])} blocks"
    figure.supxlabel(said, fontsize=7.5)
    return figure


def systems(told: Mapping[str, Sequence[Bound]]) -> Figure:
    """The ratio behind each bound with its 95 % interval, of programs that two systems bound.

    A panel for each program with a row for each runtime, and in it a mark for each system.
    """
    rows = [each._asdict() | {"system": name} for name, of in told.items() for each in of]
    table = pd.DataFrame(rows)
    table = table[table.groupby("program")["system"].transform("nunique") > 1]
    # A panel with every point beyond its edges would be empty.
    is_near = 100 * (table["ratio"] - 1).abs() <= FARTHEST
    table = table[is_near.groupby(table["program"]).transform("any")]
    names = list(table["system"].unique())
    runtimes = sorted(table["runtime"].unique(), key=str.lower, reverse=True)
    programs = sorted(table["program"].unique(), key=str.lower)
    down = -(-len(programs) // ACROSS)
    marks = dict(zip(names, cycle(MARKS), strict=False))
    lines = -(-len(names) // KEYED)
    size = style.TWO_COLUMNS, 0.2 + 0.2 * lines + down * (0.45 + style.ROW * len(runtimes))
    figure, grid = plt.subplots(
        down, ACROSS, figsize=size, layout="constrained", sharey=True, squeeze=False)  # fmt: skip
    for axes, program in zip(grid.flat, programs, strict=False):
        _panel(axes, table[table["program"] == program], marks, runtimes)
        axes.set_title(program.replace(", ", ",\n"), loc="left", fontsize=7.2)
    for axes in grid.flat[len(programs) :]:
        axes.set_axis_off()
    handles = [Line2D([], [], **mark, markersize=3.5) for mark in marks.values()]
    figure.legend(handles, names, ncols=KEYED, loc="outside upper left", frameon=False)
    what = "cost (%): ratio to native less one, with its 95 % interval"
    figure.supxlabel(f"{what}; n = {span(table['blocks'])} blocks", fontsize=7.5)
    return figure


def _panel(axes: Axes, table: pd.DataFrame, marks: Mapping[str, Mapping[str, Any]],
           runtimes: Sequence[str]) -> None:  # fmt: skip
    axes.axvline(0, color=style.EDGE, linewidth=0.7, zorder=0)
    for number, (name, mark) in enumerate(marks.items()):
        mine = table[table["system"] == name]
        rows = [runtimes.index(runtime) for runtime in mine["runtime"]]
        place = np.array(rows) + SPREAD * (0.5 - (number + 0.5) / len(marks))
        cost, low, high = (100 * (mine[end].to_numpy() - 1) for end in ("ratio", "low", "high"))
        left, right = (np.clip(end, -FARTHEST, FARTHEST) for end in (low, high))
        axes.hlines(place, left, right, mark["color"], linewidth=0.8)
        shown = np.abs(cost) <= FARTHEST
        axes.plot(cost[shown], place[shown], **mark, markersize=3)
    axes.set_yticks(range(len(runtimes)), runtimes, fontsize=7)
    axes.tick_params(axis="x", labelsize=6.5)
