"""How the comparisons of each quantity ended, and which published ratios stand beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parity.analysis import outcomes
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import capital, listed, span
from parity.report import along, rows
from parity.report.figures.specs import quantity
from parity.report.tables.table import Table
from parity.report.text import formatting
from parity.report.view import ComparedRow, View, rows_of

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
        listed(map(formatting.margin, sorted({r.margin for r in subject.rows})))
        if is_ratio
        else "–"
    )
    yield span([row.blocks for row in subject.rows])
    yield str(len(subject.rows))
    yield from map(str, rows.tallied(subject.rows).values()) if is_ratio else "––––"
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
            low, high = (formatting.number(pick(spec.published)) for pick in (min, max))
            published = low if low == high else f"{low} to {high}"
            cells += [(spec.title, what, published, _range(view, found), spec.source)
                      for what, found in _measured(view, spec)]  # fmt: skip
        for series in view.series(spec):
            points = [point for of_arm in along.curves(view, spec, series).values()
                      for point in of_arm]  # fmt: skip
            for label, of_level in along.published(view, spec, series).items():
                for level, ratio in of_level.items():
                    ours = [point.value for point in points if point.level == level]
                    here = [formatting.number(pick(ours)) for pick in (min, max) if ours]
                    what = f"{capital(series.title)}, {spec.along.replace('_', ' ')} {level}"
                    cells.append((spec.title, what, formatting.significant(ratio),
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
