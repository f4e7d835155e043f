"""Queries for values and comparisons: each arm's values, and what it costs over the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis import conclusions, outcomes
from parity.analysis.conclusions import ARM_OVERALL, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.benchmarks.description import FigureSpec, Quantity
from parity.core import wording
from parity.core.wording import span
from parity.plan.plan import Plan
from parity.report import formatting
from parity.report.figures import style
from parity.report.figures.page import PAGE, SYMBOLS, Page, Panel, blocks_that_count, foot_of
from parity.report.figures.rows import Forest, Values, limits
from parity.report.figures.specs import FEW, quantity
from parity.report.view import View

MOST = 5  # columns that fit beside each other
LONGEST = 44  # letters of a title that a wide panel has room for
AROUND, IN_ROW = 0.62, 0.66  # inches around a panel of a forest, and around one of values
Columns = Sequence[tuple[str, Quantity]]


def columns(view: View, spec: FigureSpec) -> list[tuple[str, Quantity]]:
    """Each case of a figure with each of its quantities."""
    return [(case, shown) for case in view.shown(spec) for shown in spec.quantities]


def symbol(row: Any) -> str:
    """The sign of an outcome, with the mark of a confounded one.

    An interval within the margin has a sign of its own where nothing is concluded: the control
    was not equivalent, say.
    """
    mark = style.CONFOUNDED if formatting.is_confounded(row) else ""
    edge = 1 + (row.margin if row.kind == "ratio" else np.nan)
    within = row.outcome == outcomes.INCONCLUSIVE and 1 / edge < row.low90 <= row.high90 < edge
    return f"{style.WITHIN if within else style.SYMBOLS[row.outcome]}{mark}"


def forest(
    view: View,
    case: str,
    shown: Quantity,
    arms: Sequence[str],
    title: str = "",
    compared: Mapping[str, Any] | None = None,
    against: str = "",
    numbers: bool = False,
    **look: Any,
) -> Forest:
    """The comparisons of a case and quantity.

    Args:
        compared: rows by arm, if not the arms with the reference; their blocks are not drawn.
        against: what they are compared with, in words, if not the reference.
        numbers: whether the estimates stand right of the panel.
        look: other attributes of the panel.
    """
    own = compared is None
    compared = view.comparisons(case, shown.metric) if compared is None else compared
    there = [row for arm in arms if (row := compared.get(arm)) and row.blocks]
    first = next(iter(there or compared.values()), None)
    ratio = first is not None and first.kind == "ratio"
    factor = 1.0 if ratio else shown.factor
    same = there[0].blocks if len({row.blocks for row in there}) == 1 else 0
    made = []
    for arm in arms:
        row, label = compared.get(arm), formatting.arm_title(view.plan, arm)
        known: dict[str, Any] = {"arm": arm, "label": label, "estimate": np.nan}
        if row is None or not row.blocks:
            is_reference = row is None and arm == view.plan.reference
            known["words"] = "reference" if is_reference else view.absence(case, arm)
        else:
            for name in ("estimate", *(("low95", "high95", "low90", "high90") * (row.blocks > 1))):
                known[name] = factor * getattr(row, name)
            note = ["" if same else f"{row.blocks}", formatting.estimate(row) * numbers]
            known |= {
                "symbol": symbol(row), "note": "   ".join(filter(None, note)),
                "hatched": formatting.is_confounded(row),
            }  # fmt: skip
        made.append(known)
    table = pd.DataFrame(made).reindex(
        columns=["arm", "label", "estimate", "low95", "high95", "low90", "high90", "words",
                 "symbol", "note", "hatched"]
    ).astype({"words": object, "symbol": object, "note": object})  # fmt: skip
    for name in ("words", "symbol", "note"):
        table[name] = table[name].where(table[name].notna(), "")
    table["hatched"] = table["hatched"] == True  # noqa: E712
    margin = first.margin if first is not None and ratio else math.nan
    reference = against or formatting.reference_title(view.plan)
    if ratio:
        label = f"cost relative to {reference}\n(ratio; band: margin {wording.margin(margin)})"
    else:
        native = formatting.arm_title(view.plan, view.plan.reference)
        label = f"{shown.label}: difference to\n{native} ({formatting.unit_of_difference(shown)})"
    head = f"n = {same}" if same else "n"
    kind = "ratio [95 % interval]" if ratio else "difference [95 %]"
    facts: dict[str, Any] = {
        "title": title, "table": table, "looks": style.arm_styles(view.plan), "label": label,
        "head": f"{head}   {kind}" if numbers else head, "scale": "log" if ratio else "linear",
        "neutral": 1.0 if ratio else 0.0,
        "band": (1 / (1 + margin), 1 + margin) if ratio and margin > 0 else (),
    }  # fmt: skip
    if own:
        facts["blocks"] = _blocks(view, case, shown, factor, ratio)
    return Forest(**{**facts, **look})


def _blocks(view: View, case: str, shown: Quantity, factor: float, ratio: bool) -> pd.DataFrame:
    """What each block says: a cost ratio, or a difference in the unit that people read."""
    pairs = view.analysis.pairs
    mine = pairs[(pairs["case"] == case) & (pairs["metric"] == shown.metric)]
    effects = mine["effect"].to_numpy(float)
    value = np.exp(effects) if ratio else factor * effects
    return pd.DataFrame({"arm": mine["arm"].to_numpy(), "value": value})


def values(view: View, case: str, spec: FigureSpec, shown: Quantity, arms: Sequence[str],
           title: str = "") -> Values:  # fmt: skip
    """The values of a case and quantity, as the figure's specification has them."""
    found = view.values(case, shown.metric)
    base = view.median(case, shown.metric, view.plan.reference)
    label, base_of, factor = f"{shown.label} ({shown.unit})", 0.0, shown.factor
    if spec.relative:
        native = formatting.arm_title(view.plan, view.plan.reference)
        what = "" if base is None else (
            f"median {native}, {wording.significant(shown.factor * base, 4)} {shown.unit}"
        )  # fmt: skip
        label = f"{shown.label}: deviation from\n{what or 'the reference'} (%)"
        found, base_of, factor = found if base else {}, base or 1.0, 100 / (base or 1.0)
    rows = [(arm, factor * (value - base_of)) for arm in arms for value in found.get(arm, ())]
    table = pd.DataFrame(rows, columns=["arm", "value"]).astype({"value": float})
    return Values(
        title, table, {arm: formatting.arm_title(view.plan, arm) for arm in arms},
        style.arm_styles(view.plan),
        {arm: view.absence(case, arm) for arm in arms if arm not in found}, label,
        spec.logarithmic, spec.from_zero, spec.relative, spec.densities,
    )  # fmt: skip


