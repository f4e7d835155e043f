"""Tables of what was found: results, spread, and what became of every run.

The numbers behind them are in the dataset's analysis/.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from parity.report.tables.table import Table
from parity.report.text import contrasts, formatting
from parity.report.view import View


def of_results(view: View) -> list[Table]:
    """The tables of this module."""
    return [
        results(view),
        differences(view),
        contrasts.factorial(view),
        contrasts.steps(view),
        dispersion(view),
        ledger(view),
        losses(view),
        exclusions(view),
        not_tested(view),
    ]


def results(view: View) -> Table:
    """Every cost ratio with its interval, margin and outcome."""
    rows = [
        (
            _what(view, row),
            formatting.arm_title(view.plan, row.arm),
            str(row.blocks),
            formatting.estimate(row),
            formatting.margin(row.margin),
            "; ".join(filter(None, (formatting.outcome(row), formatting.identity_note(row)))),
        )
        for row in _compared(view, "ratio")
    ]
    head = ("case", "arm", "n", "ratio [95 % interval]", "margin", "outcome")
    return Table("results", r"L{4.2cm}lrllL{4.8cm}", head, rows)


def differences(view: View) -> Table:
    """Comparisons without a margin, as differences in the quantity's unit."""
    rows = [
        (
            _what(view, row),
            formatting.arm_title(view.plan, row.arm),
            str(row.blocks),
            formatting.estimate(row),
            formatting.unit_of(row),
            formatting.identity_note(row) or (formatting.outcome(row) if row.reason else ""),
        )
        for row in _compared(view, "difference")
    ]
    head = ("case", "arm", "n", "difference [95 % interval]", "unit", "note")
    return Table("differences", r"L{4.2cm}lrllL{4.2cm}", head, rows)


def _compared(view: View, kind: str) -> list[Any]:
    """The planned comparisons of one kind, for the plan's own arms."""
    found = view.analysis.comparisons
    wanted = (found["kind"] == kind) & found["planned"] & found["arm"].isin(view.arms)
    return _in_order(view, found[wanted])


def _what(view: View, row: Any) -> str:
    """Case and quantity of a row."""
    return formatting.subject(view.plan, row.case, formatting.quantity_of(row).label)


def _in_order(view: View, frame: pd.DataFrame) -> list[Any]:
    """Rows of a table in the plan's order of cases, then by metric, then in that of arms."""
    cases = {case["case"]: number for number, case in enumerate(view.plan.cases)}
    arms = {arm: number for number, arm in enumerate(view.arms)}
    return sorted(
        frame.itertuples(index=False),
        key=lambda row: (cases[row.case], getattr(row, "metric", ""), arms.get(row.arm, len(arms))),
    )


def dispersion(view: View) -> Table:
    """Median, extremes and coefficient of variation of the planned comparisons' values."""
    planned = set(view.planned())
    rows = [
        (
            _what(view, row),
            formatting.arm_title(view.plan, row.arm),
            str(row.runs),
            *(
                formatting.significant(formatting.quantity_of(row).factor * value, 4)
                for value in (row.median, row.minimum, row.maximum)
            ),
            formatting.quantity_of(row).unit,
            formatting.percent(row.cv),
        )
        for row in _in_order(view, view.analysis.dispersion)
        if (row.case, row.metric) in planned
    ]
    head = ("case", "arm", "n", "median", "min", "max", "unit", "CV")
    return Table("dispersion", r"L{4.2cm}lrrrrlr", head, rows)


def ledger(view: View) -> Table:
    """How many planned runs came how far."""
    rows = [
        (
            formatting.case_title(view.plan, row.case),
            formatting.arm_title(view.plan, row.arm),
            *(str(getattr(row, key)) for key in ("planned", "ran", "parsed", "valid", "analysed")),
            str(row.attempts),
        )
        for row in _in_order(view, view.analysis.ledger)
    ]
    head = ("case", "arm", "planned", "ran", "parsed", "valid", "analysed", "attempts")
    return Table("ledger", "llrrrrrr", head, rows)


def losses(view: View) -> Table:
    """Why planned runs were not analysed."""
    lost = view.analysis.losses
    rows = [
        (
            formatting.case_title(view.plan, row.case),
            formatting.arm_title(view.plan, row.arm),
            row.stage,
            str(row.runs),
            row.reason,
        )
        for row in _in_order(view, lost[lost["runs"] > 0])
    ]
    head = ("case", "arm", "reached", "runs", "reason")
    return Table("losses", r"lllrL{6cm}", head, rows, "every planned run was analysed")


def exclusions(view: View) -> Table:
    """Exclusions that a person made."""
    rows = [
        (row.block, row.run, row.reason, row.who, row.date, "yes" if row.applied else "no")
        for row in view.analysis.exclusions.itertuples(index=False)
    ]
    head = ("block", "run", "reason", "who", "date", "applied")
    return Table("exclusions", r"llL{4cm}lll", head, rows, "no run was excluded by hand")


def not_tested(view: View) -> Table:
    """What the study declares or the machine could not do, with the reason."""
    declared = [
        (
            formatting.benchmark_title(view.plan, entry["benchmark"])
            if "benchmark" in entry
            else "every benchmark",
            formatting.arm_title(view.plan, entry["arm"]) if "arm" in entry else "every arm",
            entry["reason"],
        )
        for entry in view.plan.not_tested
    ]
    lost = view.analysis.losses
    absent = lost[lost["reason"].str.startswith("not-tested") & (lost["runs"] > 0)]
    found = [
        (
            formatting.case_title(view.plan, row.case),
            formatting.arm_title(view.plan, row.arm),
            row.reason.split(": ", 1)[-1],
        )
        for row in _in_order(view, absent)
    ]
    head = ("what", "arm", "reason")
    return Table("not-tested", r"llL{8cm}", head, declared + found, "everything planned was tested")
