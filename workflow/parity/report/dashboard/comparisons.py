"""What the page holds of comparisons: all of an archive, in the form of a claim's evidence."""

from __future__ import annotations

from typing import Any

from parity.analysis import outcomes
from parity.report.dashboard.runs import plain
from parity.report.rows import ended_of
from parity.report.view import ComparedRow, View, rows_of

_SAME = (
    "case", "metric", "arm", "planned", "blocks", "estimate", "low95", "high95", "low90",
    "high90", "margin", "smallest_margin", "reason", "identity",
)  # fmt: skip
_ENDS = ("estimate", "low95", "high95")


def comparisons(view: View) -> list[dict[str, Any]]:
    """Every comparison, planned or only reported, with its runtime and its A/A pair.

    A row has the columns of `evidence` in parity.claims.verdicts that are not of claims, and:
    `runtime`, its column in the matrix, which is the arm's own for another native; `planned`;
    `is_control`; `is_asked`, whether it is of no control, of either kind.
    """
    runtimes = view.plan.arm_runtimes
    native = runtimes[view.plan.reference]
    asked = {row.arm for row in view.of_arms(rows_of(view.analysis.comparisons))}
    made = []
    for row in rows_of(view.analysis.comparisons):
        runtime = runtimes.get(row.arm, row.arm)
        made.append(
            {name: plain(getattr(row, name)) for name in _SAME}
            | {
                "runtime": row.arm if runtime == native else runtime,
                "against": row.reference,
                "verdict": ended_of(row),
                "unit": "ratio" if row.kind == "ratio" else row.unit,
                "p_value": plain(row.p_equivalence),
                "is_control": row.control,
                "is_asked": row.arm in asked,
            }
            | _control(view, row)
        )
    return made


def _control(view: View, row: ComparedRow) -> dict[str, Any]:
    """The A/A pair of a comparison: the outcome by which it gates, and its own numbers."""
    control = view.compared.get((row.case, row.metric, view.plan.double))
    if control is None or not control.decision.blocks:
        return {"control": "none"}
    numbers, gate = control.columns(), control.decision.as_control
    return {
        "control": "no-margin" if gate == outcomes.REPORTED else gate,
        **{f"control_{name}": plain(numbers[name]) for name in _ENDS},
    }
