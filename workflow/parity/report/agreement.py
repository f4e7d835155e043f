"""A fresh dataset beside an archived one, as a page of plain text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from parity.analysis.agreement import NOT_COMPARED, Agreement, Count, Kappa
from parity.core import wording
from parity.report.origin import Origin
from parity.report.templating import render
from parity.report.view import rows_of

HEAD = ("case", "metric", "arm", "n", "fresh", "archived", "fresh/archived", "within", "")


def agreement(agreed: Agreement, verdicts: Kappa, origins: Sequence[Origin]) -> str:
    """A fresh dataset beside an archived one: each comparison, the counts, what was left out.

    Args:
        verdicts: agreement of the verdicts that both give on the claims they can test.
        origins: of the fresh and of the archived dataset.
    """
    table = agreed.table
    rows = [_side_by_side(row) for row in rows_of(table[table["outcome"] != NOT_COMPARED])]
    absent, arms = table[table["outcome"] == NOT_COMPARED], table["arm"].nunique()
    return render(
        "agreement.txt", origins=list(zip((agreed.fresh, agreed.archive), origins, strict=True)),
        rows=[HEAD, *rows] if rows else [], held=held(agreed.count),
        alike={"outcomes": agreed.outcomes, "verdicts on claims": verdicts},
        left_out={why: _named(of_reason, arms) for why, of_reason in absent.groupby("reason")},
    )  # fmt: skip


def _side_by_side(row: Any) -> tuple[str, ...]:
    number = wording.number
    return (
        row.case,
        row.metric,
        f"{row.arm}{' (A/A)' if row.control else ''}",
        f"{row.fresh_blocks}/{row.archive_blocks}",
        number(row.fresh_ratio),
        number(row.archive_ratio),
        f"{number(row.ratio_of_ratios)} [{number(row.low95)}, {number(row.high95)}]",
        wording.margin(row.smallest_margin),
        f"{row.outcome}{f': {row.reason}' if row.reason else ''}",
    )


def held(count: Count) -> str:
    """How many fresh ratios lie where they are expected, and how many should."""
    if not count.compared:
        return "nothing could be compared that counts"
    low, high = count.independent
    return (
        f"{count.inside} of {count.compared} ratios of both agree by their 95 % intervals; "
        f"expected {count.expected:.1f} ({low} to {high}; {count.sharing[0]} to "
        f"{count.sharing[1]} as arms share their reference)"
    )


def _named(rows: pd.DataFrame, all_arms: int) -> str:
    """Cases and metrics of some rows, with the arms if these are not nearly all."""
    several = ", ".join(dict.fromkeys(rows["case"] + " " + rows["metric"]))
    arms = sorted(set(rows["arm"]))
    return several if len(arms) > all_arms / 2 else f"{', '.join(arms)} in {several}"
