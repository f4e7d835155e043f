"""Queries for single events: when they were, how many are longer, and what is made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.benchmarks.description import FigureSpec
from parity.core import wording
from parity.extensions.noise.analysis.replay import RANDOM, TOGETHER
from parity.records import events
from parity.report import formatting
from parity.report.figures import style
from parity.report.figures.page import FOOT, Panel, band_of, foot_of, looks_of, page
from parity.report.figures.planes import Lines, Mark, curve, ecdf, timeline
from parity.report.figures.rows import Forest
from parity.report.view import ALONE, EVENTS, POOR, View, rows_of

US = 1e-3  # microseconds of a nanosecond


def short(view: View, arms: Sequence[str]) -> dict[str, str]:
    """What arms of a kind are called beside each other: without what all of them begin with."""
    parts = {arm: formatting.arm_title(view.plan, arm).partition(", ") for arm in arms}
    alike = len({head for head, _, _ in parts.values()}) == 1 and all(p[2] for p in parts.values())
    return {arm: part[2] if alike else "".join(part) for arm, part in parts.items()}


def _page(view: View, spec: FigureSpec, case: str, made: Sequence[Panel], said: Sequence[str],
          left: str = "", across: int = 0, around: float = 0.34) -> Figure:  # fmt: skip
    """A page that says the case above its panels, if its title does not."""
    levels = formatting.case_levels(view.plan, case)
    title = spec.title if levels.lower() in spec.title.lower() else f"{spec.title}: {levels}"
    across = min(len(made), across or (4 if len(made) <= 16 else 5))
    return page(title, made, across, foot_of(view, [case], *said), left, around=around)


def _ends(lengths: Sequence[Any]) -> tuple[float, float]:
    """Ends of a logarithmic axis with room for all of these lengths."""
    known = np.concatenate([np.empty(0), *lengths])
    known = known[known > 0]
    return (0.7 * known.min(), 1.5 * known.max()) if len(known) else (0.1, 10.0)


def timelines(view: View, spec: FigureSpec) -> Figure:
    """Length against time of each event of one run of each arm, all in the same block."""
    case, runs = view.shown(spec)[0], view.of_events[EVENTS]
    runs = runs[runs["case"] == case]
    # The block that most arms have a run in; the first of several.
    block = str(runs["block"].value_counts(sort=False).sort_index().idxmax())
    held = set(runs.loc[runs["block"] == block, "arm"])
    folder, looks = view.folder / EVENTS, looks_of(view)
    seen = {arm: events.of_run(folder, case, arm, block) for arm in view.arms if arm in held}
    xlim = 0.0, max([start.max() / 1e9 for start, _ in seen.values() if len(start)], default=1.0)
    ylim = _ends([US * length for _, length in seen.values()])
    made = [timeline(formatting.arm_title(view.plan, arm), start / 1e9, US * length,
                     looks[arm].colour, xlim, ylim, xlabel="seconds")
            for arm, (start, length) in seen.items()]  # fmt: skip
    said = [f"one run of each arm, all of one block ({block}), from its begin; n: events"]
    return _page(view, spec, case, made, said, "length (µs, log)")


def tails(view: View, spec: FigureSpec) -> Figure:
    """The share of events that are longer, of all runs of each arm without a limit.

    Behind them the reference's. Another case, as of FWQ, has one panel for all arms.
    """
    case, *others = view.shown(spec)
    held = _held(view, case)
    # Those under a limit stand in a figure of their own.
    alone = [arm for arm in held if arm in view.kinds[ALONE]] or held
    groups = {formatting.arm_title(view.plan, arm): [(case, arm)] for arm in alone}
    for other in others:
        title = f"{formatting.case_levels(view.plan, other)}, all arms"
        groups[title] = [(other, arm) for arm in _held(view, other)]
    return _tails(view, spec, groups, is_named=False)


def kinds(view: View, spec: FigureSpec) -> Figure:
    """The same, where arms of a kind share a panel, from the first, which is dark, to the last."""
    case = view.shown(spec)[0]
    held = _held(view, case)
    others = {*held} - {view.plan.reference}
    groups = {title or "without a limit": [(case, arm) for arm in arms if arm in others]
              for title, arms in view.kinds.items()}  # fmt: skip
    return _tails(view, spec, {title: of for title, of in groups.items() if of}, is_named=True)


def _held(view: View, case: str) -> list[str]:
    runs = view.of_events[EVENTS]
    held = set(runs.loc[runs["case"] == case, "arm"])
    return [arm for arm in view.arms if arm in held]


def _tails(view: View, spec: FigureSpec, groups: Mapping[str, Sequence[tuple[str, str]]],
           is_named: bool) -> Figure:  # fmt: skip
    """A panel for each group of cases and arms, perhaps with the arms' names right of it."""
    folder, native = view.folder / EVENTS, view.plan.reference
    first, looks = view.shown(spec)[0], looks_of(view)
    pairs = [pair for group in groups.values() for pair in group]
    wanted = dict.fromkeys([(first, native), *((case, native) for case, _ in pairs), *pairs])
    # Only the curves are kept: the events of all arms may be many.
    curves = {pair: curve(events.lengths(folder, *pair), US) for pair in wanted}
    lowest = min([found.y[-1] for found in curves.values() if found.n], default=0.1)
    common: dict[str, Any] = {"xlim": _ends([found.x for found in curves.values()]),
                              "ylim": (0.7 * lowest, 4.0), "xlabel": "length (µs)"}  # fmt: skip
    made = []
    for title, group in groups.items():
        names = short(view, [arm for _, arm in group])
        shown = {names[arm]: (curves[case, arm], looks[arm].colour) for case, arm in group}
        made.append(ecdf(title, shown, curves[group[0][0], native], is_named, **common))
    said = "all runs of an arm together; n: events     grey: "
    said += f"{formatting.arm_title(view.plan, native)}, n={curves[first, native].n:,}"
    left = "share of events as long or longer (log)"
    return _page(view, spec, first, made, [said], left, 2 if is_named else 0)


