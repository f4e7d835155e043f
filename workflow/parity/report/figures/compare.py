"""Queries for values and comparisons: each arm's values, and what it costs over the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parity.analysis import conclusions
from parity.analysis.conclusions import ARM_OVERALL, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.benchmarks.description import FigureSpec, Quantity
from parity.core import wording
from parity.plan.plan import Plan
from parity.report import answer, formatting
from parity.report.figures import page as pages
from parity.report.figures import style
from parity.report.figures.rows import NUMBERS, WORDS, Forest, Values, limits
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
    """The sign of an answer, of what is the same as well, with the mark of what is confounded."""
    signs = style.SYMBOLS | (style.SAME if formatting.is_same(row) else {})
    return signs[row.answer] + style.CONFOUNDED * formatting.is_confounded(row)


def forest(view: View, case: str, shown: Quantity, arms: Sequence[str], title: str = "",
           compared: Mapping[str, Any] | None = None, against: str = "", numbers: bool = False,
           **look: Any) -> Forest:  # fmt: skip
    """The comparisons of a case and quantity, or these rows by arm, whose blocks are not drawn.

    `against`: what they are compared with, in words, if not the reference; `numbers`: whether the
    estimates stand right of the panel; `look`: other attributes of the panel.
    """
    plan = view.plan
    known_rows = view.comparisons(case, shown.metric) if compared is None else compared
    there = [row for arm in arms if (row := known_rows.get(arm)) and row.blocks]
    first = next(iter(there or known_rows.values()), None)
    is_ratio = first is not None and first.kind == "ratio"
    factor = 1.0 if is_ratio else shown.factor
    same = there[0].blocks if len({row.blocks for row in there}) == 1 else 0
    table = []
    for arm in arms:
        row = known_rows.get(arm)
        known = {"arm": arm, "label": formatting.arm_title(plan, arm)}
        if row and row.blocks:
            note = "" if same else f"{row.blocks}", formatting.estimate(row) * numbers
            ends = ("low95", "high95", "low90", "high90") if row.blocks > 1 else ()
            known |= {name: factor * getattr(row, name) for name in ("estimate", *ends)}
            known |= {"symbol": symbol(row), "note": "   ".join(filter(None, note))}
            known |= {"hatched": "confounded" * formatting.is_confounded(row)}
        else:
            is_reference = row is None and arm == plan.reference
            known["words"] = "reference" if is_reference else view.absence(case, arm)
        table.append(known)
    native, unit = formatting.arm_title(plan, plan.reference), formatting.unit_of_difference(shown)
    label, what = f"{shown.label}: difference to\n{native} ({unit})", "difference [95 %]"
    facts: dict[str, Any] = {"label": label, "scale": "linear", "neutral": 0.0}
    if is_ratio and first is not None:
        label = f"cost relative to {against or formatting.reference_title(plan)}"
        label += f"\n(ratio, log; band: margin {wording.margin(first.margin)})"
        facts, what = {"label": label, "band": pages.band_of(first.margin)}, "ratio [95 % interval]"
    if compared is None:
        pairs = view.analysis.pairs
        mine = pairs[(pairs["case"] == case) & (pairs["metric"] == shown.metric)]
        value = np.exp(mine["effect"]) if is_ratio else factor * mine["effect"]
        facts["blocks"] = pd.DataFrame({"arm": mine["arm"], "value": value.astype(float)})
    facts["head"] = (f"n = {same}" if same else "n") + f"   {what}" * numbers
    rows = pd.DataFrame(table, columns=["arm", "label", *NUMBERS, *WORDS])
    return Forest(title, rows, pages.looks_of(view), **facts | look)


def values(view: View, case: str, spec: FigureSpec, shown: Quantity, arms: Sequence[str],
           title: str = "") -> Values:  # fmt: skip
    """The values of a case and quantity, as the figure's specification has them."""
    found, native = view.values(case, shown.metric), view.plan.reference
    label, zero, factor = f"{shown.label} ({shown.unit})", 0.0, shown.factor
    if spec.relative:
        base, what = view.median(case, shown.metric, native), "the reference"
        if base is not None:
            number = wording.significant(shown.factor * base, 4)
            what = f"median {formatting.arm_title(view.plan, native)}, {number} {shown.unit}"
        label = f"{shown.label}: deviation from\n{what} (%)"
        found, zero, factor = found if base else {}, base or 1.0, 100 / (base or 1.0)
    rows = [(arm, factor * (value - zero)) for arm in arms for value in found.get(arm, ())]
    return Values(title, pd.DataFrame(rows, columns=["arm", "value"]).astype({"value": float}),
                  {arm: formatting.arm_title(view.plan, arm) for arm in arms}, pages.looks_of(view),
                  {arm: view.absence(case, arm) for arm in arms if arm not in found}, label,
                  spec.logarithmic, spec.from_zero, spec.relative, spec.densities)  # fmt: skip


