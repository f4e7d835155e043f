"""Queries for curves: along a parameter, over nodes, over sizes of messages, against timeouts."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE
from parity.analysis.descriptive import TIME, TIMEOUTS
from parity.benchmarks.description import FigureSpec, Quantity
from parity.core import wording
from parity.core.wording import counted, span
from parity.report import formatting
from parity.report.figures import page as pages
from parity.report.figures import style
from parity.report.figures.compare import symbol
from parity.report.figures.planes import Lines, Mark
from parity.report.view import CONTAINERS, Series, View

DODGE = 0.6  # of the distance between two levels, over which arms stand beside each other
OF_OTHERS = ("x", "+", "1", "2")  # marks of published bars
WORDS = {CONTAINERS: "containers on each node"}
SIZES = {1.0: "1 B", 2.0**10: "1 KiB", 2.0**20: "1 MiB", 2.0**30: "1 GiB"}
MOST = 12  # panels of timeouts; what is beyond stands in the table alone
DOTTED: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 0.9}
ACROSS = {3: 15, 4: 28, 5: 10**6}  # how many stand beside each other, up to so many of them


def page_of(
    view: View, spec: FigureSpec, made: Sequence[pages.Panel], left: str, *said: str
) -> Figure:
    """A page of equal panels."""
    across = min(len(made), next(few for few, most in ACROSS.items() if len(made) <= most))
    foot = pages.foot_of(view, view.shown(spec), *said)
    return pages.page(spec.title, made, across, foot, left, around=0.45)


def _counted(view: View, spec: FigureSpec, blocks: Sequence[int], marks: str,
             margin: float | None) -> str:  # fmt: skip
    said = [f"n = {span(blocks or [0])} blocks of {pages.planned(view, view.shown(spec))}", marks]
    return "     ".join([*said, *([f"band: margin {wording.margin(margin)}"] if margin else [])])


def _margin(view: View, spec: FigureSpec) -> float | None:
    """The margin of a figure's cases, which are of one benchmark."""
    return view.plan.case(view.shown(spec)[0]).margin


def _titled(view: View, looks: Mapping[str, Any]) -> dict[str, str]:
    return {arm: formatting.arm_title(view.plan, arm) for arm in looks}


def along(view: View, spec: FigureSpec) -> Figure:
    """Cost ratios or scatter along a parameter: a panel for each series of cases.

    As Figures 1 to 3 of Ruiz et al. (VHPC 2015), and 6, 7 and 12 of Beserra et al. (CISIS 2015).
    """
    shown = view.series(spec)
    found = [view.curves(spec, series) for series in shown]
    every = pd.concat(found)
    drawn = {*every["arm"]}
    looks = {a: look.curve() for a, look in pages.looks_of(view).items() if a in drawn}
    dodge = {arm: DODGE * ((at + 0.5) / len(looks) - 0.5) for at, arm in enumerate(looks)}
    margin, made = None if spec.scatter else _margin(view, spec), []
    for series, points in zip(shown, found, strict=True):
        theirs = view.published_ratios(spec, series)
        levels = sorted({*series.cases, *(level for bars in theirs.values() for level in bars)})
        place = {level: number for number, level in enumerate(levels)}
        x = points["level"].map(place) + points["arm"].map(dodge)
        table = points.rename(columns={"value": "y"}).assign(x=x)
        marks = [
            Mark([place[level] for level in bars], [*bars.values()],
                 {**DOTTED, "linewidth": 0.7, "marker": mark, "markersize": 5, "zorder": 4}, label)
            for mark, (label, bars) in zip(itertools.cycle(OF_OTHERS), theirs.items(), strict=False)
        ]  # fmt: skip
        scale: dict[str, Any] = {"yscale": "log", "neutral": 1.0, "band": pages.band_of(margin)}
        if spec.scatter:
            highest = np.nan_to_num(table[["y", "high"]]).max(initial=1.0)
            scale = {"ylim": (0, 1.05 * highest)}
        made.append(Lines(
            series.title, table, looks, _titled(view, looks), marks=marks, **scale,
            xlabel=WORDS.get(spec.along, spec.along.replace("_", " ")),
            xlim=(-0.6, len(levels) - 0.4), ticks=dict(enumerate(map(str, levels)))))  # fmt: skip
    what = f"cost over {formatting.reference_title(view.plan)} (ratio, log)"
    what = "coefficient of variation (%)" if spec.scatter else what
    said = _counted(view, spec, [*every["blocks"]], "lines: 95 % intervals", margin)
    return page_of(view, spec, made, what, said)


