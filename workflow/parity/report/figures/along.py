"""Queries for curves: along a parameter, over nodes, over sizes of messages, against timeouts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis.descriptive import TIME, TIMEOUTS
from parity.benchmarks.description import FigureSpec, Quantity
from parity.core import wording
from parity.core.wording import counted, span
from parity.report import formatting
from parity.report.figures import style
from parity.report.figures.compare import symbol
from parity.report.figures.page import SYMBOLS, Page, Panel, blocks_that_count, foot_of
from parity.report.figures.planes import Lines, Mark, look_of
from parity.report.figures.specs import spelt
from parity.report.series import CONTAINERS, Series, curves, margin_of, published
from parity.report.view import View, rows_of

DODGE = 0.6  # of the distance between two levels, over which arms stand beside each other
OF_OTHERS = ("x", "+", "1", "2")  # marks of published bars
WORDS = {CONTAINERS: "containers on each node"}
SIZES = {1.0: "1 B", 2.0**10: "1 KiB", 2.0**20: "1 MiB", 2.0**30: "1 GiB"}
MOST = 12  # panels of timeouts; what is beyond stands in the table alone
DOTTED: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 0.9}
ACROSS = {3: 15, 4: 28, 5: 10**6}  # how many stand beside each other, up to so many of them


def page_of(view: View, spec: FigureSpec, made: Sequence[Panel], left: str, *said: str) -> Figure:
    """A page of equal panels."""
    across = min(len(made), next(few for few, most in ACROSS.items() if len(made) <= most))
    foot = foot_of(view, view.shown(spec), *said)
    return Page(spec.title, made, across, foot, left, around=0.45).figure()


def _titled(view: View, looks: Mapping[str, Any]) -> dict[str, str]:
    return {arm: formatting.arm_title(view.plan, arm) for arm in looks}


def _band(margin: float | None) -> tuple[float, ...]:
    return (1 / (1 + margin), 1 + margin) if margin else ()


def along(view: View, spec: FigureSpec) -> Figure:
    """Cost ratios or scatter along a parameter: a panel for each series of cases.

    The shape of Figures 1 to 3 of Ruiz et al. (VHPC 2015) and 6, 7 and 12 of Beserra et al.
    (CISIS 2015), as ratios.
    """
    shown = view.series(spec)
    found = [curves(view, spec, each) for each in shown]
    drawn = {arm for of_arms in found for arm, points in of_arms.items() if points}
    looks = {a: look_of(s) for a, s in style.arm_styles(view.plan).items() if a in drawn}
    margin, made = None if spec.scatter else margin_of(view, spec), []
    what = "coefficient of variation (%)" if spec.scatter else (
        f"cost over {formatting.reference_title(view.plan)} (ratio)"
    )  # fmt: skip
    for each, of_arms in zip(shown, found, strict=True):
        theirs = published(view, spec, each)
        levels = sorted({*each.cases, *(level for of in theirs.values() for level in of)})
        place = {level: number for number, level in enumerate(levels)}
        points = [
            (arm, place[point.level] + DODGE * ((number + 0.5) / len(looks) - 0.5), point.value,
             point.low, point.high)
            for number, arm in enumerate(looks) for point in of_arms.get(arm, ())
        ]  # fmt: skip
        marks = [
            Mark([place[level] for level in of], [*of.values()],
                 {**DOTTED, "linewidth": 0.7, "marker": mark, "markersize": 5, "zorder": 4}, label)
            for mark, (label, of) in zip(itertools.cycle(OF_OTHERS), theirs.items(), strict=False)
        ]  # fmt: skip
        table = pd.DataFrame(points, columns=["arm", "x", "y", "low", "high"])
        made.append(Lines(
            each.title, table, looks, _titled(view, looks), marks=marks,
            xlabel=WORDS.get(spec.along, spec.along.replace("_", " ")),
            xlim=(-0.6, len(levels) - 0.4), ticks={place[level]: str(level) for level in levels},
            band=_band(margin), neutral=None if spec.scatter else 1.0,
            yscale="linear" if spec.scatter else "log",
            ylim=(0, 1.05 * np.nan_to_num([*table["y"], *table["high"]]).max(initial=1.0))
            if spec.scatter else None,
        ))  # fmt: skip
    blocks = [p.blocks for of_arms in found for points in of_arms.values() for p in points]
    planned = span([view.blocks_of[case] for case in view.shown(spec)])
    said = [f"n = {span(blocks or [0])} blocks of {planned} planned", "lines: 95 % intervals"]
    said += [f"band: margin {wording.margin(margin)}"] if margin else []
    return page_of(view, spec, made, what, "     ".join(said))


def sizes(view: View, spec: FigureSpec) -> Figure:
    """Messages of rising size: their rate, or their time over the reference's, for each case.

    The shape is that of Figures 8 to 11 of Beserra et al. (CISIS 2015).
    """
    cases, times, reference = view.shown(spec), view.message_times, view.plan.reference
    shown = times[times["case"].isin(cases)]
    looks = {
        arm: look_of(look, 0.55) | {"markevery": 6}
        for arm, look in style.arm_styles(view.plan).items()
        if arm in set(times["arm"]) and not (spec.relative and arm == reference)
    }
    margin, made = margin_of(view, spec) if spec.relative else None, []
    for case in cases:
        wide = shown[shown["case"] == case].pivot(
            index=["block", "size"], columns="arm", values="seconds"
        )
        if not spec.relative:
            wide = 1 / wide.div(8e-9 * wide.index.get_level_values("size").to_numpy(), axis="index")
        else:
            wide = wide.div(wide[reference], axis="index") if reference in wide else wide.iloc[:0]
        long = wide.melt(ignore_index=False, var_name="arm", value_name="y").dropna().reset_index()
        of_arm = long[long["arm"].isin(looks)].groupby(["arm", "size"])["y"]
        table = of_arm.agg(y="median", low="min", high="max").reset_index()
        made.append(Lines(
            formatting.case_levels(view.plan, case), table.rename(columns={"size": "x"}), looks,
            _titled(view, looks), shade=0.15, xlabel="size of a message", xscale="log",
            yscale="log", ticks={s: w for s, w in SIZES.items() if s <= table["size"].max()},
            band=_band(margin), neutral=1.0 if spec.relative else None,
        ))  # fmt: skip
    blocks = [of["block"].nunique() for _, of in shown.groupby(["case", "arm"])]
    planned = span([view.blocks_of[case] for case in cases])
    said = [f"n = {span(blocks)} blocks of {planned} planned", "shade: smallest to largest"]
    said += [f"band: margin {wording.margin(margin)}"] if margin else []
    native = formatting.arm_title(view.plan, reference)
    what = f"time over {native} (ratio)" if spec.relative else "rate (Gbit/s)"
    return page_of(view, spec, made, what, "     ".join(said))


def timeouts(view: View, spec: FigureSpec) -> Figure:
    """The time that each run lost against its timeouts of TCP, for each case that had any."""
    every, rows = view.shown(spec), view.waits(view.shown(spec)[:MOST])
    looks, values, made = style.arm_styles(view.plan), view.analysis.values, []
    dots = {arm: look_of(look, 0.6, "none") for arm, look in looks.items()}
    for case in every[:MOST]:
        of_case = [row for row in rows if row.case == case]
        base = view.median(case, TIME, view.plan.reference) or 0.0
        found, marks, texts, most = [], [], [], 0.0
        for number, row in enumerate(of_case):
            mine = values[(values["case"] == case) & (values["arm"] == row.arm)]
            mine = mine[mine["metric"].isin((TIME, TIMEOUTS))]
            wide = mine.pivot(index="block", columns="metric", values="value").dropna()
            found.append(
                pd.DataFrame({"arm": row.arm, "x": wide[TIMEOUTS], "y": wide[TIME] - base})
            )
            ends = np.array([wide[TIMEOUTS].min(), wide[TIMEOUTS].max()])
            most = max(most, float(ends[1]))
            colour = looks[row.arm].colour
            if np.isfinite(row.slope):
                fitted = row.intercept - base + row.slope * ends
                marks.append(Mark(ends, fitted, {"color": colour, "linewidth": 1}))
            text = f"n = {row.runs}: {formatting.slope(row)}"
            texts.append((0.03, 0.97 - 0.11 * number, text, colour))
        if np.isfinite(wait := of_case[0].rto_min_ms):
            marks.append(Mark([0, most], [0, wait / 1000 * most], DOTTED, "rto_min for each"))
        table = pd.concat(found)
        high = max([*table["y"], *(y for mark in marks for y in mark.y)])
        low = min([*table["y"], *(y for mark in marks for y in mark.y)])
        air = (high - low) or 1.0
        made.append(Lines(
            formatting.case_levels(view.plan, case), table, dots, _titled(view, dots),
            xlabel="timeouts of TCP in a run", marks=marks, texts=texts,
            ylim=(low - 0.06 * air, high + (0.06 + 0.16 * len(of_case)) * air),
        ))  # fmt: skip
    said = [
        "n: runs, of one block each     full: line of an arm; s for each timeout [95 % interval]",
        "dotted: each timeout takes the least waiting time of its case, rto_min",
    ]
    if len(every) > MOST:
        said.append(f"the first {MOST} of {len(every)} cases; the table has all of them")
    native = formatting.arm_title(view.plan, view.plan.reference)
    return page_of(view, spec, made, f"time over the median of {native} (s)", *said)


def over_nodes(view: View, spec: FigureSpec) -> Figure:
    """Performance against the number of nodes: the medians of all arms, and below each arm alone.

    The shape is that of Figures 3 and 4 of Torrez, Randles and Priedhorsky (CANOPIE-HPC 2019): a
    line for the median, a shade from minimum to maximum. Shades of many arms hide each other, so
    every arm has a panel of its own, all on the same axes.
    """
    shown, found = spec.quantities[0], series(view, spec)
    arms = [arm for arm in view.arms if arm != view.plan.reference]
    looks = {arm: look_of(look, 0.85) for arm, look in style.arm_styles(view.plan).items()}
    curves = {arm: [curve(view, each, shown, arm) for each in found] for arm in arms}
    every = pd.concat([each for of_arm in curves.values() for each in of_arm])
    margin = next((float(row.margin) for each in found for case in each.cases.values()
                   for row in view.comparisons(case, shown.metric).values()
                   if row.kind == "ratio"), None)  # fmt: skip
    band = tuple(100 * edge for edge in _band(margin))
    pair = [[curve(view, each, shown, arm) for each in found] for arm in view.plan.aa_pair]
    noise = [pd.concat(both).groupby("x")[["low", "high"]].agg({"low": "min", "high": "max"})
             for both in zip(*pair, strict=True)]  # fmt: skip
    known = [v for t in (every, *noise) for v in (*t["low"], *t["high"]) if np.isfinite(v)]
    low, high = min([100, *band, *known]), max([100, *band, *known])
    air = 0.06 * (high - low) or 1.0
    common: dict[str, Any] = {
        "xscale": "log",
        "ylim": (low - air, high + air),
        "band": band,
        "neutral": 100.0,
    }
    made: list[Panel] = []
    for number, each in enumerate(found):
        ends = (min(each.cases) / 1.6, max(each.cases) * 1.6)
        made.append(Lines(
            each.title, pd.concat([of[number][["arm", "x", "y"]] for of in curves.values()]),
            looks, _titled(view, curves), ticks=dict.fromkeys(map(float, each.cases), ""),
            xlim=ends, ylabel="medians", rows=7, **common,
        ))  # fmt: skip
    for arm, number in itertools.product(arms, range(len(found))):
        each, table = found[number], curves[arm][number]
        several = table["n"].nunique() > 1
        ticks = {
            float(row.x): f"{row.x}\n" + (f"n={row.n}  " if several else "") + row.note
            for row in rows_of(table)
        }
        absent = sorted({*table["words"]} - {""})
        texts = [(0.5, 0.5, "; ".join(absent)[:60], style.GREY)] if absent else []
        marks = [Mark(noise[number].index, noise[number][end], {**DOTTED, "marker": "_"})
                 for end in ("low", "high")]  # fmt: skip
        last = arm == arms[-1]
        made.append(Lines(
            "", table, {arm: looks[arm]}, {}, 0.3, "nodes" if last else "", rows=3.4, marks=marks,
            ylabel=formatting.arm_title(view.plan, arm).replace(" (", "\n("), ticks=ticks,
            texts=texts, xlim=(min(each.cases) / 1.6, max(each.cases) * 1.6), **common,
        ))  # fmt: skip
    native = formatting.arm_title(view.plan, view.plan.reference)
    what = f"{shown.label} in % of the median of {native} at the same case; above 100 is faster"
    both = " and ".join(formatting.arm_title(view.plan, arm) for arm in view.plan.aa_pair)
    cases = [case for each in found for case in each.cases.values()]
    grey = f"grey: margin {wording.margin(margin)}     " if margin else ""
    marks_said = (
        f"shade: smallest to largest block     {grey}dotted: smallest and largest of {both}"
    )
    count = f"{blocks_that_count(view, cases)}: {span({*every['n']} - {0} or {0})}"
    said = f"{count}     below each point: cost ratio and its 95 % interval"
    foot = foot_of(view, cases, what, SYMBOLS, said, marks_said)
    return Page(spec.title, made, len(found), foot, around=0.42).figure()


def series(view: View, spec: FigureSpec) -> list[Series]:
    """The figure's cases by ranks per node and the levels of their factors."""
    alike: dict[tuple[int, int, tuple[str, ...]], dict[int, str]] = {}
    for case in view.shown(spec):
        parameters = view.plan.case(case).parameters
        nodes, ranks = parameters["nodes"], parameters["ranks"]
        levels = tuple(case.removeprefix(f"{spec.benchmark}-").split("-")[1:])
        containers = parameters.get("containers_per_node", 0)
        alike.setdefault((ranks // nodes, containers, levels), {})[nodes] = case
    return [
        Series(
            ", ".join([
                f"{counted(each, 'rank')} per node",
                *([f"{counted(containers, 'container')} per node"] if containers else []),
                *(spelt(spec.benchmark, level) for level in levels),
            ]),
            dict(sorted(cases.items())),
        )
        for (each, containers, levels), cases in sorted(alike.items())
    ]  # fmt: skip


def curve(view: View, cases: Series, quantity: Quantity, arm: str) -> pd.DataFrame:
    """One row for each number of nodes, of performance in % of the reference's median.

    Returns:
        `x` (nodes), median `y` with smallest and largest (`low`, `high`), `n` blocks, `note` (cost
        ratio with sign and interval), and in `words` why there is no value.
    """
    rows = []
    for nodes, case in cases.cases.items():
        values = np.asarray(view.values(case, quantity.metric).get(arm, []), float)
        base = view.median(case, quantity.metric, view.plan.reference)
        if not len(values) or base is None:
            words = view.absence(case, arm if base is not None else view.plan.reference)
            rows.append((arm, nodes, np.nan, np.nan, np.nan, 0, "", words))
            continue
        compared = view.comparisons(case, quantity.metric)
        lower = any(row.better == "lower" for row in compared.values())
        relative = 100 * (base / values if lower else values / base)
        note = ""
        if arm in compared:
            ratio, _, interval = formatting.estimate(compared[arm]).partition(" ")
            note = f"{ratio} {symbol(compared[arm])}\n{interval}"
        ends = (float(np.median(relative)), relative.min(), relative.max())
        rows.append((arm, nodes, *ends, len(values), note, ""))
    return pd.DataFrame(rows, columns=["arm", "x", "y", "low", "high", "n", "note", "words"])
