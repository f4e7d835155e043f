"""Tables of what was found: conclusions, answers, spread, and what became of every run.

The numbers behind them are in the dataset's analysis/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from parity.analysis import conclusions, outcomes
from parity.analysis.sensitivity import METHODS, NO_ESTIMATE, PAIRED
from parity.benchmarks.description import FigureSpec, Form
from parity.core import wording
from parity.core.wording import capital, listed, span
from parity.report import formatting, series
from parity.report.figures.specs import quantity, spelt
from parity.report.formatting import Row
from parity.report.tables.table import Table
from parity.report.view import STAGES, ComparedRow, View, rows_of

EFFECTS = {
    "level": "factor, in the arm",
    "level-overall": "factor, both sides",
    "arm-overall": "arm, both levels",
    "interaction": "interaction",
}
OTHERS = tuple(method for method in METHODS if method != PAIRED)


def results(view: View) -> Table:
    """Every cost ratio with its interval, margin and outcome."""
    cells = [(row.subject, row.arm, *_concluded(row)) for row in _compared(view, "ratio")]
    return Table("results", cells)


def differences(view: View) -> Table:
    """Comparisons without a margin, as differences in the quantity's unit."""
    cells = [
        (row.subject, row.arm, row.blocks, row.estimate, row.unit,
         row.note or (row.outcome if row.reason else ""))
        for row in _compared(view, "difference")
    ]  # fmt: skip
    return Table("differences", cells)


def factorial(view: View) -> Table:
    """The effects of factors of two levels that are crossed with the arms."""
    effects, arms = [*EFFECTS], {arm: place for place, arm in enumerate(view.arms)}
    found = sorted(
        rows_of(view.analysis.factorial.assign(kind="ratio")),
        key=lambda row: (row.cases, row.metric, effects.index(row.effect), arms[row.arm]),
    )
    made = [(row, formatting.of(view.plan, row, _crossed(view, row))) for row in found]
    return Table(
        "factorial", [(r.subject, EFFECTS[row.effect], r.arm, *_concluded(r)) for row, r in made]
    )


def _crossed(view: View, row: Any) -> str:
    """A factor with all other levels of the case, and the two levels that are compared."""
    levels = formatting.case_levels(view.plan, row.cases.split()[0]).split(", ")
    others = [level for level in levels if level != spelt(row.benchmark, row.low)]
    title = formatting.benchmark_title(view.plan, row.benchmark)
    factor = "" if row.factor in title else row.factor
    return f"{', '.join(filter(None, (title, *others, factor)))}: {row.high} over {row.low}"


def steps(view: View) -> Table:
    """What each step of a ladder costs over the one before."""
    arms = {arm: place for place, arm in enumerate(conclusions.ladder_order(view.plan, view.arms))}
    found = sorted(
        rows_of(view.analysis.rungs.assign(kind="ratio")),
        key=lambda row: (row.case, row.metric, arms[row.arm]),
    )
    made = [(row, formatting.of(view.plan, row, formatting.case_title(view.plan, row.case)))
            for row in found]  # fmt: skip
    before = {row.before: formatting.arm_title(view.plan, row.before) for row in found}
    return Table("rungs", [(r.subject, r.arm, before[row.before], *_concluded(r))
                           for row, r in made])  # fmt: skip


def _concluded(row: Row) -> tuple[str, ...]:
    return row.blocks, row.estimate, row.margin, row.outcome


def _compared(view: View, kind: str) -> list[Row]:
    """The planned comparisons of one kind, for the plan's own arms."""
    compared = view.analysis.comparisons
    wanted = (compared["kind"] == kind) & compared["planned"] & compared["arm"].isin(view.arms)
    return [formatting.of(view.plan, row) for row in in_order(view, compared[wanted])]


def sensitivity(view: View) -> Table:
    """The ratios that end otherwise by at least one method, before any gate."""
    cells = []
    for by_method in methods(view):
        paired = by_method[PAIRED]
        if not any(differs(by_method[method], paired) for method in OTHERS):
            continue
        label = quantity(paired.case, paired.metric, "", view.plan.definitions).label
        subject = formatting.subject(view.plan, paired.case, label)
        arm = formatting.arm_title(view.plan, paired.arm)
        cells.append((subject, arm, *(_by(by_method[method], paired) for method in METHODS)))
    return Table("sensitivity", cells, dict.fromkeys(METHODS, "L{1.6cm}"))