def _of_table(view: View, spec: FigureSpec, **names: str) -> tuple[str, pd.DataFrame]:
    """The first case of a figure, and its table's rows by arm, with columns of a forest."""
    case, table = view.shown(spec)[0], view.of_events[spec.table]
    table = table[(table["case"] == case) & table["arm"].isin(view.arms)]
    table = table.sort_values("arm", key=lambda arms: arms.map(view.arms.index), kind="stable")
    labels = [formatting.arm_title(view.plan, arm) for arm in table["arm"]]
    return case, table.assign(label=labels).rename(columns=names)


def quantiles(view: View, spec: FigureSpec) -> Figure:
    """Ratio of each quantile to the reference's: a panel for each, a row for each arm."""
    case, table = _of_table(view, spec, ratio="estimate", ratio_low="low95", ratio_high="high95")
    table["note"] = [f"{count:,}" for count in table["events"]]
    native, margin, looks = view.plan.reference, view.plan.case(case).margin, looks_of(view)
    known = table[["estimate", "low95", "high95"]].to_numpy(float)
    known = known[np.isfinite(known) & (known > 0)]
    ends = min([0.6, *(known / 1.2)]), max([1.6, *(1.2 * known)])
    unknown = np.where(np.isfinite(table["estimate"]), "", "too few")
    table["words"] = np.where(table["arm"] == native, "reference", unknown)
    shares = sorted(table["share"].unique())
    # How many there are stands right of the last panel alone.
    table.loc[table["share"] != shares[-1], "note"] = ""
    made = [
        Forest(f"{100 * share:g} %", table[table["share"] == share], looks, ends=ends,
               band=band_of(margin), label="ratio, log", head="n" if share == shares[-1] else "")
        for share in shares]  # fmt: skip
    said = FOOT["quantiles"].format(native=formatting.arm_title(view.plan, native))
    said += f"     band: margin {wording.margin(margin)}" if margin else ""
    return _page(view, spec, case, made, [said], across=len(made), around=0.5)


def quota(view: View, spec: FigureSpec) -> Figure:
    """Observed and predicted length of the events that a limit makes, and their difference."""
    names = {"observed": "estimate", "low": "low95", "high": "high95", "predicted": "mark"}
    case, left = _of_table(view, spec, **names)
    ends = ["estimate", "low95", "high95"]
    left[[*ends, "mark"]] *= 1e3
    right = left.drop(columns="mark")
    right[ends] = right[ends].sub(left["mark"], axis="index")
    right["words"] = np.where(np.isfinite(right["estimate"]), "", "no event of the limit")
    right["note"] = [f"{count:,}" for count in right["events"]]
    tick = 1e3 * float(left["tick"].fillna(0).max())
    reach = 1.15 * np.nanmax([tick or 1, *right[ends].abs().to_numpy(float).ravel()])
    looks = looks_of(view)
    made = [
        Forest("median length", left, looks, neutral=None, label="ms, log; black: period − quota"),
        Forest("observed − predicted", right, looks, scale="linear", neutral=0.0, head="n",
               band=(-tick, tick) if tick else (), ends=(-reach, reach),
               label="observed − predicted (ms)")]  # fmt: skip
    band = f"     band: ±1 tick ({tick:g} ms)" if tick else ""
    said = [f"n: events due to the limit     lines: 95 % intervals{band}"]
    return _page(view, spec, case, made, said, around=0.6)