def _is_in_rows(view: View, spec: FigureSpec) -> bool:
    """Whether values and comparisons stand beside each other, a row for each column."""
    shown = columns(view, spec)
    both = len(spec.quantities) > 1 and len({case for case, _ in shown}) > 1
    height = len(shown) * (IN_ROW + style.ROW * len(view.arms_of(view.shown(spec))))
    return len(shown) == 1 or ((spec.in_rows or both) and height + 0.9 <= PAGE)


def has_ratios_alone(view: View, spec: FigureSpec) -> bool:
    """Whether a figure of panels has no room for values beside the comparisons."""
    return not _is_in_rows(view, spec) and (len(columns(view, spec)) > MOST or spec.in_rows)


def panels(view: View, spec: FigureSpec) -> Figure:
    """Values and comparisons of each case and quantity; comparisons alone where they are many."""
    shown, arms = columns(view, spec), view.arms_of(view.shown(spec))
    if has_ratios_alone(view, spec):
        return forests(view, shown, spec.title)
    in_rows = _is_in_rows(view, spec)
    others = [arm for arm in arms if arm != view.plan.reference]
    lefts, rights = [], []
    for case, each in shown:
        level = formatting.case_levels(view.plan, case)
        title = spec.levels.get(level, level)
        several = len(spec.quantities) > 1 and (not in_rows or not title)
        title = each.label if several else title
        lefts.append(values(view, case, spec, each, arms, title if len(shown) > 1 else ""))
        rights.append(forest(view, case, each, arms if in_rows else others,
                             "paired within blocks" if in_rows else ""))  # fmt: skip
    alike = [_alike(rights, shown, number, spec) for number in range(len(shown))]
    ordered: list[Panel | None] = [*lefts, *alike]
    if in_rows:
        ordered = [panel for pair in zip(lefts, alike, strict=True) for panel in pair]
    ratio = any(right.scale == "log" for right in rights)
    cases = [case for case, _ in shown]
    lines = [SYMBOLS if ratio else "", blocks_that_count(view, cases)]
    across = 2 if in_rows else len(shown)
    return Page(spec.title, ordered, across, foot_of(view, cases, *lines), around=IN_ROW).figure()


