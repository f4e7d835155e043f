"""Sentences about outcomes, made from the outcomes: what no test supports is never said.

Every sentence names the margin and the number of blocks it rests on. That something
differs not significantly is no finding and no sentence of this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parity.analysis import outcomes
from parity.present import words
from parity.present.specs import FigureSpec
from parity.present.view import View


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def of_figure(view: View, spec: FigureSpec) -> str:
    """What the comparisons of one figure say."""
    shown = [
        (case, quantity.metric)
        for case in view.cases(spec.benchmark)
        for quantity in spec.quantities
        if view.comparisons(case, quantity.metric)
    ]
    said = [of_comparison(view, *pair) for pair in shown]
    text = " ".join(filter(None, (*said, _not_tested(view, shown))))
    return text or f"This study holds no case of {spec.benchmark}."


def of_comparison(view: View, case: str, metric: str) -> str:
    """What one case and metric say about every arm that was tested."""
    rows = [row for arm in view.arms(case) if (row := view.comparisons(case, metric).get(arm))]
    others = [row for row in rows if not row.control]
    ratio = bool(rows) and rows[0].kind == "ratio"
    parts = _ratios(view, others) if ratio else _differences(view, others)
    few = [row for row in others if row.outcome == outcomes.TOO_FEW_BLOCKS]
    parts += [f"too few blocks: {_with_reasons(view, few)}"] if few else []
    label = words.quantity(metric, rows[0].unit).label
    margin = f", margin {words.margin(rows[0].margin)}" if ratio else ""
    said = "; ".join(parts) or "no arm was tested"
    return f"{words.case_title(view.plan, case)}, {label}{margin}: {said}. {_control(rows)}"


def _ratios(view: View, rows: Sequence[Any]) -> list[str]:
    """The outcomes of ratios, each with the arms that ended so."""
    parts = []
    equivalent = [row for row in rows if row.outcome == outcomes.EQUIVALENT]
    if equivalent:
        blocks = _blocks([row.blocks for row in equivalent])
        parts.append(f"equivalent to {_reference(view)}: {_names(view, equivalent)} ({blocks})")
    for row in rows:
        if row.outcome == outcomes.DIFFERENT:
            more = "more" if row.estimate > 1 else "less"
            ratio = f"ratio {words.estimate(row)}, {row.blocks} blocks"
            parts.append(f"{_names(view, [row])} costs {more} ({ratio})")
    undecided = [row for row in rows if row.outcome == outcomes.INCONCLUSIVE]
    if undecided:
        blocks = _blocks([row.blocks for row in undecided])
        said = [f"{_names(view, [row])} ({_why_undecided(row)})" for row in undecided]
        parts.append(f"inconclusive with {blocks}: {listed(said)}")
    return parts


def _why_undecided(row: Any) -> str:
    return row.reason or f"±{words.percent(row.smallest_margin, up=True)} would pass"


def _differences(view: View, rows: Sequence[Any]) -> list[str]:
    """Smallest and largest difference; no claim is attached to either."""
    found = sorted((row for row in rows if row.blocks > 1), key=lambda row: row.estimate)
    if not found:
        return []
    ends = found if len(found) == 1 else [found[0], found[-1]]
    said = [
        f"{words.estimate(row)} {words.unit_of(row)} with {_names(view, [row])}" for row in ends
    ]
    between = " to ".join(said)
    blocks = _blocks([row.blocks for row in found])
    return [f"the mean difference to {_reference(view)} is {between} ({blocks}; no margin was set)"]


def _not_tested(view: View, shown: Sequence[tuple[str, str]]) -> str:
    """Arms that were tested in none of these cases, each with its reason, said once."""
    rows = {
        row.arm: row
        for case, metric in shown
        for row in view.comparisons(case, metric).values()
        if row.outcome == outcomes.NOT_TESTED
    }
    return f"Not tested: {_with_reasons(view, list(rows.values()))}." if rows else ""


def _with_reasons(view: View, rows: Sequence[Any]) -> str:
    return listed([f"{_names(view, [row])} ({row.reason})" for row in rows])


def _control(rows: Sequence[Any]) -> str:
    """What the A/A pair says, which qualifies everything before it."""
    control = [row for row in rows if row.control]
    if not control:
        return "The plan has no A/A pair to judge this by."
    if not control[0].blocks:
        return f"The A/A pair gives no value ({control[0].reason})."
    unit = words.unit_of(control[0])
    value = f"{words.estimate(control[0])}{f' {unit}' if unit else ''}"
    if control[0].kind == "difference":
        return f"The A/A pair differs by {value}."
    return f"The A/A pair gives {value}: {words.outcome(control[0])}."


def _blocks(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low} blocks" if low == high else f"{low} to {high} blocks"


def _names(view: View, rows: Sequence[Any]) -> str:
    return listed([words.arm_title(view.plan, row.arm) + _dagger(row) for row in rows])


def _dagger(row: Any) -> str:
    return " (confounded)" if words.is_confounded(row) else ""


def abstract(view: View) -> str:
    """The study's answer in counts of outcomes over all planned ratios."""
    found = view.analysis.comparisons
    found = found[(found["kind"] == "ratio") & found["planned"] & ~found["control"]]
    counts = found["outcome"].value_counts()
    names = (
        (outcomes.EQUIVALENT, "equivalent within their margin"),
        (outcomes.DIFFERENT, "different beyond it"),
        (outcomes.INCONCLUSIVE, "inconclusive"),
        (outcomes.TOO_FEW_BLOCKS, "without enough blocks"),
        (outcomes.NOT_TESTED, "not tested"),
    )
    said = [f"{counts[key]} {text}" for key, text in names if counts.get(key)]
    if not said:
        return "No comparison of this dataset has a margin."
    return f"Of {len(found)} comparisons with {_reference(view)}: {listed(said)}."


def _reference(view: View) -> str:
    return words.arm_title(view.plan, view.plan["reference"])
