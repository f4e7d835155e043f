"""Tables of what was found: results, spread, and what became of every run.

The numbers behind them are in the dataset's analysis/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import STAGES, ComparedRow, View, rows_of

_Counts = tuple[str, ...]


def results(view: View) -> Table:
    """Every cost ratio with its interval, margin and outcome."""
    rows = [
        (
            *_quantity_and_arm(view, row),
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
            *_quantity_and_arm(view, row),
            str(row.blocks),
            formatting.estimate(row),
            formatting.unit_of(row),
            formatting.identity_note(row) or (formatting.outcome(row) if row.reason else ""),
        )
        for row in _compared(view, "difference")
    ]
    head = ("case", "arm", "n", "difference [95 % interval]", "unit", "note")
    return Table("differences", r"L{4.2cm}lrllL{4.2cm}", head, rows)


def dispersion(view: View) -> Table:
    """Median, extremes and coefficient of variation of the planned comparisons' values."""
    planned, rows = set(view.planned()), []
    for row in in_order(view, view.analysis.dispersion):
        if (row.case, row.metric) not in planned:
            continue
        quantity = formatting.quantity_of(row)
        numbers = [quantity.factor * value for value in (row.median, row.minimum, row.maximum)]
        cells = [str(row.runs), *(formatting.significant(number, 4) for number in numbers)]
        cells += [quantity.unit, formatting.percent(row.cv)]
        rows.append((*_quantity_and_arm(view, row), *cells))
    head = ("case", "arm", "n", "median", "min", "max", "unit", "CV")
    return Table("dispersion", r"L{4.2cm}lrrrrlr", head, rows)


def ledger(view: View) -> Table:
    """How many planned runs came how far; the arms of a case that came equally far in one row."""
    cases: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in in_order(view, view.analysis.ledger):
        case, arm = case_and_arm(view, row)
        counts = tuple(str(getattr(row, stage)) for stage in STAGES)
        cases.setdefault(case, {}).setdefault(counts, []).append(arm)
    rows = [
        (case, arms, *counts)
        for case, alike in cases.items()
        for arms, counts in sorted(_named(alike), key=lambda each: each[0].startswith("the other"))
    ]
    return Table("ledger", r"L{4.5cm}L{6cm}rrrrrr", ("case", "arms", *STAGES), rows)


def _named(alike: Mapping[_Counts, Sequence[str]]) -> Iterator[tuple[str, _Counts]]:
    """The arms of each count by their names; where they are most of several, by their number."""
    every = sum(map(len, alike.values()))
    for counts, arms in alike.items():
        is_most = every > 2 and len(arms) > every / 2
        which = "all" if len(alike) == 1 else "the other"
        yield f"{which} {len(arms)}" if is_most else ", ".join(arms), counts


def losses(view: View) -> Table:
    """Why planned runs were not analysed."""
    lost = view.analysis.losses
    rows = [
        (*case_and_arm(view, row), row.stage, str(row.runs), row.reason)
        for row in in_order(view, lost[lost["runs"] > 0])
    ]
    head = ("case", "arm", "reached", "runs", "reason")
    return Table("losses", r"lllrL{6cm}", head, rows, "every planned run was analysed")


def exclusions(view: View) -> Table:
    """Exclusions that a person made."""
    rows = [
        (row.block, row.run, row.reason, row.who, row.date, "yes" if row.applied else "no")
        for row in rows_of(view.analysis.exclusions)
    ]
    head = ("block", "run", "reason", "who", "date", "applied")
    return Table("exclusions", r"llL{4cm}lll", head, rows, "no run was excluded by hand")


def not_tested(view: View) -> Table:
    """What the study declares or the machine could not do, with the reason."""
    plan, lost = view.plan, view.analysis.losses
    rows = [
        (
            formatting.benchmark_title(plan, each.benchmark)
            if each.benchmark
            else "every benchmark",
            formatting.arm_title(plan, each.arm) if each.arm else "every arm",
            each.reason,
        )
        for each in plan.not_tested
    ]
    absent = lost[lost["reason"].str.startswith("not-tested") & (lost["runs"] > 0)]
    rows += [
        (*case_and_arm(view, row), row.reason.split(": ", 1)[-1]) for row in in_order(view, absent)
    ]
    head = ("what", "arm", "reason")
    return Table("not-tested", r"llL{8cm}", head, rows, "everything planned was tested")


def _compared(view: View, kind: str) -> list[ComparedRow]:
    """The planned comparisons of one kind, for the plan's own arms."""
    compared = view.analysis.comparisons
    wanted = (compared["kind"] == kind) & compared["planned"] & compared["arm"].isin(view.arms)
    return in_order(view, compared[wanted])


def _quantity_and_arm(view: View, row: Any) -> tuple[str, str]:
    """Case and quantity of a row in one, and its arm."""
    return formatting.subject_of(view.plan, row), formatting.arm_title(view.plan, row.arm)


def case_and_arm(view: View, row: Any) -> tuple[str, str]:
    """How the case and the arm of a row are called."""
    return formatting.case_title(view.plan, row.case), formatting.arm_title(view.plan, row.arm)


def in_order(view: View, table: pd.DataFrame) -> list[Any]:
    """Rows of a table in the plan's order of cases, then by metric, then in that of arms."""
    cases = {case.name: number for number, case in enumerate(view.plan.cases)}
    arms = {arm: number for number, arm in enumerate(view.arms)}
    return sorted(
        rows_of(table),
        key=lambda row: (cases[row.case], getattr(row, "metric", ""), arms.get(row.arm, len(arms))),
    )