def _is_in_rows(view: View, spec: FigureSpec) -> bool:
    """Whether values and comparisons stand beside each other, a row for each column."""
    shown = columns(view, spec)
    both = len(spec.quantities) > 1 and len({case for case, _ in shown}) > 1
    height = len(shown) * (IN_ROW + style.ROW * len(view.arms_of(view.shown(spec))))
    return len(shown) == 1 or ((spec.in_rows or both) and height + 0.9 <= pages.PAGE)


def has_ratios_alone(view: View, spec: FigureSpec) -> bool:
    """Whether a figure of panels has no room for values beside the comparisons."""
    if _is_in_rows(view, spec):
        return False
    one_above_other = 2 * (IN_ROW + style.ROW * len(view.arms_of(view.shown(spec)))) + 0.9
    is_full = one_above_other > pages.PAGE
    return is_full or len(columns(view, spec)) > MOST or spec.in_rows


def panels(view: View, spec: FigureSpec) -> Figure:
    """Values and comparisons of each case and quantity; comparisons alone where they are many."""
    shown, arms = columns(view, spec), view.arms_of(view.shown(spec))
    if has_ratios_alone(view, spec):
        return forests(view, shown, spec.title)
    in_rows = _is_in_rows(view, spec)
    compared = arms if in_rows else [arm for arm in arms if arm != view.plan.reference]
    lefts, rights = [], []
    for case, each in shown:
        level = formatting.case_levels(view.plan, case)
        title = spec.levels.get(level, level)
        if len(spec.quantities) > 1 and (not in_rows or not title):
            title = each.label
        lefts.append(values(view, case, spec, each, arms, title if len(shown) > 1 else ""))
        right = forest(view, case, each, compared, "paired within blocks" if in_rows else "")
        if right.scale == "linear" and spec.logarithmic and right.table["estimate"].notna().any():
            right = replace(right, scale="symlog", label=f"{right.label}, symlog")
        rights.append(right)
    alike = _on_common_axes(rights, shown)
    ordered: list[pages.Panel] = [*lefts, *alike]
    if in_rows:
        ordered = [panel for pair in zip(lefts, alike, strict=True) for panel in pair]
    cases = [case for case, _ in shown]
    symbols = pages.SYMBOLS if any(right.scale == "log" for right in rights) else ""
    foot = pages.foot_of(view, cases, symbols, pages.blocks_that_count(view, cases))
    return pages.page(spec.title, ordered, 2 if in_rows else len(shown), foot, around=IN_ROW)


def _on_common_axes(made: Sequence[Forest], shown: Columns) -> list[Forest]:
    """The same panels, where all ratios of a quantity have the same axis."""
    ratios: dict[Quantity, list[Forest]] = {}
    for panel, (_, of) in zip(made, shown, strict=True):
        if panel.scale == "log":
            ratios.setdefault(of, []).append(panel)
    return [replace(panel, ends=limits(ratios[of])) if panel.scale == "log" else panel
            for panel, (_, of) in zip(made, shown, strict=True)]  # fmt: skip


