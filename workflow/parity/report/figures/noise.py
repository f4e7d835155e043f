"""Queries for single events: when they were, how many are longer, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis.noise.replay import RANDOM, TOGETHER
from parity.benchmarks.description import FigureSpec
from parity.core import wording
from parity.records import events
from parity.report import formatting
from parity.report.figures import style
from parity.report.figures.page import Page, Panel, foot_of
from parity.report.figures.planes import Ecdf, Lines, Mark, Timeline, curve
from parity.report.figures.rows import Forest
from parity.report.view import ALONE, EVENTS, View, rows_of

POOR = 0.05  # p of a fit below which it is called bad
US = 1e-3  # microseconds of a nanosecond


def styles(view: View) -> dict[str, style.ArmStyle]:
    """The style of each arm; those of a kind go from dark to light, which a grey print keeps."""
    looks = style.arm_styles(view.plan)
    for title, arms in view.kinds.items():
        if title != ALONE:
            colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(arms)))
            for arm, colour in zip(arms, colours, strict=True):
                plain = matplotlib.colors.to_hex(colour)
                looks[arm] = replace(looks[arm], colour=plain, hollow=False)
    return looks


def short(view: View, arms: Sequence[str]) -> dict[str, str]:
    """What arms of a kind are called beside each other: without what all of them begin with."""
    titles = {arm: formatting.arm_title(view.plan, arm) for arm in arms}
    heads = {title.partition(", ")[0] for title in titles.values()}
    alike = len(heads) == 1 and all(", " in title for title in titles.values())
    return {arm: t.partition(", ")[2] if alike else t for arm, t in titles.items()}


def _page(view: View, spec: FigureSpec, case: str, made: Sequence[Panel], said: Sequence[str],
          left: str = "", across: int = 0, around: float = 0.34) -> Figure:  # fmt: skip
    """A page that says the case above its panels."""
    levels = formatting.case_levels(view.plan, case)
    title = f"{spec.title}: {levels}" if levels else spec.title
    across = min(len(made), across or (4 if len(made) <= 16 else 5))
    foot = foot_of(view, [case], *said)
    return Page(title, made, across, foot, left, around=around).figure()


def _ends(lengths: Sequence[np.ndarray]) -> tuple[float, float]:
    """Ends of a logarithmic axis with room for all of these lengths."""
    known = np.concatenate([each[each > 0] for each in lengths] or [np.empty(0)])
    return (0.7 * known.min(), 1.5 * known.max()) if len(known) else (0.1, 10.0)


def timelines(view: View, spec: FigureSpec) -> Figure:
    """Length against time of each event of one run of each arm, all in the same block."""
    case, runs = view.shown(spec)[0], view.of_events[EVENTS]
    of_case = runs[runs["case"] == case]
    # The block that most arms have a run in; the first of several.
    block = str(of_case["block"].value_counts(sort=False).sort_index().idxmax())
    held = set(of_case[of_case["block"] == block]["arm"])
    folder, found = (view.folder or Path()) / EVENTS, {}
    for arm in (arm for arm in view.arms if arm in held):
        start, length = events.of_run(folder, case, arm, block)
        found[arm] = pd.DataFrame({"start": start / 1e9, "length": US * length})
    xlim = (0.0, max([t["start"].max() for t in found.values() if len(t)], default=1.0))
    ylim = _ends([table["length"].to_numpy() for table in found.values()])
    looks, below = styles(view), "seconds"
    made = [
        Timeline(formatting.arm_title(view.plan, arm), t, looks[arm].colour, xlim, ylim, below)
        for arm, t in found.items()
    ]
    said = [f"one run of each arm, all of one block ({block}), from its begin; n: events"]
    return _page(view, spec, case, made, said, "length (µs)")


def tails(view: View, spec: FigureSpec) -> Figure:
    """The share of events that are longer, of all runs of each arm, on the reference's.

    Another case, as of FWQ, has one panel for all arms, in the colours of theirs.
    """
    case, *others = view.shown(spec)
    groups = {formatting.arm_title(view.plan, a): [(case, a)] for a in _held(view, case)}
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
    runs = view.of_events[EVENTS]
    held = set(runs[runs["case"] == case]["arm"])
    return [arm for arm in view.arms if arm in held]


def _tails(
    view: View, spec: FigureSpec, groups: Mapping[str, Sequence[tuple[str, str]]], named: bool
) -> Figure:
    """A panel for each group of cases and arms; `named`: with the arms' names right of it."""
    folder, native = (view.folder or Path()) / EVENTS, view.plan.reference
    first, looks = view.shown(spec)[0], styles(view)
    pairs = [pair for of_group in groups.values() for pair in of_group]
    wanted = dict.fromkeys([(first, native), *((case, native) for case, _ in pairs), *pairs])
    # Only the curves are kept: the events of all arms may be many.
    curves = {pair: curve(events.lengths(folder, *pair), US) for pair in wanted}
    ends = _ends([found.x for found in curves.values()])
    lowest = min([found.y[-1] for found in curves.values() if found.n], default=0.1)
    made = []
    for title, of_group in groups.items():
        names = short(view, [arm for _, arm in of_group])
        shown = [(names[p[1]], curves[p], looks[p[1]].colour) for p in of_group]
        made.append(Ecdf(title, shown, curves[of_group[0][0], native], ends, (lowest, 1.0),
                         "length (µs)", named))  # fmt: skip
    said = "all runs of an arm together; n: events     grey: "
    said += f"{formatting.arm_title(view.plan, native)}, n={curves[first, native].n:,}"
    left = "share of events as long or longer"
    return _page(view, spec, first, made, [said], left, 2 if named else 0)