def _alike(found: Sequence[Forest], shown: Columns, number: int, spec: FigureSpec) -> Forest:
    """A panel on the axis that all ratios of its quantity share; a wide one of differences."""
    panel = found[number]
    if panel.scale == "log":
        return replace(panel, ends=limits(
            [other for other, (_, each) in zip(found, shown, strict=True)
             if each == shown[number][1] and other.scale == "log"]
        ))  # fmt: skip
    wide = spec.logarithmic and np.isfinite(panel.table["estimate"]).any()
    return replace(panel, scale="symlog") if wide else panel


def together(view: View, spec: FigureSpec) -> Figure:
    """The values of all cases on one axis, and what each arm adds to the reference in numbers."""
    cases, shown = view.shown(spec), spec.quantities[0]
    arms = view.arms_of(cases)
    every, notes = [], []
    for case in cases:
        title = formatting.case_levels(view.plan, case)
        every.append(values(view, case, spec, shown, arms))
        compared = view.comparisons(case, shown.metric)
        said = {arm: formatting.estimate(row) for arm, row in compared.items() if row.blocks}
        unit = next((formatting.unit_of(row) for row in compared.values()), "")
        counts = [row.blocks for row in compared.values() if row.blocks]
        over = (
            f"{title}: over {formatting.reference_title(view.plan)}{f' ({unit})' if unit else ''}"
        )
        count = f"n = {span(counts)}   [95 %]" if counts else ""
        notes.append((f"{over}\n{count}", said))
    tables = [
        panel.table.assign(case=formatting.case_levels(view.plan, case))
        for panel, case in zip(every, cases, strict=True)
    ]
    panel = replace(every[0], table=pd.concat(tables), notes=notes)
    lines = foot_of(view, cases, "dots: blocks", blocks_that_count(view, cases))
    return Page(spec.title, [panel], foot=lines, around=0.95).figure()


def crossed(view: View, spec: FigureSpec) -> Figure:
    """A factor of two levels crossed with the container, for the first pair of cases.

    The first row of panels holds what the factor does in each arm, by itself and averaged over
    both sides; the second how much more or less it does there than in the reference, and what
    the container does, averaged over the levels; the third that at each level.
    """
    table = view.crossed(spec)
    table = table[table["cases"] == table["cases"].iloc[0]]
    effects = {
        str(effect): {row.arm: row for row in of_effect.itertuples(index=False)}
        for effect, of_effect in table.groupby("effect", sort=True)
    }
    first = next(iter(effects[LEVEL].values()))
    cases, shown, factor = first.cases.split(), spec.quantities[0], first.factor
    arms, reference = view.arms_of(cases), formatting.reference_title(view.plan)
    others = [arm for arm in arms if arm != view.plan.reference]
    over = f"{first.high} over {first.low}"

    def panel(title: str, effect: str | None, case: str = cases[0], **look: Any) -> Forest:
        of_reference = effect in (LEVEL, LEVEL_OVERALL)
        rows = None if effect is None else effects[effect]
        of_rows = arms if of_reference else others
        return forest(view, case, shown, of_rows, title, rows, numbers=True, label="", **look)

    published: dict[str, Any] = {"published": spec.published}
    made = [
        panel(f"{factor}: {over}, in each arm", LEVEL, **published),
        panel(f"{factor}: {over}, both sides", LEVEL_OVERALL, **published),
        panel(f"interaction: {over}, over {reference}'s", INTERACTION),
        panel(f"arm over {reference}, both levels", ARM_OVERALL),
        panel(f"arm over {reference}, {factor} {first.low}", None),
        panel(f"arm over {reference}, {factor} {first.high}", None, cases[1]),
    ]
    band = f"band: margin {wording.margin(first.margin)}"
    key = f"cost ratios, above 1 costs more; {band}; dotted: {spec.source}; n: blocks"
    return Page(spec.title, made, 2, foot_of(view, cases, key, SYMBOLS), around=AROUND).figure()


