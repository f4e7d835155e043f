"""Which outcomes change under which method: the table of them, and a sentence with the counts."""

from __future__ import annotations

from typing import Any

from parity.analysis import outcomes
from parity.analysis.sensitivity import (
    METHODS,
    MIXED,
    NO_ESTIMATE,
    PAIRED,
    RANKS,
    TRIMMED,
)
from parity.core.wording import listed
from parity.report.figures.specs import quantity
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import View, rows_of

OTHERS = tuple(method for method in METHODS if method != PAIRED)
_BY = {
    RANKS: "ranks",
    TRIMMED: "the trimmed mean",
    MIXED: "the mixed model",
}


def sensitivity(view: View) -> Table:
    """The ratios that end otherwise by at least one method, before any gate."""
    rows = [
        (
            _subject(view, by_method[PAIRED]),
            formatting.arm_title(view.plan, by_method[PAIRED].arm),
            _words(by_method[PAIRED]),
            *(_beside(by_method[method], by_method[PAIRED]) for method in OTHERS),
        )
        for by_method in _compared(view)
        if any(_differs(by_method[method], by_method[PAIRED]) for method in OTHERS)
    ]
    head = ("case", "arm", *METHODS)
    empty = "no outcome changes under any of these methods"
    return Table("sensitivity", r"L{3.6cm}L{2.2cm}" + r"L{1.6cm}" * len(METHODS), head, rows, empty)


def changes(view: View) -> str:
    """How many outcomes change under which method; empty if nothing is compared by ratios."""
    compared = [each for each in _compared(view) if each[PAIRED].outcome != NO_ESTIMATE]
    if not compared:
        return ""
    changed = [
        [method for method in OTHERS if _differs(by_method[method], by_method[PAIRED])]
        for by_method in compared
    ]
    counts = {method: sum(method in methods for methods in changed) for method in OTHERS}
    by = listed([f"{count} by {_BY[method]}" for method, count in counts.items() if count])
    ended = sum(map(bool, changed))
    some = f"{ended} would end otherwise by at least one"
    said = (
        f"Of {len(compared)} ratios, those of controls included, "
        f"{some if ended else 'none would end otherwise by any'} of {len(OTHERS)} other methods, "
        "before any gate" + (f": {by}." if by else ".")
    )
    lacking = sum(any(each[m].outcome == NO_ESTIMATE for m in OTHERS) for each in compared)
    return said + (f" For {lacking} at least one of them gives no estimate." if lacking else "")


def _compared(view: View) -> list[dict[str, Any]]:
    """The planned ratios in the order of the plan, each as rows by method."""
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows_of(view.analysis.sensitivity):
        rows.setdefault((row.case, row.metric, row.arm), {})[row.method] = row
    keys = [(*planned, arm) for planned in view.planned() for arm in view.arms]
    return [rows[key] for key in keys if key in rows]


def _subject(view: View, row: Any) -> str:
    label = quantity(row.case, row.metric, "", view.plan.definitions).label
    return formatting.subject(view.plan, row.case, label)


def _differs(row: Any, paired: Any) -> bool:
    return NO_ESTIMATE not in (row.outcome, paired.outcome) and _words(row) != _words(paired)


def _beside(row: Any, paired: Any) -> str:
    """The outcome, or that it is the same."""
    return _words(row) if row.outcome == NO_ESTIMATE or _differs(row, paired) else "same"


def _words(row: Any) -> str:
    """The outcome in a word or two."""
    if row.outcome == outcomes.DIFFERENT:
        return "costs more" if row.estimate > 1 else "costs less"
    return str(row.note if row.outcome == NO_ESTIMATE else row.outcome)