def methods(view: View) -> list[dict[str, Any]]:
    """The planned ratios in the order of the plan, each as rows by method."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows_of(view.analysis.sensitivity):
        found.setdefault((row.case, row.metric, row.arm), {})[row.method] = row
    keys = [(*planned, arm) for planned in view.planned() for arm in view.arms]
    return [found[key] for key in keys if key in found]


def differs(row: Any, paired: Any) -> bool:
    """Whether another method ends otherwise than the paired estimate; one without any does not."""
    unknown = NO_ESTIMATE in (row.outcome, paired.outcome)
    return not unknown and formatting.ended_of(row) != formatting.ended_of(paired)


def _by(row: Any, paired: Any) -> str:
    if row.outcome == NO_ESTIMATE:
        return str(row.note)
    return formatting.ended_of(row) if row is paired or differs(row, paired) else "same"


def dispersion(view: View) -> Table:
    """Median, extremes and coefficient of variation of the planned comparisons' values."""
    planned, cells = set(view.planned()), []
    for row in in_order(view, view.analysis.dispersion):
        if (row.case, row.metric) in planned:
            of = formatting.quantity_of(row)
            numbers = [of.factor * value for value in (row.median, row.minimum, row.maximum)]
            shown = [wording.significant(number, 4) for number in numbers]
            what = formatting.subject_of(view.plan, row), formatting.arm_title(view.plan, row.arm)
            cells.append((*what, str(row.runs), *shown, of.unit, wording.percent(row.cv)))
    return Table("dispersion", cells)


def ledger(view: View) -> Table:
    """How many planned runs came how far; the arms of a case that came equally far in one row."""
    cases: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in in_order(view, view.analysis.ledger):
        case, arm = case_and_arm(view, row)
        counts = tuple(str(getattr(row, stage)) for stage in STAGES)
        cases.setdefault(case, {}).setdefault(counts, []).append(arm)
    cells = [
        (case, arms, *counts)
        for case, alike in cases.items()
        for arms, counts in sorted(_named(alike), key=lambda each: each[0].startswith("the other"))
    ]
    return Table("ledger", cells)