def together(view: View, spec: FigureSpec) -> Figure:
    """The values of all cases on one axis, and what each arm adds to the reference in numbers."""
    cases, shown = view.shown(spec), spec.quantities[0]
    made, notes = [], []
    for case in cases:
        title = formatting.case_levels(view.plan, case)
        panel = values(view, case, spec, shown, view.arms_of(cases))
        made.append(replace(panel, table=panel.table.assign(case=title)))
        compared = view.comparisons(case, shown.metric).values()
        unit = next((f" ({unit})" for row in compared if (unit := formatting.unit_of(row))), "")
        counts = [row.blocks for row in compared if row.blocks]
        head = f"{title}: over {formatting.reference_title(view.plan)}{unit}\n"
        head += f"n = {wording.span(counts)}   [95 %]" if counts else ""
        notes.append((head, {r.arm: formatting.estimate(r) for r in compared if r.blocks}))
    panel = replace(made[0], table=pd.concat([each.table for each in made]), notes=notes)
    lines = pages.foot_of(view, cases, "dots: blocks", pages.blocks_that_count(view, cases))
    return pages.page(spec.title, [panel], foot=lines, around=0.95)


def crossed(view: View, spec: FigureSpec) -> Figure:
    """A factor of two levels crossed with the container, for the first pair of cases.

    Row by row: what the factor does in each arm, by itself and averaged over both sides; how much
    more it does there than in the reference, and what the container does; that at each level.
    """
    table = view.crossed(spec)
    table = table[table["cases"] == table["cases"].iloc[0]]
    effects = {str(effect): {row.arm: row for row in of_effect.itertuples(index=False)}
               for effect, of_effect in table.groupby("effect", sort=True)}  # fmt: skip
    first = next(iter(effects[LEVEL].values()))
    cases, factor, reference = first.cases.split(), first.factor, view.plan.reference
    title, over = formatting.reference_title(view.plan), f"{first.high} over {first.low}"
    made = []
    for head, effect, case in (
        (f"{factor}: {over}, in each arm", LEVEL, 0),
        (f"{factor}: {over}, both sides", LEVEL_OVERALL, 0),
        (f"interaction: {over}, over {title}'s", INTERACTION, 0),
        (f"arm over {title}, both levels", ARM_OVERALL, 0),
        (f"arm over {title}, {factor} {first.low}", None, 0),
        (f"arm over {title}, {factor} {first.high}", None, 1),
    ):
        of_factor = effect in (LEVEL, LEVEL_OVERALL)
        arms = [arm for arm in view.arms_of(cases) if of_factor or arm != reference]
        made.append(forest(
            view, cases[case], spec.quantities[0], arms, head, effects[effect] if effect else None,
            numbers=True, label="", published=spec.published if of_factor else ()))  # fmt: skip
    band = f"band: margin {wording.margin(first.margin)}"
    key = f"cost ratios (log), above 1 costs more; {band}; dotted: {spec.source}; n: blocks"
    foot = pages.foot_of(view, cases, key, pages.SYMBOLS)
    return pages.page(spec.title, made, 2, foot, around=AROUND)


def of_ladder(view: View, spec: FigureSpec) -> Figure:
    """A row of two panels for each case: left over the reference, right over the step before."""
    cases, shown = view.shown(spec), spec.quantities[0]
    ordered = conclusions.ladder_order(view.plan, view.arms_of(cases))
    arms = [arm for arm in ordered if arm != view.plan.reference]
    rungs = [arms.index(arm) for arm in conclusions.rungs(view.plan, arms)]
    look: dict[str, Any] = {"groups": sorted({min(rungs), max(rungs) + 1})}
    made: list[pages.Panel] = []
    for case in cases:
        title = formatting.case_levels(view.plan, case) if len(cases) > 1 else ""
        made.append(forest(view, case, shown, arms, title, published=spec.published, **look))
        steps = view.steps(case, shown.metric)
        title = "runtimes: over the last step"
        made.append(forest(view, case, shown, arms, title, steps, "the step before", **look))
    low, high = (wording.percent(ratio - 1) for ratio in spec.published)
    tint = f"{pages.blocks_that_count(view, cases)}     tinted: {low} to {high}, {spec.source}"
    foot = pages.foot_of(view, cases, tint, pages.SYMBOLS)
    return pages.page(spec.title, made, 2, foot, around=IN_ROW)