def return_levels(view: View, spec: FigureSpec) -> Figure:
    """The length that is reached once in a period, by a fitted tail, beside the longest seen."""
    names = {"level": "estimate", "low": "low95", "high": "high95", "longest": "mark"}
    case, table = _of_table(view, spec, **names)
    table[[*names.values()]] *= 1e3
    known = table[[*names.values()]].to_numpy(float)
    known = known[known > 0] if (known > 0).any() else np.array([1.0])
    notes, looks = [], looks_of(view)
    for row in rows_of(table):
        numbers = (row.shape, row.shape_low, row.shape_high, row.fit)
        shape, low, high, fit = (wording.number(value, 2) for value in numbers)
        notes.append(f"{row.exceedances:,}   {shape} [{low}, {high}]   {fit}")
        if np.isfinite(row.estimate) and not row.fit >= POOR:
            looks[row.arm] = replace(looks[row.arm], colour=style.EDGE)
    period = float(table["period_seconds"].max()) / 60
    panel = Forest("", table.assign(note=notes), looks, neutral=None,
                   ends=(0.6 * known.min(), 1.5 * min(known.max(), 1e4 * np.median(known))),
                   label=f"reached once in {period:g} minutes (ms, log); black: longest observed",
                   head="n   shape [95 %]   fit p")  # fmt: skip
    said = [FOOT["levels"].format(poor=POOR)]
    return _page(view, spec, case, [panel], said, around=0.6)


def replay(view: View, spec: FigureSpec) -> Figure:
    """Time of a step over its work against ranks: a row for each kind of arms."""
    case, table = _of_table(view, spec, ranks="x", slowdown="y")
    table = table.sort_values("x", kind="stable")
    steps, held, looks = sorted(table["step_seconds"].unique()), set(table["arm"]), looks_of(view)
    bound = {"marker": "o", "linestyle": "none", "markersize": 2.6, "markerfacecolor": "white",
             "markeredgewidth": 0.6}  # fmt: skip
    dotted = {"color": "black", "linestyle": ":", "linewidth": 0.6, "zorder": 0}
    made: list[Panel] = []
    for title, of_kind in view.kinds.items():
        arms = [arm for arm in of_kind if arm in held]
        mine = table[table["arm"].isin(arms)]
        if not arms:
            continue
        most = float(np.nanmax(mine[["y", "high"]]))
        air = 0.06 * max(0.015, most - 1)
        ylim = (0.9, 1.3 * most) if most > 3 else (1 - air, 1 + max(0.015, most - 1) + air)
        curves = {a: {"color": looks[a].colour, "linewidth": 0.8 if looks[a].hollow else 1.2}
                  for a in arms}  # fmt: skip
        for step in steps:
            of_step = mine[mine["step_seconds"] == step]
            marks = [Mark([1, 2**20], [1.01, 1.01], dotted)]
            for arm in arms:
                of_arm, colour = of_step[of_step["arm"] == arm], {"color": looks[arm].colour}
                broken = {**colour, "linewidth": 0.8, "linestyle": (0, (2, 1.5))}
                for rows, look in ((of_arm["phases"] == TOGETHER, broken),
                                   (of_arm["beyond"].astype(bool), colour | bound)):  # fmt: skip
                    marks.append(Mark(of_arm.loc[rows, "x"], of_arm.loc[rows, "y"], look))
            made.append(Lines(
                wording.step_words(step) if len(made) < len(steps) else "",
                of_step[of_step["phases"] == RANDOM], curves, short(view, arms),
                min(0.2, 0.5 / len(arms)), "ranks", "time / work" + ", log" * (most > 3),
                xscale="log", yscale="log" if most > 3 else "linear", xlim=(0.6, 2**20 * 1.7),
                keyed="left", key=title, is_inner=True, rows=max(5.0, 0.65 * len(arms) + 0.6),
                ylim=ylim, neutral=1.0, marks=marks, ticks={1: "1", 1e3: "10³", 1e6: "10⁶"},
            ))  # fmt: skip
    runs = view.of_events[EVENTS]
    runs = runs[(runs["case"] == case) & runs["arm"].isin(held)]
    said = [FOOT["replay"].format(count=wording.span([*runs.groupby("arm").size()]))]
    return _page(view, spec, case, made, said, across=len(steps), around=0.2)