def _of_table(view: View, spec: FigureSpec) -> tuple[str, pd.DataFrame, Mapping[str, Any]]:
    """The first case of a figure, its rows of the figure's table by arm, and the arms' looks."""
    case = view.shown(spec)[0]
    table = view.of_events[spec.table]
    table = table[table["case"] == case]
    arms = [arm for arm in view.arms if arm in set(table["arm"])]
    order = {arm: number for number, arm in enumerate(arms)}
    table = table.sort_values("arm", key=lambda names: names.map(order), kind="stable")
    labels = [formatting.arm_title(view.plan, arm) for arm in table["arm"]]
    return case, table.assign(label=labels), styles(view)


def quantiles(view: View, spec: FigureSpec) -> Figure:
    """Ratio of each quantile to the reference's: a panel for each, a row for each arm."""
    case, table, looks = _of_table(view, spec)
    margin = view.plan.case(case).margin
    known = table[["ratio", "ratio_low", "ratio_high"]].to_numpy(float)
    known = known[np.isfinite(known) & (known > 0)]
    ends = min([0.6, *(known / 1.2)]), max([1.6, *(1.2 * known)])
    shares, made = sorted(table["share"].unique()), []
    for share in shares:
        mine = table[table["share"] == share].rename(
            columns={"ratio": "estimate", "ratio_low": "low95", "ratio_high": "high95"}
        )
        is_native, is_open = mine["arm"] == view.plan.reference, ~np.isfinite(mine["estimate"])
        words = np.where(is_native, "reference", np.where(is_open, "too few", ""))
        mine = mine.assign(words=words)
        if share == shares[-1]:
            mine = mine.assign(note=[f"{count:,}" for count in mine["events"]])
        band = (1 / (1 + margin), 1 + margin) if margin else ()
        head = "n" if share == shares[-1] else ""
        made.append(Forest(f"{100 * share:g} %", mine, looks, ends=ends, band=band, head=head))
    native = formatting.arm_title(view.plan, view.plan.reference)
    band_said = f"     band: margin {wording.margin(margin)}" if margin else ""
    said = [f"ratio: quantile of lengths over that of {native}     n: events of all runs     "
            f"lines: 95 % intervals, by blocks of time{band_said}"]  # fmt: skip
    return _page(view, spec, case, made, said, across=len(made), around=0.5)


def quota(view: View, spec: FigureSpec) -> Figure:
    """Observed and predicted length of the events that a limit makes, and their difference."""
    case, table, looks = _of_table(view, spec)
    ms = table.assign(
        **{name: 1e3 * table[name] for name in ("predicted", "observed", "low", "high")}
    )
    left = ms.rename(columns={"observed": "estimate", "low": "low95", "high": "high95",
                              "predicted": "mark"})  # fmt: skip
    right = left.assign(
        **{name: left[name] - left["mark"] for name in ("estimate", "low95", "high95")}
    )
    right = right.drop(columns="mark").assign(
        words=np.where(np.isfinite(right["estimate"]), "", "no event of the limit"),
        note=[f"{count:,}" for count in right["events"]],
    )
    tick = 1e3 * float(table["tick"].fillna(0).max())
    known = right[["estimate", "low95", "high95"]].to_numpy(float)
    reach = 1.15 * max([tick or 1, *np.abs(known[np.isfinite(known)])])
    made: list[Panel] = [
        Forest("median length", left, looks, neutral=None, label="ms; black: period − quota"),
        Forest("observed − predicted", right, looks, scale="linear", neutral=0.0, head="n",
               band=(-tick, tick) if tick else (), ends=(-reach, reach),
               label="observed − predicted (ms)"),
    ]  # fmt: skip
    band = f"     band: ±1 tick ({tick:g} ms)" if tick else ""
    said = [f"n: events due to the limit     lines: 95 % intervals{band}"]
    return _page(view, spec, case, made, said, around=0.6)


