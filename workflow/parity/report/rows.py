"""One conclusion as people read it: the same on the terminal, in tables, paper and page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from parity.analysis import outcomes
from parity.core import wording
from parity.plan.plan import Plan
from parity.report.templating import render
from parity.report.text import formatting

# What came of a conclusion: outcomes with a difference told by its direction.
EQUIVALENT, COSTS_MORE, COSTS_LESS = "equivalent", "costs-more", "costs-less"
OPEN = "open"
# Units that are said shorter behind a number.
_SHORT = {wording.RATIO: "", "ratio of deviations": "sd", "% of node": "%"}


@dataclass(frozen=True)
class Row:
    """A conclusion, every cell of it formatted.

    Attributes:
        subject: case and quantity, or the claim.
        blocks: how many it rests on.
        estimate: with its 95 % interval; `–` without any.
        unit: of the estimate; empty for a ratio.
        margin: `–` where none is sought.
        ended: a name of `outcomes` in wording.yaml.
        reason: why it ended so; often empty.
        note: what is to be known of the binaries; often empty.
        outcome: how it ended, in words, with reason and note.
    """

    subject: str
    arm: str
    blocks: str
    estimate: str
    unit: str
    margin: str
    ended: str
    reason: str
    note: str
    outcome: str


def of(plan: Plan, row: Any, subject: str = "") -> Row:
    """A row of comparisons, of crossed factors or of steps.

    Args:
        subject: what it is of, if not the case and quantity that it names.
    """
    ended, note = ended_of(row), formatting.identity_note(row)
    facts = {"ended": ended, "reason": row.reason, "note": note, "needed": row.smallest_margin}
    return Row(
        subject=subject or formatting.subject_of(plan, row),
        arm=formatting.arm_title(plan, row.arm),
        blocks=str(row.blocks),
        estimate=formatting.estimate(row),
        unit=formatting.unit_of(row),
        margin=wording.margin(row.margin),
        ended=ended,
        reason=row.reason,
        note=note,
        outcome=render("outcome.txt", **facts),
    )


def of_verdict(row: Any) -> Row:
    """A verdict on a claim; its outcome is the verdict itself."""
    margin = ""
    if not _is_missing(row.margin):
        is_ratio = row.unit == wording.RATIO
        margin = wording.margin(row.margin) if is_ratio else f"{row.margin:g}"
    unit = _SHORT.get(row.unit, row.unit)
    return Row(
        subject=row.claim,
        arm="",
        blocks=str(row.blocks) if row.blocks else "",
        estimate=" ".join(filter(None, (_estimate(row), unit))) if _estimate(row) else "",
        unit=unit,
        margin=margin,
        ended=row.verdict,
        reason=row.reason,
        note=row.coverage,
        outcome=row.verdict,
    )


def _estimate(row: Any) -> str:
    if _is_missing(row.estimate):
        return ""
    if _is_missing(row.low95):
        return wording.number(row.estimate)
    digits = wording.decimals(row.low95, row.high95, row.unit)
    ends = ", ".join(wording.number(end, digits) for end in (row.low95, row.high95))
    return f"{wording.number(row.estimate, digits)} [{ends}]"


def _is_missing(value: Any) -> bool:
    return value is None or not math.isfinite(value)


def ended_of(row: Any) -> str:
    """What came of a comparison: a name of `outcomes` or `verdicts` in wording.yaml."""
    if row.outcome == outcomes.DIFFERENT:
        return COSTS_LESS if row.estimate < 1 else COSTS_MORE
    return "no-margin" if row.outcome == outcomes.REPORTED else str(row.outcome)


def tallied(rows: Iterable[Any]) -> dict[str, int]:
    """How many comparisons came out equivalent, dearer, cheaper, and how many are open."""
    ended = [ended_of(row) for row in rows]
    counts = {name: ended.count(name) for name in (EQUIVALENT, COSTS_MORE, COSTS_LESS)}
    return counts | {OPEN: len(ended) - sum(counts.values())}
