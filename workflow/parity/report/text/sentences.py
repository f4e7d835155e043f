"""Sentences about outcomes, made from the outcomes: what no test supports is never said.

Every sentence about arms names the number of blocks it rests on, and every paragraph
its margin, or that none was set. That a test found nothing is no finding and no
sentence of this module. Arms that ended alike share a sentence; what each of them
gave stands in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from parity.analysis import outcomes
from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import counted, listed
from parity.report.figures.specs import quantity
from parity.report.text import contrasts, formatting, networks, noise
from parity.report.view import ComparedRow, View, rows_of

Rows = Sequence[ComparedRow]


def of_figure(view: View, spec: FigureSpec) -> str:
    """What the comparisons of one figure say."""
    shown = [
        (case, quantity.metric)
        for case in view.shown(spec)
        for quantity in spec.quantities
        if view.comparisons(case, quantity.metric)
    ]
    of_form = (contrasts.OF_FORM | noise.OF_FORM | networks.OF_FORM).get(view.form(spec))
    said = [of_form(view, spec)] if of_form else [of_comparison(view, *pair) for pair in shown]
    text = " ".join(filter(None, (*said, _not_tested(view, shown))))
    return text or f"This study holds no such case of {spec.benchmark}."


def of_comparison(view: View, case: str, metric: str) -> str:
    """What one case and metric say about every arm of the plan that was tested."""
    by_arm = view.comparisons(case, metric)
    rows = [by_arm[arm] for arm in view.arms if arm in by_arm]
    others = view.of_arms(rows)
    first = next(iter(by_arm.values()))
    ratio = first.kind == "ratio"
    label = quantity(case, metric, first.unit).label
    margin = f"margin {formatting.margin(first.margin)}" if ratio else "no margin was set"
    said = [
        f"{formatting.subject(view.plan, case, label)} ({margin}).",
        *(_ratios(view, others) if ratio else _differences(view, others)),
        *_too_few(view, others),
        _control(rows),
        _assay(view, by_arm),
    ]
    return " ".join(said)


def _ratios(view: View, rows: Rows) -> list[str]:
    """A sentence for all arms that ended alike."""
    reference = _reference(view)
    different = [row for row in rows if row.outcome == outcomes.DIFFERENT]
    decided = (
        ("is", "are", "equivalent to", [r for r in rows if r.outcome == outcomes.EQUIVALENT]),
        ("costs", "cost", "more than", [row for row in different if row.estimate > 1]),
        ("costs", "cost", "less than", [row for row in different if row.estimate < 1]),
    )
    said = [
        f"{_who(view, group, rows)} {one if len(group) == 1 else many} {what} {reference} "
        f"over {_blocks(group)}; {_ratio_of(view, group)}."
        for one, many, what, group in decided
        if group
    ]
    for reason, group in _by_reason(rows, outcomes.INCONCLUSIVE):
        why = f" ({reason})" if reason else f", and {_would_pass(group)}"
        said.append(
            f"{_who(view, group, rows)} {_are(group)} inconclusive over {_blocks(group)}; "
            f"{_ratio_of(view, group)}{why}."
        )
    return said


def _who(view: View, group: Rows, rows: Rows) -> str:
    """The arms of a group by name, or all that were tested at once with what qualifies some."""
    tested = [row for row in rows if row.outcome != outcomes.NOT_TESTED]
    if len(group) < len(tested) or len(group) < 3:
        return _names(view, group)
    odd = [row for row in group if formatting.is_confounded(row)]
    names = "all" if len(odd) == len(group) else listed([_name(view, row) for row in odd])
    which = "other arms" if len(tested) == len(rows) else "other arms that were tested"
    return f"All {len(group)} {which}" + (f" ({names} confounded)" if odd else "")


def _ratio_of(view: View, group: Rows) -> str:
    """The ratio of one arm with its interval, or the smallest and largest of several."""
    if len(group) == 1:
        return f"the ratio is {formatting.estimate(group[0])}"
    low, high = _ends(group, lambda row: row.estimate)
    if formatting.number(low.estimate) == formatting.number(high.estimate):
        return f"the ratio is {formatting.number(low.estimate)} in each"
    return (
        f"the ratio ranges from {formatting.number(low.estimate)} with {_name(view, low)} "
        f"to {formatting.number(high.estimate)} with {_name(view, high)}"
    )


def _would_pass(group: Rows) -> str:
    low, high = (
        f"±{formatting.percent(row.smallest_margin, up=True)}"
        for row in _ends(group, lambda row: row.smallest_margin)
    )
    return (
        f"a margin of {low} would pass" if low == high else f"margins of {low} to {high} would pass"
    )


def _ends(group: Rows, key: Callable[[ComparedRow], float]) -> tuple[ComparedRow, ComparedRow]:
    return min(group, key=key), max(group, key=key)


def _differences(view: View, rows: Rows) -> list[str]:
    """Smallest and largest difference; no claim is attached to either."""
    several = [row for row in rows if row.blocks > 1]
    if not several:
        return []
    said = [
        f"{formatting.estimate(row)} {formatting.unit_of(row)} with {_names(view, [row])}"
        for row in dict.fromkeys(_ends(several, lambda row: row.estimate))
    ]
    verb = "is" if len(said) == 1 else "ranges from"
    between = " to ".join(said)
    native = formatting.arm_title(view.plan, view.plan.reference)
    return [f"The mean difference to {native} {verb} {between}, over {_blocks(several)}."]


def _too_few(view: View, rows: Rows) -> list[str]:
    """Arms with fewer than two pairs, by reason."""
    return [
        f"{_names(view, group)} {'has' if len(group) == 1 else 'have'} too few blocks ({reason})."
        for reason, group in _by_reason(rows, outcomes.TOO_FEW_BLOCKS)
    ]


def _by_reason(rows: Rows, outcome: str) -> list[tuple[str, Rows]]:
    """The rows of one outcome, grouped by its reason."""
    ended = [row for row in rows if row.outcome == outcome]
    reasons = sorted({row.reason for row in ended})
    return [(reason, [row for row in ended if row.reason == reason]) for reason in reasons]


def _not_tested(view: View, shown: Sequence[tuple[str, str]]) -> str:
    """Arms of the plan that were tested in none of these cases, each with its reason, once."""
    rows = {
        row.arm: row
        for case, metric in shown
        for row in view.comparisons(case, metric).values()
        if row.outcome == outcomes.NOT_TESTED and row.arm in view.arms
    }
    said = [f"{_name(view, row)} ({row.reason})" for row in rows.values()]
    return f"Not tested: {listed(said)}." if said else ""


def _control(rows: Rows) -> str:
    """What the A/A pair says, which qualifies everything before it."""
    control = next((row for row in rows if row.control), None)
    if control is None:
        return "The plan has no A/A pair to judge this by."
    return _given("The A/A pair", control)


def _assay(view: View, by_arm: Mapping[str, ComparedRow]) -> str:
    """What the positive control gives, where it is run: whether a difference could be seen."""
    row = by_arm.get(view.plan.positive_arm)
    if row is None or row.outcome == outcomes.NOT_TESTED or row.kind != "ratio":
        return ""
    return _given(f"The positive control ({_name(view, row)})", row)


def _given(name: str, row: ComparedRow) -> str:
    """What a control gives, or why it gives nothing."""
    if not row.blocks:
        return f"{name} gives no value ({row.reason})."
    value = f"{formatting.estimate(row)} {formatting.unit_of(row)}".rstrip()
    value += f" over {_blocks([row])}"
    if row.kind == "difference":
        return f"{name} differs by {value}."
    return f"{name} gives {value}: {formatting.outcome(row).replace(':', ',')}."


def _blocks(rows: Rows) -> str:
    counts = [row.blocks for row in rows]
    return f"{formatting.span(counts)} block{'' if max(counts) == 1 else 's'}"


def _are(rows: Rows) -> str:
    return "is" if len(rows) == 1 else "are"


def _name(view: View, row: ComparedRow) -> str:
    return formatting.arm_title(view.plan, row.arm)


def _names(view: View, rows: Rows) -> str:
    odd = {True: " (confounded)", False: ""}
    return listed([_name(view, row) + odd[formatting.is_confounded(row)] for row in rows])


def _reference(view: View) -> str:
    return formatting.reference_title(view.plan)


def abstract(view: View) -> str:
    """The study's answer in counts of outcomes over all planned ratios."""
    compared = view.analysis.comparisons
    rows = view.of_arms(rows_of(compared[(compared["kind"] == "ratio") & compared["planned"]]))
    measured = [row for row in rows if row.blocks]
    untested = len(rows) - len(measured)
    if not rows:
        return "No comparison of this dataset has a margin."
    if not measured:
        return f"None of {len(rows)} comparisons with {_reference(view)} could be tested."
    more = counted(untested, "more comparison")
    left_out = f"{more} could not be tested." if untested else ""
    noisy, failed = too_noisy(measured), _failed_controls(view)
    said = (failed, _counts(view, measured), noisy, _fixed(view, measured), left_out)
    return " ".join(filter(None, said))