def sizes(view: View, spec: FigureSpec) -> Figure:
    """Messages of rising size: their rate, or their time over the reference's, for each case.

    As Figures 8 to 11 of Beserra et al. (CISIS 2015).
    """
    times, reference = view.message_times, view.plan.reference
    there = set(times["arm"]) - ({reference} if spec.relative else set())
    looks = {arm: look.curve(0.55) | {"markevery": 6}
             for arm, look in pages.looks_of(view).items() if arm in there}  # fmt: skip
    margin, made, blocks = _margin(view, spec) if spec.relative else None, [], []
    for case in view.shown(spec):
        mine = times[times["case"] == case]
        blocks += mine.groupby("arm")["block"].nunique().to_list()
        wide = mine.pivot(index=["block", "size"], columns="arm", values="seconds")
        if not spec.relative:
            wide = 1 / wide.div(8e-9 * wide.index.get_level_values("size").to_numpy(), axis="index")
        else:
            wide = wide.div(wide[reference], axis="index") if reference in wide else wide.iloc[:0]
        long = wide.melt(ignore_index=False, var_name="arm", value_name="y").dropna()
        of_arm = long[long["arm"].isin(looks)].groupby(["arm", "size"])["y"]
        table = of_arm.agg(y="median", low="min", high="max").reset_index()
        table = table.rename(columns={"size": "x"})
        made.append(Lines(
            formatting.case_levels(view.plan, case), table, looks, _titled(view, looks), shade=0.15,
            xlabel="size of a message", xscale="log", yscale="log", band=pages.band_of(margin),
            ticks={size: word for size, word in SIZES.items() if size <= table["x"].max()},
            neutral=1.0 if spec.relative else None))  # fmt: skip
    native = formatting.arm_title(view.plan, reference)
    what = f"time over {native} (ratio, log)" if spec.relative else "rate (Gbit/s, log)"
    said = _counted(view, spec, blocks, "shade: smallest to largest", margin)
    return page_of(view, spec, made, what, said)


def timeouts(view: View, spec: FigureSpec) -> Figure:
    """The time that each run lost against its timeouts of TCP, where a line of them is known."""
    every, made, looks = view.shown(spec), [], pages.looks_of(view)
    rows = view.waits(every[:MOST])
    dots = {arm: look.mark(0.6) for arm, look in looks.items()}
    for case in every[:MOST]:
        of_case = [row for row in rows if row.case == case]
        base = view.median(case, TIME, view.plan.reference) or 0.0
        wide = view.parts(case, TIME, TIMEOUTS).reset_index()
        table = wide.assign(x=wide[TIMEOUTS], y=wide[TIME] - base)
        table = table[table["arm"].isin([row.arm for row in of_case])]
        marks, texts = [], []
        for place, row in enumerate(of_case):
            colour, mine = looks[row.arm].colour, table.loc[table["arm"] == row.arm, "x"]
            ends = np.array([mine.min(), mine.max()])
            fitted = row.intercept - base + row.slope * ends
            marks.append(Mark(ends, fitted, {"color": colour, "linewidth": 1}))
            text = f"n = {row.runs}: {formatting.slope(row)}"
            texts.append((0.03, 0.97 - 0.11 * place, text, colour))
        if np.isfinite(wait := of_case[0].rto_min_ms):
            ends = np.array([0, table["x"].max()])
            marks.append(Mark(ends, wait / 1000 * ends, DOTTED, "rto_min for each"))
        heights = np.concatenate([table["y"], *(mark.y for mark in marks)])
        low, air = heights.min(), np.ptp(heights) or 1.0
        made.append(Lines(
            formatting.case_levels(view.plan, case), table, dots, _titled(view, dots), marks=marks,
            ylim=(low - 0.06 * air, heights.max() + (0.06 + 0.16 * len(of_case)) * air),
            xlabel="timeouts of TCP in a run", texts=texts))  # fmt: skip
    said = [
        "n: runs, of one block each     full: an arm's line; s for each timeout [95 % interval]"
    ]
    if any(np.isfinite(row.rto_min_ms) for row in rows):
        said.append("dotted: each timeout takes the least waiting time of its case, rto_min")
    if len(every) > MOST:
        said.append(f"the first {MOST} of {len(every)} cases; the table has all of them")
    native = formatting.arm_title(view.plan, view.plan.reference)
    return page_of(view, spec, made, f"time over the median of {native} (s)", *said)