def of_ladder(view: View, spec: FigureSpec) -> Figure:
    """A row of two panels for each case: left over the reference, right over the step before."""
    cases, shown = view.shown(spec), spec.quantities[0]
    ordered = conclusions.ladder_order(view.plan, view.arms_of(cases))
    arms = [arm for arm in ordered if arm != view.plan.reference]
    of_ladder = [arms.index(arm) for arm in conclusions.rungs(view.plan, arms)]
    look: dict[str, Any] = {"groups": sorted({min(of_ladder), max(of_ladder) + 1})}
    made: list[Panel] = []
    for case in cases:
        several = formatting.case_levels(view.plan, case) if len(cases) > 1 else ""
        added, before = view.steps(case, shown.metric), "the step before"
        made.append(forest(view, case, shown, arms, several, published=spec.published, **look))
        made.append(forest(view, case, shown, arms, "runtimes: over the last step", added, before,
                           **look))  # fmt: skip
    low, high = (wording.percent(ratio - 1) for ratio in spec.published)
    tint = f"tinted: {low} to {high}, {spec.source}"
    lines = foot_of(view, cases, f"{blocks_that_count(view, cases)}     {tint}", SYMBOLS)
    return Page(spec.title, made, 2, lines, around=IN_ROW).figure()


def overview(view: View) -> Figure | None:
    """A forest of all ratios, the A/A pair first; None for a study without any margin."""
    held = {pair: view.comparisons(*pair) for pair in view.planned()}
    own = view.plan.definitions
    shown = [
        (case, quantity(case, metric, next(iter(rows.values())).unit, own))
        for (case, metric), rows in held.items()
        if any(row.kind == "ratio" for row in rows.values())
    ]
    return forests(view, shown) if shown else None


def forests(view: View, shown: Columns, head: str = "") -> Figure:
    """The comparisons of these cases and quantities.

    Where the panels would not fit on a page they stand closer, and the estimates are left to the
    table of results.
    """
    held = {arm for case, each in shown for arm in view.comparisons(case, each.metric)}
    first = view.plan.double
    arms = sorted((arm for arm in view.arms if arm in held), key=lambda arm: arm != first)
    wide = -(-len(shown) // 2) * (AROUND + style.ROW * len(arms)) + 0.8 <= PAGE
    titles, shared = titles_of(view, shown, wide)
    made = [
        forest(view, case, each, arms, title, numbers=wide, label="")
        for (case, each), title in zip(shown, titles, strict=True)
    ]
    alike = [
        replace(panel, ends=limits([other for other, (_, each) in zip(made, shown, strict=True)
                                    if each == mine and other.scale == panel.scale]))
        for panel, (_, mine) in zip(made, shown, strict=True)
    ]  # fmt: skip
    reference = formatting.reference_title(view.plan)
    all_have = f"{shared}; " if shared else ""
    key = f"{all_have}cost ratio to {reference}, above 1 costs more; band: margin; n: blocks"
    foot = foot_of(view, [case for case, _ in shown], key, SYMBOLS)
    return Page(head, alike, 2 if wide else 4, foot, around=AROUND).figure()


def titles_of(view: View, shown: Columns, wide: bool) -> tuple[list[str], str]:
    """The titles of panels, and what they all share and leave out, as one would be too long."""
    plan = view.plan
    parts = []
    for case, each in shown:
        first = next(iter(view.comparisons(case, each.metric).values()))
        unit = formatting.unit_of_difference(each)
        margin = wording.margin(first.margin) if first.kind == "ratio" else f"difference in {unit}"
        several = sum(other == case for other, _ in view.planned()) > 1
        margin = f"margin {margin}" if wide and first.kind == "ratio" else margin
        parts.append([*title_parts(plan, case, each.label if several else ""), margin])
    titles = [", ".join(filter(None, part)) for part in parts]
    if len(shown) == 1 or max(map(len, titles)) <= (LONGEST if wide else 0):
        return titles, ""
    common = [part for part in parts[0] if part and all(part in others for others in parts)]
    left = [", ".join(p for p in part if p and p not in common) for part in parts]
    return left, ", ".join(common)


def title_parts(plan: Plan, case: str, label: str) -> list[str]:
    """Benchmark, levels and quantity of a case, as a title has them."""
    benchmark = formatting.benchmark_title(plan, plan.case(case).benchmark)
    return [benchmark, *formatting.case_levels(plan, case).split(", "), label]


def has_violins(view: View, spec: FigureSpec) -> bool:
    """Whether a figure shows densities: each arm has enough values for one, that differ."""
    found = [
        values
        for case, each in columns(view, spec)
        for values in view.values(case, each.metric).values()
    ]
    return spec.densities and bool(found) and all(
        len(each) > FEW and np.ptp(each) > 0 for each in found
    )  # fmt: skip