def overview(view: View) -> Figure | None:
    """A forest of all ratios, each once, the A/A pair first; None for a study without a margin."""
    shown, measured = [], answer.measured((view.plan, view.analysis.comparisons))
    told = {(ratio.row.case, ratio.row.metric) for ratio in measured}
    for case, metric in view.planned():
        compared = [*view.comparisons(case, metric).values()]
        is_again = (case, metric) not in told and any(row.blocks for row in view.of_arms(compared))
        if any(row.kind == "ratio" for row in compared) and not is_again:
            shown.append((case, quantity(case, metric, compared[0].unit, view.plan.definitions)))
    return forests(view, shown) if shown else None


def forests(view: View, shown: Columns, head: str = "") -> Figure:
    """The comparisons of these cases and quantities, without numbers where a page has no room."""
    held = {arm for case, each in shown for arm in view.comparisons(case, each.metric)}
    arms = sorted((a for a in view.arms if a in held), key=lambda arm: arm != view.plan.double)
    wide = -(-len(shown) // 2) * (AROUND + style.ROW * len(arms)) + 0.8 <= pages.PAGE
    titles, shared = titles_of(view, shown, wide)
    made = [forest(view, case, each, arms, title, numbers=wide, label="")
            for (case, each), title in zip(shown, titles, strict=True)]  # fmt: skip
    axis = f"cost ratio to {formatting.reference_title(view.plan)} (log), above 1 costs more"
    key = "; ".join(filter(None, (shared, axis, "band: margin", "n: blocks")))
    foot = pages.foot_of(view, [case for case, _ in shown], key, pages.SYMBOLS)
    across = 2 if wide else min(4, len(made))
    return pages.page(head, _on_common_axes(made, shown), across, foot, around=AROUND)


def titles_of(view: View, shown: Columns, wide: bool) -> tuple[list[str], str]:
    """The titles of panels, and what they all share and leave out, as one would be too long."""
    parts = []
    for case, each in shown:
        first = next(iter(view.comparisons(case, each.metric).values()))
        what = f"difference in {formatting.unit_of_difference(each)}"
        what = f"margin {wording.margin(first.margin)}" if first.kind == "ratio" else what
        several = sum(other == case for other, _ in view.planned()) > 1
        known = [*title_parts(view.plan, case, each.label if several else ""), what]
        parts.append([*filter(None, known)])
    if len(shown) == 1 or (wide and max(len(", ".join(part)) for part in parts) <= LONGEST):
        return [", ".join(part) for part in parts], ""
    common = [part for part in parts[0] if all(part in others for others in parts)]
    own = [[part for part in of if part not in common] for of in parts]
    # A narrow panel has no room for the word.
    texts = [", ".join(p if wide else p.removeprefix("margin ") for p in part) for part in own]
    return texts, ", ".join(common)


def title_parts(plan: Plan, case: str, label: str) -> list[str]:
    """Benchmark, levels and quantity of a case, as a title has them."""
    benchmark = formatting.benchmark_title(plan, plan.case(case).benchmark)
    return [benchmark, *formatting.case_levels(plan, case).split(", "), label]


def has_violins(view: View, spec: FigureSpec) -> bool:
    """Whether a figure shows densities: each arm has enough values for one, that differ."""
    values = [view.values(case, of.metric).values() for case, of in columns(view, spec)]
    enough = [len(of_arm) > FEW and np.ptp(of_arm) > 0 for of_case in values for of_arm in of_case]
    return spec.densities and bool(enough) and all(enough)