def _named(alike: Mapping[tuple[str, ...], Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The arms of each count by their names; where they are most of several, by their number."""
    every = sum(map(len, alike.values()))
    for counts, arms in alike.items():
        is_most = every > 2 and len(arms) > every / 2
        which = "all" if len(alike) == 1 else "the other"
        yield f"{which} {len(arms)}" if is_most else ", ".join(arms), counts


def losses(view: View) -> Table:
    """Why planned runs were not analysed."""
    lost = view.analysis.losses
    cells = [
        (*case_and_arm(view, row), row.stage, str(row.runs), row.reason)
        for row in in_order(view, lost[lost["runs"] > 0])
    ]
    return Table("losses", cells)


def exclusions(view: View) -> Table:
    """Exclusions that a person made."""
    cells = [
        (row.block, row.run, row.reason, row.who, row.date, "yes" if row.applied else "no")
        for row in rows_of(view.analysis.exclusions)
    ]
    return Table("exclusions", cells)


def not_tested(view: View) -> Table:
    """What the study declares or the machine could not do, with the reason."""
    plan, lost = view.plan, view.analysis.losses
    cells = [
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
    cells += [
        (*case_and_arm(view, row), row.reason.split(": ", 1)[-1]) for row in in_order(view, absent)
    ]
    return Table("not-tested", cells)


def case_and_arm(view: View, row: Any) -> tuple[str, str]:
    """How the case and the arm of a row are called."""
    return formatting.case_title(view.plan, row.case), formatting.arm_title(view.plan, row.arm)


def in_order(view: View, table: pd.DataFrame | Iterable[Any]) -> list[Any]:
    """Rows of a table in the plan's order of cases, then by metric, then in that of arms."""
    cases = {case.name: place for place, case in enumerate(view.plan.cases)}
    arms = {arm: place for place, arm in enumerate(view.arms)}
    return sorted(
        rows_of(table) if isinstance(table, pd.DataFrame) else table,
        key=lambda row: (cases[row.case], getattr(row, "metric", ""), arms.get(row.arm, len(arms))),
    )


Rows = Sequence[ComparedRow]


@dataclass
class Subject:
    """A quantity of one program in all of its cases.

    Attributes:
        rows: the measured comparisons of the arms that are asked about.
        controls: those of the A/A pair.
    """

    title: str
    rows: list[ComparedRow] = field(default_factory=list)
    controls: list[ComparedRow] = field(default_factory=list)


def answers(view: View) -> Table:
    """What the plan compares, ratios before differences, in its order."""
    found: dict[tuple[str, str], Subject] = {}
    for case, metric in view.planned():
        compared = view.comparisons(case, metric)
        of_arms = [compared[arm] for arm in view.arms if arm in compared]
        if not of_arms:
            continue
        benchmark = view.plan.case(case).benchmark
        label = quantity(case, metric, of_arms[0].unit, view.plan.definitions).label
        title = formatting.benchmark_title(view.plan, benchmark)
        title = capital(label) if title.lower() in label.lower() else f"{title}, {label}"
        subject = found.setdefault((benchmark, metric), Subject(title))
        subject.rows += [row for row in view.of_arms(of_arms) if row.blocks]
        subject.controls += [row for row in of_arms if row.control and row.blocks]
    measured = [subject for subject in found.values() if subject.rows]
    ordered = sorted(measured, key=lambda subject: subject.rows[0].kind != "ratio")
    return Table("answers", [tuple(_cells(view, subject)) for subject in ordered])


def _cells(view: View, subject: Subject) -> Iterator[str]:
    is_ratio = subject.rows[0].kind == "ratio"
    yield subject.title
    yield (
        listed(map(wording.margin, sorted({r.margin for r in subject.rows}))) if is_ratio else "–"
    )
    yield span([row.blocks for row in subject.rows])
    yield str(len(subject.rows))
    yield from map(str, formatting.tallied(subject.rows).values()) if is_ratio else "––––"
    yield _span(view, subject.rows)
    pairs = subject.controls
    if len(pairs) == 1:
        ended = f", {pairs[0].outcome}" if is_ratio else ""
        yield f"{formatting.estimate(pairs[0])}{ended}"
    else:
        good = sum(row.outcome == outcomes.EQUIVALENT for row in pairs)
        yield f"equivalent in {good} of {len(pairs)}" if pairs and is_ratio else _span(view, pairs)


def _span(view: View, of: Rows) -> str:
    """The smallest and the largest estimate, each with its arm."""
    if not of:
        return "none"
    ends = [pick(of, key=lambda row: row.estimate) for pick in (min, max)]
    numbers = [formatting.estimate(row).partition(" [")[0] for row in ends]
    arms = [formatting.arm_title(view.plan, row.arm) for row in ends]
    told = [f"{number} ({arm})" for number, arm in zip(numbers, arms, strict=True)]
    unit = formatting.unit_of(of[0])
    return f"{' to '.join(dict.fromkeys(told))} {unit}".rstrip()


def beside(view: View) -> Table:
    """Published ratios beside the range of ours; machines differ, so no verdict follows from it."""
    cells: list[tuple[str, ...]] = []
    for spec in view.figures:
        if not view.shown(spec):
            continue
        if spec.published:
            low, high = (wording.number(pick(spec.published)) for pick in (min, max))
            published = low if low == high else f"{low} to {high}"
            cells += [(spec.title, what, published, _range(view, found), spec.source)
                      for what, found in _measured(view, spec)]  # fmt: skip
        for of_series in view.series(spec):
            points = [point for of_arm in series.curves(view, spec, of_series).values()
                      for point in of_arm]  # fmt: skip
            for label, of_level in series.published(view, spec, of_series).items():
                for level, ratio in of_level.items():
                    ours = [point.value for point in points if point.level == level]
                    here = [wording.number(pick(ours)) for pick in (min, max) if ours]
                    what = f"{capital(of_series.title)}, {spec.along.replace('_', ' ')} {level}"
                    cells.append((spec.title, what, wording.significant(ratio),
                                  " to ".join(dict.fromkeys(here)) or "–", label))  # fmt: skip
    return Table("beside", cells)


def _measured(view: View, spec: FigureSpec) -> Iterator[tuple[str, Rows]]:
    """What of a figure stands beside a published ratio: the factor natively, or all arms."""
    if view.form(spec) is Form.CROSSED:
        effects = view.crossed(spec)
        of_level = effects[(effects["effect"] == "level") & (effects["arm"] == view.plan.reference)]
        yield from (
            (f"{formatting.arm_title(view.plan, row.arm)}, {row.high} over {row.low}", [row])
            for row in rows_of(of_level) if row.blocks
        )  # fmt: skip
        return
    for case in view.shown(spec):
        compared = view.comparisons(case, spec.quantities[0].metric).values()
        found = [row for row in view.of_arms(compared) if row.blocks]
        if found:
            yield formatting.case_title(view.plan, case), found


def _range(view: View, of: Rows) -> str:
    """The smallest and the largest estimate with their intervals and arms."""
    ends = [pick(of, key=lambda row: row.estimate) for pick in (min, max)]
    told = [
        f"{formatting.estimate(row)} ({formatting.arm_title(view.plan, row.arm)})" for row in ends
    ]
    return " to ".join(dict.fromkeys(told))
