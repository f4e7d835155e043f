"""A page of plain text for the terminal: the plan, the ledger, the A/A pair."""

from __future__ import annotations

from collections.abc import Sequence

from parity.report.text import formatting, sentences
from parity.report.view import View


def summary(view: View) -> str:
    """What was planned, how far the runs came, and what the A/A pair gives."""
    parts = [_plan(view), _ledger(view), _control(view), _exclusions(view)]
    parts.append(sentences.abstract(view))
    return "\n\n".join(part for part in parts if part) + "\n"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns; a column whose last cell is a count is flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    flush_right = [cell.isdigit() for cell in rows[-1]]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, flush_right, strict=True)
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def _plan(view: View) -> str:
    plan = view.plan
    margins = {c["case"]: formatting.margin(c["margin"]) for c in plan.cases}
    cases = ", ".join(f"{case} {margin}" for case, margin in margins.items())
    note = f"\n  {', '.join(view.origin.systems)}: {view.origin.note}" if view.origin.note else ""
    return (
        f"Plan {plan['campaign']}: {plan['title']}\n"
        f"  {view.blocks} blocks, seed {plan['seed']}, {len(plan['cases'])} cases, "
        f"{len(plan['arms'])} arms\n"
        f"  arms:  {', '.join(plan['arms'])}\n"
        f"  cases: {cases}{note}"
    )


def _ledger(view: View) -> str:
    columns = ["planned", "ran", "parsed", "valid", "analysed", "attempts"]
    by_arm = view.analysis.ledger.groupby("arm")[columns].sum()
    rows = [["arm", *columns]]
    rows += [[arm, *map(str, by_arm.loc[arm])] for arm in view.plan.arms if arm in by_arm.index]
    rows.append(["total", *map(str, by_arm.sum())])
    losses = view.analysis.losses
    lost = losses[losses["runs"] > 0].groupby("reason")["runs"].sum()
    reasons = "\n".join(f"  {count} × {reason}" for reason, count in lost.items())
    return "Ledger\n" + aligned(rows) + (f"\nNot analysed\n{reasons}" if reasons else "")


def _control(view: View) -> str:
    found = view.analysis.comparisons
    found = found[found["control"] & found["planned"]]
    rows = [
        (row.case, row.metric, f"n={row.blocks}", formatting.estimate(row), formatting.unit_of(row),
         formatting.outcome(row))
        for row in found.itertuples(index=False)
    ]  # fmt: skip
    pair = f"{view.dataset.double} against {view.plan['reference']}"
    head = f"A/A pair: {pair}, 95 % interval"
    return head + "\n" + (aligned(rows) if rows else "  not planned")


def _exclusions(view: View) -> str:
    found = view.analysis.exclusions
    if not len(found):
        return "Exclusions: none"
    lines = [
        f"  {row.block} {row.run}: {row.reason} ({row.who}, {row.date})"
        + ("" if row.applied else " - not in this dataset")
        for row in found.itertuples(index=False)
    ]
    return "\n".join(["Exclusions", *lines])