def over_nodes(view: View, spec: FigureSpec) -> Figure:
    """Performance against the number of nodes: each arm alone, and above the medians of all.

    As Figures 3 and 4 of Torrez, Randles and Priedhorsky (CANOPIE-HPC 2019), but with a panel for
    each arm, since shades from minimum to maximum of many arms hide each other.
    """
    shown, placed = spec.quantities[0], series(view, spec)
    arms = [arm for arm in view.arms if arm != view.plan.reference]
    looks = {arm: look.curve(0.85) for arm, look in pages.looks_of(view).items()}
    curves = {arm: [curve(view, of, shown, arm) for of in placed] for arm in arms}
    every = pd.concat(itertools.chain(*curves.values()))
    cases = [case for of in placed for case in of.cases.values()]
    compared = [row for case in cases for row in view.comparisons(case, shown.metric).values()]
    margin = next((float(row.margin) for row in compared if row.kind == "ratio"), None)
    band = tuple(100 * edge for edge in pages.band_of(margin))
    pair = [[curve(view, of, shown, arm) for of in placed] for arm in view.plan.aa_pair]
    noise = [pd.concat(both).groupby("x")[["low", "high"]].agg({"low": "min", "high": "max"})
             for both in zip(*pair, strict=True)]  # fmt: skip
    # At least from 90 to 110 %: less would blow noise up.
    known = np.concatenate([[90, 110, *band], *(t[["low", "high"]].to_numpy().ravel()
                                            for t in (every, *noise))])  # fmt: skip
    low, high = np.nanmin(known), np.nanmax(known)
    air = 0.06 * (high - low) or 1.0
    common: dict[str, Any] = {"xscale": "log", "band": band, "neutral": 100.0,
                              "ylim": (low - air, high + air)}  # fmt: skip
    # Of fewer blocks no difference can be shown, so medians would look like one.
    has_medians = every["n"].max() >= FEWEST_FOR_A_DIFFERENCE
    xlims = [(min(of.cases) / 1.6, max(of.cases) * 1.6) for of in placed]
    made: list[pages.Panel] = [
        Lines(of.title, pd.concat([own[number][["arm", "x", "y"]] for own in curves.values()]),
              looks, _titled(view, curves), ticks=dict.fromkeys(map(float, of.cases), ""),
              xlim=xlims[number], ylabel="medians", rows=7, **common)
        for number, of in enumerate(placed) if has_medians]  # fmt: skip
    for arm, number in itertools.product(arms, range(len(placed))):
        table = curves[arm][number]
        counts = [f"n={n}  " if table["n"].nunique() > 1 else "" for n in table["n"]]
        notes = zip(table["x"], counts, table["note"], strict=True)
        absent = "; ".join(sorted({*table["words"]} - {""}))[:60]
        made.append(Lines(
            "" if has_medians or arm != arms[0] else placed[number].title, table,
            {arm: looks[arm]}, {}, 0.3, "nodes" if arm == arms[-1] else "", rows=3.4,
            marks=[Mark(noise[number].index, noise[number][end], {**DOTTED, "marker": "_"})
                   for end in ("low", "high")],
            ylabel=formatting.arm_title(view.plan, arm).replace(" (", "\n("), xlim=xlims[number],
            ticks={float(nodes): f"{nodes}\n{count}{note}" for nodes, count, note in notes},
            texts=[(0.5, 0.5, absent, style.GREY)] if absent else [], **common))  # fmt: skip
    native, double = (formatting.arm_title(view.plan, arm) for arm in view.plan.aa_pair)
    grey = f"grey: margin {wording.margin(margin)}     " if margin else ""
    facts = {"label": shown.label, "native": native, "double": double, "grey": grey}
    facts |= {"blocks": pages.blocks_that_count(view, cases), "signs": pages.FOOT["signs"]}
    said = pages.FOOT["nodes"].format(counts=span({*every["n"]} - {0} or {0}), **facts)
    foot = pages.foot_of(view, cases, said)
    return pages.page(spec.title, made, len(placed), foot, around=0.42)


def series(view: View, spec: FigureSpec) -> list[Series]:
    """The figure's cases by ranks per node and the levels of their factors."""
    alike: dict[tuple[int, int, tuple[str, ...]], dict[int, str]] = {}
    for case in view.shown(spec):
        parameters = view.plan.case(case).parameters
        nodes, ranks = parameters["nodes"], parameters["ranks"]
        levels = tuple(case.removeprefix(f"{spec.benchmark}-").split("-")[1:])
        containers = parameters.get("containers_per_node", 0)
        alike.setdefault((ranks // nodes, containers, levels), {})[nodes] = case
    made = []
    for (ranks, containers, levels), cases in sorted(alike.items()):
        placed = [f"{counted(ranks, 'rank')} per node"]
        placed += [f"{counted(containers, 'container')} per node"] if containers else []
        title = ", ".join([*placed, *formatting.spelt_levels(spec.benchmark, levels)])
        made.append(Series(title, dict(sorted(cases.items()))))
    return made


def curve(view: View, cases: Series, quantity: Quantity, arm: str) -> pd.DataFrame:
    """Performance in % of the reference's median, a row for each number of nodes.

    Returns `x` (nodes), median `y`, smallest `low` and largest `high`, `n` blocks, `note` (cost
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
        is_lower = any(row.better == "lower" for row in compared.values())
        relative = 100 * (base / values if is_lower else values / base)
        note = ""
        if arm in compared:
            ratio, _, interval = formatting.estimate(compared[arm]).partition(" ")
            note = f"{ratio} {symbol(compared[arm])}\n{interval}"
        ends = (float(np.median(relative)), relative.min(), relative.max())
        rows.append((arm, nodes, *ends, len(values), note, ""))
    return pd.DataFrame(rows, columns=["arm", "x", "y", "low", "high", "n", "note", "words"])
