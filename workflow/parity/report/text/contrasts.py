"""Sentences and tables on what is more than a comparison with the reference.

These are a factor crossed with the container, and the steps of a ladder. As in
`parity.report.text.sentences`, what no test supports is not said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from parity.analysis import conclusions, outcomes
from parity.analysis.conclusions import ARM_OVERALL, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.analysis.decision import CONTROL_DIFFERS, FEW, FEWEST_FOR_A_DIFFERENCE
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.report.figures.specs import spelt
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import View, rows_of

Rows = Sequence[Any]
# Outcomes in the order in which they are said, and what they are called here.
_ENDED = {
    outcomes.DIFFERENT: "beyond the margin",
    outcomes.EQUIVALENT: "equivalent to a ratio of 1",
    outcomes.INCONCLUSIVE: "inconclusive",
}


def of_crossed(view: View, spec: FigureSpec) -> str:
    """What the factor does in each arm, and whether the container has a part in it."""
    said = []
    for _, pair in view.crossed(spec).groupby("cases", sort=False):
        first = rows_of(pair)[0]
        by_effect = {effect: _measured(rows) for effect, rows in pair.groupby("effect")}
        over = f"the cost with {first.factor} {first.high} over that with {first.low}"
        reference, double = view.plan.reference, view.plan.double
        said += [
            f"Margin {formatting.margin(first.margin)}.",
            *(_one(view, row, over, spec) for row in by_effect[LEVEL] if row.arm == reference),
            *(
                _all(view, [row for row in rows if row.arm not in (reference, double)], what)
                for rows, what in (
                    (by_effect[LEVEL], "In the other arms that ratio"),
                    (by_effect[INTERACTION], "The interaction, their ratio to the reference's,"),
                    *_within(view, first),
                    (by_effect[ARM_OVERALL], "Over both levels it"),
                )
            ),
            *(
                f"The A/A pair gives an interaction of {_value(row)}."
                for row in by_effect[INTERACTION]
                if row.arm == double
            ),
        ]
    return " ".join(filter(None, said))


def of_ladder(view: View, spec: FigureSpec) -> str:
    """What the steps add, and how far all arms are from the published range."""
    metric, said = spec.quantities[0].metric, []
    for case in view.shown(spec):
        steps = view.steps(case, metric)
        rungs = conclusions.rungs(view.plan, view.arms_of([case]))
        rows = [steps[arm] for arm in rungs if arm in steps and steps[arm].blocks > 1]
        full = [row for arm, row in steps.items() if arm not in (*rungs, view.plan.double)]
        compared = view.comparisons(case, metric).values()
        margin = next(row.margin for row in steps.values())
        reference = formatting.reference_title(view.plan)
        said += [
            f"{formatting.subject(view.plan, case, spec.quantities[0].label)} "
            f"(margin {formatting.margin(margin)}).",
            _all(
                view,
                _measured(view.of_arms(compared)),
                f"The cost of an arm over {reference}",
            ),
            _all(view, rows, "The cost of a step over the one before"),
            _all(view, _measured(full), "That of a full runtime over the last step"),
            _published(view, case, spec),
        ]
    return " ".join(filter(None, said))


def _measured(rows: pd.DataFrame | Rows) -> list[Any]:
    """Rows that have an interval, as named tuples."""
    listed = rows_of(rows) if isinstance(rows, pd.DataFrame) else rows
    return [row for row in listed if row.blocks > 1]


def _one(view: View, row: Any, what: str, spec: FigureSpec) -> str:
    said = f"In {formatting.arm_title(view.plan, row.arm)} {what} is {_value(row)}."
    if not spec.published:
        return said
    pairs = [view.comparisons(case, row.metric).get(view.plan.double) for case in row.cases.split()]
    if any(_objection(pair, [row]) for pair in pairs):
        return said
    contains = row.low95 <= spec.published[0] <= row.high95
    verb, ratio = (
        "contains" if contains else "does not contain",
        formatting.number(spec.published[0]),
    )
    return f"{said} The interval {verb} {ratio}, the ratio of {spec.source}."


def _objection(control: Any, rows: Rows) -> str:
    """Why nothing may be said of how rows lie to a published number; empty if it may.

    Such a sentence is a conclusion, and so it has the gates of one.
    """
    if control is not None and control.outcome == outcomes.DIFFERENT:
        return CONTROL_DIFFERS
    return FEW if min(row.blocks for row in rows) < FEWEST_FOR_A_DIFFERENCE else ""


def _within(view: View, row: Any) -> list[tuple[list[Any], str]]:
    """The comparisons with the reference at each level, and how they are called."""
    reference = formatting.reference_title(view.plan)
    return [
        (
            _measured(list(view.comparisons(case, row.metric).values())),
            f"With {row.factor} {level} the cost of an arm over {reference}",
        )
        for case, level in zip(row.cases.split(), (row.low, row.high), strict=True)
    ]


def _value(row: Any) -> str:
    return f"{formatting.estimate(row)} over {row.blocks} blocks ({formatting.outcome(row)})"


def _all(view: View, rows: Rows, what: str) -> str:
    """The range of several ratios, and how each of them ended."""
    if not rows:
        return ""
    low, high = (pick(rows, key=lambda row: row.estimate) for pick in (min, max))
    span = (
        f"is {formatting.number(low.estimate)} in each"
        if formatting.number(low.estimate) == formatting.number(high.estimate)
        else f"ranges from {_named(view, low)} to {_named(view, high)}"
    )
    groups = [(text, [r for r in rows if r.outcome == key]) for key, text in _ENDED.items()]
    ended = ", ".join(f"{len(group)} {text}" for text, group in groups if group)
    odd = sum(formatting.is_confounded(row) for row in rows)
    return f"{what} {span}: {ended}{f', {odd} confounded' if odd else ''}."


def _named(view: View, row: Any) -> str:
    return f"{formatting.estimate(row)} ({formatting.arm_title(view.plan, row.arm)})"


def _published(view: View, case: str, spec: FigureSpec) -> str:
    """Whose 95 % interval reaches what a publication reports."""
    compared = view.comparisons(case, spec.quantities[0].metric)
    rows = _measured(view.of_arms(compared.values()))
    if not rows or not spec.published:
        return ""
    low, high = min(spec.published), max(spec.published)
    span = f"{formatting.percent(low - 1)} to {formatting.percent(high - 1)} of {spec.source}"
    if objection := _objection(compared.get(view.plan.double), rows):
        return f"Whether any arm reaches the {span} is open: {objection}."
    reached = [row for row in rows if row.high95 >= low]
    if not reached:
        most = max(rows, key=lambda row: row.high95)
        return (
            f"No arm reaches the {span}: the highest end of a 95\u2009% interval over "
            f"{formatting.reference_title(view.plan)} is "
            f"{formatting.number(most.high95)}, of {formatting.arm_title(view.plan, most.arm)}."
        )
    names = ", ".join(formatting.arm_title(view.plan, row.arm) for row in reached)
    return f"The 95\u2009% interval reaches the {span} or beyond with {names}."


# Figures whose sentences are not those on comparisons.
OF_FORM = {Form.CROSSED: of_crossed, Form.LADDER: of_ladder}

_EFFECTS = {
    LEVEL: "factor, in the arm",
    LEVEL_OVERALL: "factor, both sides",
    ARM_OVERALL: "arm, both levels",
    INTERACTION: "interaction",
}


def factorial(view: View) -> Table:
    """The effects of factors of two levels that are crossed with the arms."""
    arms = {arm: number for number, arm in enumerate(view.arms)}
    effects = rows_of(view.analysis.factorial.assign(kind="ratio"))
    rows = [
        (
            f"{_what(view, row)}: {row.high} over {row.low}",
            _EFFECTS[row.effect],
            formatting.arm_title(view.plan, row.arm),
            *_cells(row),
        )
        for row in sorted(
            effects,
            key=lambda row: (
                row.cases,
                row.metric,
                list(_EFFECTS).index(row.effect),
                arms[row.arm],
            ),
        )
    ]
    head = ("factor", "effect", "arm", "n", "ratio [95 % interval]", "margin", "outcome")
    empty = "no factor of two levels is tested by ratios"
    return Table("factorial", r"L{3.4cm}llrllL{3.4cm}", head, rows, empty)


def _what(view: View, row: Any) -> str:
    """The factor, with all other levels of the case."""
    levels = formatting.case_levels(view.plan, row.cases.split()[0]).split(", ")
    others = [level for level in levels if level != spelt(row.benchmark, row.low)]
    title = formatting.benchmark_title(view.plan, row.benchmark)
    factor = "" if row.factor in title else row.factor
    return ", ".join(filter(None, (title, *others, factor)))


def steps(view: View) -> Table:
    """What each step of a ladder costs over the one before."""
    ordered = conclusions.ladder_order(view.plan, view.arms)
    arms = {arm: number for number, arm in enumerate(ordered)}
    added = rows_of(view.analysis.rungs.assign(kind="ratio"))
    rows = [
        (
            formatting.case_title(view.plan, row.case),
            formatting.arm_title(view.plan, row.arm),
            formatting.arm_title(view.plan, row.before),
            *_cells(row),
        )
        for row in sorted(added, key=lambda row: (row.case, row.metric, arms[row.arm]))
    ]
    head = ("case", "arm", "over", "n", "ratio [95 % interval]", "margin", "outcome")
    return Table("rungs", r"L{3.4cm}llrllL{4cm}", head, rows, "the study has no ladder")


def _cells(row: Any) -> tuple[str, ...]:
    note = f"confounded: {row.identity}" if formatting.is_confounded(row) else ""
    outcome = "; ".join(filter(None, (formatting.outcome(row), note)))
    return str(row.blocks), formatting.estimate(row), formatting.margin(row.margin), outcome
