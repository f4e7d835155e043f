"""A fresh dataset beside an archived one, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from parity.analysis.agreement import NOT_COMPARED, Agreement, Count
from parity.report.origin import Origin
from parity.report.text import formatting
from parity.report.text.summary import aligned

COLUMNS = ("case", "metric", "arm", "n", "fresh", "archived", "predicted", "fresh/archived", "")


def count_sentence(count: Count) -> str:
    """How many predictions came true, and how many should."""
    if not count.compared:
        return "nothing could be compared that counts"
    inside, all_of, shared = count.inside, count.compared, count.sharing
    low, high = count.independent
    return (
        f"{inside} of {all_of} fresh ratios lie where the archive predicts them; expected "
        f"{count.expected:.1f} ({low} to {high}; {shared[0]} to {shared[1]} as arms share their "
        "reference)"
    )


def page(found: Agreement, origins: Sequence[Origin]) -> str:
    """The whole page: a row for each comparison, the count, and what was left out.

    Args:
        origins: of the fresh and of the archived dataset.
    """
    names = ((found.fresh, "fresh"), (found.archive, "archived"))
    head = [
        f"{word}: {name}, {', '.join(origin.systems)}{'. ' if origin.note else ''}{origin.note}"
        for (name, word), origin in zip(names, origins, strict=True)
    ]
    rows = [row for row in found.table.itertuples(index=False) if row.outcome != NOT_COMPARED]
    body = aligned([COLUMNS, *map(_cells, rows)]) if rows else "  nothing to compare"
    return "\n".join([*head, body, f"  {count_sentence(found.count)}", *_left_out(found)]) + "\n"


def _cells(row: Any) -> tuple[str, ...]:
    number = formatting.number
    return (
        row.case,
        row.metric,
        f"{row.arm}{' (A/A)' if row.control else ''}",
        f"{row.fresh_blocks}/{row.archive_blocks}",
        number(row.fresh_ratio),
        number(row.archive_ratio),
        f"[{number(row.predicted_low95)}, {number(row.predicted_high95)}]",
        f"{number(row.ratio_of_ratios)} [{number(row.low95)}, {number(row.high95)}]",
        f"{row.outcome}{'' if row.counted else '*'}",
    )


def _left_out(found: Agreement) -> list[str]:
    """What is not counted (marked *) or not compared, by reason."""
    lines = []
    for word, is_compared in (("* not counted", True), ("not compared", False)):
        rows = found.table[(found.table["outcome"] != NOT_COMPARED) == is_compared]
        rows = rows[rows["reason"] != ""]
        for reason, group in rows.groupby("reason", sort=True):
            lines.append(f"  {word}: {_named(group, set(found.table['arm']))}: {reason}")
    return lines


def _named(rows: pd.DataFrame, arms: set[str]) -> str:
    """Cases and metrics of some rows, with the arms if these are not nearly all."""
    named = rows["case"] + " " + rows["metric"]
    several = ", ".join(dict.fromkeys(named))
    those = sorted(set(rows["arm"]))
    return several if len(those) > len(arms) / 2 else f"{', '.join(those)} in {several}"
