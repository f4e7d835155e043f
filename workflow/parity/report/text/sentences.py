"""Sentences about outcomes, made from the outcomes: what no test supports is never said.

That a test found nothing is no finding and no sentence of this module.
"""

from __future__ import annotations

from collections.abc import Sequence

from parity.analysis import outcomes
from parity.benchmarks.figure_spec import FigureSpec
from parity.core.wording import counted, listed, span
from parity.extensions.servers.benchmarks import usage
from parity.report.text import contrasts, formatting, networks, noise, storage
from parity.report.view import ComparedRow, View, rows_of

Rows = Sequence[ComparedRow]


def of_figure(view: View, spec: FigureSpec) -> str:
    """What a figure says that is more than comparisons with the reference; often nothing.

    Those are told by `parity.report.text.questions`.
    """
    if usage.REQUEST_RATE in spec.quantities:
        return storage.of_requests(view, spec)
    forms = contrasts.OF_FORM | noise.OF_FORM | networks.OF_FORM | storage.OF_FORM
    of_form = forms.get(view.form(spec))
    return of_form(view, spec) if of_form else ""


def findings(view: View) -> list[tuple[FigureSpec, str]]:
    """The figures that say more than that, in the order of the paper; what two say, only once."""
    said: dict[str, FigureSpec] = {}
    for spec in view.figures:
        if view.shown(spec) and (text := of_figure(view, spec)):
            said.setdefault(text, spec)
    return [(spec, text) for text, spec in said.items()]


def _blocks(rows: Rows) -> str:
    counts = [row.blocks for row in rows]
    return f"{span(counts)} block{'' if max(counts) == 1 else 's'}"


def _are(rows: Rows) -> str:
    return "is" if len(rows) == 1 else "are"


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
    noisy, failed = too_noisy(measured), failed_controls(view)
    said = (failed, counts(view, measured), noisy, fixed(view, measured), left_out)
    return " ".join(filter(None, said))


def counts(view: View, measured: Rows) -> str:
    """Outcomes of what was measured, and how much of it is confounded."""
    names = (
        (outcomes.EQUIVALENT, "equivalent within the margin"),
        (outcomes.DIFFERENT, "different beyond the margin"),
        (outcomes.INCONCLUSIVE, "inconclusive"),
        (outcomes.TOO_FEW_BLOCKS, "without enough blocks"),
    )
    groups = [(text, [r for r in measured if r.outcome == key]) for key, text in names]
    found = [(text, group) for text, group in groups if group]
    odd = [row for row in measured if formatting.is_confounded(row)]
    where = f"with {_reference(view)} over {_blocks(measured)}"
    if len(measured) == 1:
        confounded = "and" if odd else "and not"
        return f"The one measured comparison {where} is {found[0][0]} {confounded} confounded."
    every = "both" if len(measured) == 2 else f"all {len(measured)}"
    said = [
        f"{every if len(group) == len(measured) else len(group)} {_are(group)} {text}"
        for text, group in found
    ]
    confounded = f"{len(odd) or 'none'} of them {'are' if len(odd) > 1 else 'is'} confounded"
    return f"Of {len(measured)} measured comparisons {where}, {listed(said)}; {confounded}."


def too_noisy(measured: Rows) -> str:
    """By how much the scatter was too large for what is open; empty if that is not why."""
    found = [row for row in measured if row.outcome == outcomes.INCONCLUSIVE]
    times = [row.smallest_margin / row.margin for row in found]
    wider = sorted(ratio for ratio in times if ratio > 1)
    if not wider:
        return ""
    low, high = (_times(end) for end in (wider[0], wider[-1]))
    if len(wider) == 1:
        return f"The scatter was too large for one: a margin {low} times as wide would pass."
    wide = low if low == high else f"{low} to {high}"
    return (
        f"The scatter was too large for {len(wider)} inconclusive ones: margins {wide} times as "
        "wide would pass."
    )


def _times(ratio: float) -> str:
    """How many times as much, in as many digits as tell it from once."""
    return formatting.number(ratio, 0 if ratio >= 10 else 1 if ratio >= 1.1 else 2)


def failed_controls(view: View) -> str:
    """Where the reference differs from itself, so that nothing is concluded; empty if nowhere."""
    compared = view.analysis.comparisons
    failed = compared["control"] & compared["planned"] & (compared["outcome"] == outcomes.DIFFERENT)
    names = [formatting.subject_of(view.plan, row) for row in rows_of(compared[failed])]
    if not names:
        return ""
    return (
        f"CONTROL FAILED in {listed(names)}: {_reference(view)} differs from itself, and nothing "
        "is concluded there."
    )


def fixed(view: View, measured: Rows) -> str:
    """How many comparisons hold the same ratio in every block: their p is 0 by construction."""
    pairs = view.analysis.pairs.groupby(["case", "metric", "arm"])["effect"]
    alike = {key for key, effects in pairs if len(effects) > 1 and effects.nunique() == 1}
    count = sum((row.case, row.metric, row.arm) in alike for row in measured)
    if not count:
        return ""
    compare = "compares" if count == 1 else "compare"
    return f"{count} of the {len(measured)} {compare} constants."