def return_levels(view: View, spec: FigureSpec) -> Figure:
    """The length that is reached once in a period, by a fitted tail, beside the longest seen."""
    case, table, looks = _of_table(view, spec)
    ms = table.assign(**{name: 1e3 * table[name] for name in ("level", "low", "high", "longest")})
    known = ms[["level", "low", "high", "longest"]].to_numpy(float)
    known = known[np.isfinite(known) & (known > 0)]
    middle = known if len(known) else np.array([1.0])
    most = 1.5 * 10 ** min(np.log10(middle.max()), np.log10(np.median(middle)) + 4)
    notes = []
    for row in rows_of(table):
        shape, low, high, fit = (
            wording.number(value, 2)
            for value in (row.shape, row.shape_low, row.shape_high, row.fit)
        )
        notes.append(f"{row.exceedances:,}   {shape} [{low}, {high}]   {fit}")
        if np.isfinite(row.level) and not row.fit >= POOR:
            looks = {**looks, row.arm: replace(looks[row.arm], colour=style.BAND)}
    shown = ms.rename(columns={"level": "estimate", "low": "low95", "high": "high95",
                               "longest": "mark"}).assign(note=notes)  # fmt: skip
    period = float(table["period_seconds"].max()) / 60
    label = f"reached once in {period:g} minutes (ms); black: longest observed"
    panel = Forest("", shown, looks, neutral=None, ends=(0.6 * middle.min(), most), label=label,
                   head="n   shape [95 %]   fit p")  # fmt: skip
    return _page(view, spec, case, [panel], [
        "n: events above each arm's threshold, to which a generalised Pareto law is fitted",
        f"lines: 95 % intervals     grey: a law that fits badly (p below {POOR})     "
        "black alone: too little was recorded",
    ], around=0.6)  # fmt: skip


def replay(view: View, spec: FigureSpec) -> Figure:
    """Time of a step over its work against ranks: a row for each kind of arms."""
    case = view.shown(spec)[0]
    table = view.of_events[spec.table]
    table = table[table["case"] == case].rename(columns={"ranks": "x", "slowdown": "y"})
    steps, held = sorted(table["step_seconds"].unique()), set(table["arm"])
    looks = styles(view)
    made: list[Panel] = []
    groups = {title: [a for a in arms if a in held] for title, arms in view.kinds.items()}
    for title, arms in ((title, arms) for title, arms in groups.items() if arms):
        mine = table[table["arm"].isin(arms)]
        most = float(np.nanmax(mine[["y", "high"]]))
        air = 0.06 * max(0.015, most - 1)
        ylim = (0.9, 1.3 * most) if most > 3 else (1 - air, 1 + max(0.015, most - 1) + air)
        for step in steps:
            of_step = mine[mine["step_seconds"] == step].sort_values("x")
            marks = [Mark([1, 2**20], [1.01, 1.01], {"color": "black", "linestyle": ":",
                                                     "linewidth": 0.6, "zorder": 0})]  # fmt: skip
            for arm in arms:
                of_arm, colour = of_step[of_step["arm"] == arm], looks[arm].colour
                at_once = of_arm[of_arm["phases"] == TOGETHER]
                marks.append(
                    Mark(
                        at_once["x"],
                        at_once["y"],
                        {"color": colour, "linewidth": 0.8, "linestyle": (0, (2, 1.5))},
                    )
                )
                bound = of_arm[of_arm["beyond"]]
                marks.append(Mark(bound["x"], bound["y"], {
                    "color": colour, "marker": "o", "linestyle": "none", "markersize": 2.6,
                    "markerfacecolor": "white", "markeredgewidth": 0.6}))  # fmt: skip
            curves = {arm: {"color": looks[arm].colour, "linewidth": 1.2,
                            "alpha": 0.5 if looks[arm].hollow else 1} for arm in arms}  # fmt: skip
            made.append(Lines(
                wording.step_words(step) if len(made) < len(steps) else "",
                of_step[of_step["phases"] == RANDOM], curves, short(view, arms),
                min(0.2, 0.5 / len(arms)), "ranks", xscale="log", xlim=(0.6, 2**20 * 1.7),
                yscale="log" if most > 3 else "linear", ylim=ylim, neutral=1.0, marks=marks,
                ticks={1: "1", 1e3: "10³", 1e6: "10⁶"}, is_keyed=True, is_inner=True, key=title,
                rows=max(5.0, 0.65 * len(arms) + 0.6),
            ))  # fmt: skip
    said = [
        "above: work of a step     time of a step over its work; shade: 95 % interval     "
        "full: each rank at a random moment",
        "broken: all at once     dotted: 1 % more     "
        "hollow: lower bound, as more is asked than the recorded time holds",
    ]
    return _page(view, spec, case, made, said, across=len(steps), around=0.2)