def _counts(view: View, measured: Rows) -> str:
    """Outcomes of what was measured, and how much of it is confounded."""
    names = (
        (outcomes.EQUIVALENT, "equivalent within the margin"),
        (outcomes.DIFFERENT, "different beyond it"),
        (outcomes.INCONCLUSIVE, "inconclusive"),
        (outcomes.TOO_FEW_BLOCKS, "without enough blocks"),
    )
    groups = [(text, [r for r in measured if r.outcome == key]) for key, text in names]
    said = [f"{len(group)} {_are(group)} {text}" for text, group in groups if group]
    odd = [row for row in measured if formatting.is_confounded(row)]
    confounded = f"{len(odd) or 'none'} of them {'are' if len(odd) > 1 else 'is'} confounded"
    return (
        f"Of {len(measured)} measured comparisons with {_reference(view)} over "
        f"{_blocks(measured)}, {listed(said)}; {confounded}."
    )


def too_noisy(measured: Rows) -> str:
    """By how much the scatter was too large for what is open; empty if that is not why."""
    found = [row for row in measured if row.outcome == outcomes.INCONCLUSIVE]
    times = [row.smallest_margin / row.margin for row in found]
    wider = sorted(ratio for ratio in times if ratio > 1)
    if not wider:
        return ""
    low, high = (formatting.number(end, 1) for end in (wider[0], wider[-1]))
    span = low if low == high else f"{low} to {high}"
    them = "one" if len(wider) == 1 else "ones"
    return (
        f"The scatter was too large for {len(wider)} inconclusive {them}: margins {span} times as "
        "wide would pass."
    )


def _failed_controls(view: View) -> str:
    """Where the reference differs from itself, so that nothing is concluded; empty if nowhere."""
    compared = view.analysis.comparisons
    failed = compared["control"] & compared["planned"] & (compared["outcome"] == outcomes.DIFFERENT)
    names = [formatting.subject_of(view.plan, row) for row in rows_of(compared[failed])]
    if not names:
        return ""
    return f"{_reference(view)} differs from itself in {listed(names)}: nothing is concluded there."


def _fixed(view: View, measured: Rows) -> str:
    """How many comparisons hold the same ratio in every block: their p is 0 by construction."""
    pairs = view.analysis.pairs.groupby(["case", "metric", "arm"])["effect"]
    fixed = {key for key, effects in pairs if len(effects) > 1 and effects.nunique() == 1}
    count = sum((row.case, row.metric, row.arm) in fixed for row in measured)
    if not count:
        return ""
    compare = "compares" if count == 1 else "compare"
    return f"{count} of them {compare} numbers that did not vary at all."
