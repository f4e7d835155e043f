"""Tables of what was found: conclusions, answers, spread, and what became of every run."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from parity.analysis import conclusions, outcomes
from parity.analysis.decision import SPIKES
from parity.analysis.sensitivity import METHODS, NO_ESTIMATE, RANKS
from parity.benchmarks.description import CPU_SECONDS, FigureSpec, Form
from parity.core import wording
from parity.report import answer, formatting
from parity.report.figures.specs import quantity, spelt
from parity.report.tables.table import Table
from parity.report.view import STAGES, ComparedRow, View, rows_of

EFFECTS = {"level": "factor, in the arm", "level-overall": "factor, both sides",
           "arm-overall": "arm, both levels", "interaction": "interaction"}  # fmt: skip
OTHERS = tuple(method for method in METHODS if method != RANKS)
Rows = Sequence[ComparedRow]


def case_and_arm(view: View, row: Any) -> tuple[str, str]:
    """How the case and the arm of a row are called."""
    return formatting.case_title(view.plan, row.case), formatting.arm_title(view.plan, row.arm)


def in_order(view: View, table: pd.DataFrame) -> list[Any]:
    """Rows of a table in the plan's order of cases, then by metric, then in that of arms."""
    cases = {case.name: place for place, case in enumerate(view.plan.run_cases)}
    arms = {arm: place for place, arm in enumerate(view.arms)}
    return sorted(rows_of(table), key=lambda row: (
        cases[row.case], getattr(row, "metric", ""), arms.get(row.arm, len(arms))))  # fmt: skip


def _concluded(row: formatting.Row) -> tuple[str, ...]:
    return row.blocks, row.estimate, row.margin, row.outcome


def _compared(view: View, kind: str) -> list[formatting.Row]:
    """The planned comparisons of one kind, and ratios of CPU time in turn, for the plan's arms."""
    compared = view.analysis.comparisons
    of_time = (kind == "ratio") & (compared["metric"] == CPU_SECONDS.metric)
    is_told = compared["planned"] | of_time
    wanted = (compared["kind"] == kind) & is_told & compared["arm"].isin(view.arms)
    return [formatting.of(view.plan, row) for row in in_order(view, compared[wanted])]


def results(view: View) -> Table:
    """Every cost ratio with its interval, margin and outcome."""
    made = _compared(view, "ratio")
    return Table("results", [(row.subject, row.arm, *_concluded(row)) for row in made])


def differences(view: View) -> Table:
    """Comparisons without a margin, as differences in the quantity's unit."""
    return Table("differences", [
        (row.subject, row.arm, row.blocks, row.estimate, row.unit,
         row.note or (row.outcome if row.reason else ""))
        for row in _compared(view, "difference")])  # fmt: skip


def factorial(view: View) -> Table:
    """The effects of factors of two levels that are crossed with the arms."""
    plan, effects, cells = view.plan, [*EFFECTS], []
    for row in sorted(rows_of(view.analysis.factorial), key=lambda row: (
        row.cases, row.metric, effects.index(row.effect), view.arms.index(row.arm))):  # fmt: skip
        # A factor with all other levels of the case, and the two levels that are compared.
        title = formatting.benchmark_title(plan, row.benchmark)
        levels = formatting.case_levels(plan, row.cases.split()[0]).split(", ")
        words = [title, *(level for level in levels if level != spelt(row.benchmark, row.low))]
        words.append("" if row.factor in title else row.factor)
        subject = f"{', '.join(filter(None, words))}: {row.high} over {row.low}"
        made = formatting.of(plan, row, subject)
        cells.append((subject, EFFECTS[row.effect], made.arm, *_concluded(made)))
    return Table("factorial", cells)


def steps(view: View) -> Table:
    """What each step of a ladder costs over the one before."""
    arms = conclusions.ladder_order(view.plan, view.arms)
    found, cells = rows_of(view.analysis.rungs), []
    for row in sorted(found, key=lambda row: (row.case, row.metric, arms.index(row.arm))):
        made = formatting.of(view.plan, row, formatting.case_title(view.plan, row.case))
        before = formatting.arm_title(view.plan, row.before)
        cells.append((made.subject, made.arm, before, *_concluded(made)))
    return Table("rungs", cells)


def answers(view: View) -> Table:
    """How the comparisons of each quantity ended: ratios before differences, as planned."""
    # By benchmark and metric: how it is called, its arms, and its A/A pairs.
    subjects: dict[tuple[str, str], tuple[str, list[ComparedRow], list[ComparedRow]]] = {}
    for case, metric in view.planned():
        compared = view.comparisons(case, metric)
        of_arms = [compared[arm] for arm in view.arms if arm in compared]
        if not of_arms:
            continue
        benchmark = view.plan.case(case).benchmark
        label = quantity(case, metric, of_arms[0].unit, view.plan.definitions).label
        title = formatting.benchmark_title(view.plan, benchmark)
        title = wording.capital(label) if title.lower() in label.lower() else f"{title}, {label}"
        _, rows, pairs = subjects.setdefault((benchmark, metric), (title, [], []))
        rows += [row for row in view.of_arms(of_arms) if row.blocks]
        pairs += [row for row in of_arms if row.control and row.blocks]
    measured = [subject for subject in subjects.values() if subject[1]]
    measured.sort(key=lambda subject: subject[1][0].kind != "ratio")
    return Table("answers", [_answer(view, *subject) for subject in measured])


def _answer(view: View, title: str, of: Rows, pairs: Rows) -> tuple[str, ...]:
    is_ratio = of[0].kind == "ratio"
    margins = wording.listed(map(wording.margin, sorted({row.margin for row in of})))
    control = _span(view, pairs)
    if len(pairs) == 1:
        same = ", the same" * (is_ratio and formatting.is_same(pairs[0]))
        control = formatting.estimate(pairs[0]) + same
    elif pairs and is_ratio:
        control = f"the same in {sum(map(formatting.is_same, pairs))} of {len(pairs)}"
        far = sum(row.reason == SPIKES and row.region == outcomes.EQUIVALENT for row in pairs)
        control += f", {far} but for far runs" * bool(far)
    return (title, margins if is_ratio else "–", wording.span([row.blocks for row in of]),
            f"{len(of)}", *(map(str, answer.tallied(of).values()) if is_ratio else "–––––"),
            _span(view, of), control)  # fmt: skip


def _span(view: View, of: Rows, whole: bool = False) -> str:
    """The smallest and the largest estimate, each with its arm; `whole`: with its interval."""
    if not of:
        return "none"
    told = []
    for row in (pick(of, key=lambda row: row.estimate) for pick in (min, max)):
        estimate = formatting.estimate(row)
        number = estimate if whole else estimate.partition(" [")[0]
        told.append(f"{number} ({formatting.arm_title(view.plan, row.arm)})")
    unit = "" if whole else formatting.unit_of(of[0])
    return f"{' to '.join(dict.fromkeys(told))} {unit}".rstrip()


def _ends(values: Sequence[float]) -> str:
    ends = [wording.number(pick(values)) for pick in (min, max) if len(values)]
    return " to ".join(dict.fromkeys(ends)) or "–"


def beside(view: View) -> Table:
    """Published ratios beside the range of ours; machines differ, so no verdict follows from it."""
    cells: list[tuple[str, ...]] = []
    for spec in (spec for spec in view.figures if view.shown(spec)):
        if spec.published:
            ends = _ends(spec.published)
            cells += [(spec.title, what, ends, _span(view, rows, whole=True), spec.source)
                      for what, rows in _measured(view, spec)]  # fmt: skip
        for of_series in view.series(spec):
            curves = view.curves(spec, of_series)
            what = f"{wording.capital(of_series.title)}, {spec.along.replace('_', ' ')}"
            for label, bars in view.published_ratios(spec, of_series).items():
                cells += [(spec.title, f"{what} {level}", wording.significant(ratio),
                           _ends([*curves.loc[curves["level"] == level, "value"]]), label)
                          for level, ratio in bars.items()]  # fmt: skip
    return Table("beside", cells)


def _measured(view: View, spec: FigureSpec) -> Iterator[tuple[str, Rows]]:
    """What of a figure stands beside a published ratio: the factor natively, or all arms."""
    if view.form(spec) is Form.CROSSED:
        effects = view.crossed(spec)
        of_level = effects[(effects["effect"] == "level") & (effects["arm"] == view.plan.reference)]
        for row in (row for row in rows_of(of_level) if row.blocks):
            yield f"{formatting.arm_title(view.plan, row.arm)}, {row.high} over {row.low}", [row]
        return
    for case in view.shown(spec):
        compared = view.comparisons(case, spec.quantities[0].metric).values()
        if found := [row for row in view.of_arms(compared) if row.blocks]:
            yield formatting.case_title(view.plan, case), found


def sensitivity(view: View) -> Table:
    """The ratios that end otherwise by another method, before any gate."""
    cells = []
    for by_method in methods(view):
        own = by_method[RANKS]
        if not any(differs(by_method[method], own) for method in OTHERS):
            continue
        label = quantity(own.case, own.metric, "", view.plan.definitions).label
        ended = []
        for row in (by_method[method] for method in METHODS):
            known = _ended(row) if row is own or differs(row, own) else "same"
            ended.append(str(row.note) if row.outcome == NO_ESTIMATE else known)
        subject = formatting.subject(view.plan, own.case, label)
        cells.append((subject, formatting.arm_title(view.plan, own.arm), *ended))
    return Table("sensitivity", cells, dict.fromkeys(METHODS, "L{1.6cm}"))


def methods(view: View) -> list[dict[str, Any]]:
    """The planned ratios in the order of the plan, each as rows by method."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows_of(view.analysis.sensitivity):
        found.setdefault((row.case, row.metric, row.arm), {})[row.method] = row
    keys = [(*planned, arm) for planned in view.planned() for arm in view.arms]
    return [found[key] for key in keys if key in found]


def differs(row: Any, own: Any) -> bool:
    """Whether another method ends otherwise than the comparison; one without any does not."""
    return NO_ESTIMATE not in (row.outcome, own.outcome) and _ended(row) != _ended(own)


def _ended(row: Any) -> str:
    if row.outcome != outcomes.DIFFERENT:
        return str(row.outcome)
    return "costs more" if row.estimate > 1 else "costs less"


def dispersion(view: View) -> Table:
    """Median, extremes and coefficient of variation of the planned comparisons' values."""
    planned, cells = set(view.planned()), []
    for row in in_order(view, view.analysis.dispersion):
        if (row.case, row.metric) in planned:
            of = formatting.quantity_of(row)
            numbers = [wording.significant(of.factor * value, 4)
                       for value in (row.median, row.minimum, row.maximum)]  # fmt: skip
            what = formatting.subject_of(view.plan, row), formatting.arm_title(view.plan, row.arm)
            cells.append((*what, str(row.runs), *numbers, of.unit, wording.percent(row.cv)))
    return Table("dispersion", cells)


def ledger(view: View) -> Table:
    """How many planned runs came how far; the arms of a case that came equally far in one row."""
    cases: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in in_order(view, view.analysis.ledger):
        case, arm = case_and_arm(view, row)
        counts = tuple(str(getattr(row, stage)) for stage in STAGES)
        cases.setdefault(case, {}).setdefault(counts, []).append(arm)
    cells = list[tuple[str, ...]]()
    for case, alike in cases.items():
        every, last = sum(map(len, alike.values())), list[tuple[str, ...]]()
        for counts, arms in alike.items():
            # Most arms of several are told by their number, and stand last.
            is_most = every > 2 and len(arms) > every / 2
            which = "all" if len(alike) == 1 else "the other"
            names = f"{which} {len(arms)}" if is_most else ", ".join(arms)
            (last if is_most else cells).append((case, names, *counts))
        cells += last
    return Table("ledger", cells)


def losses(view: View) -> Table:
    """Why planned runs were not analysed."""
    lost = view.analysis.losses
    cells = [(*case_and_arm(view, row), row.stage, str(row.runs), row.reason)
             for row in in_order(view, lost[lost["runs"] > 0])]  # fmt: skip
    return Table("losses", cells)


def exclusions(view: View) -> Table:
    """Exclusions that a person made."""
    cells = [(row.block, row.run, row.reason, row.who, row.date, "yes" if row.applied else "no")
             for row in rows_of(view.analysis.exclusions)]  # fmt: skip
    return Table("exclusions", cells)


def not_tested(view: View) -> Table:
    """What the study declares or the machine could not do, with the reason."""
    plan, lost = view.plan, view.analysis.losses
    cells: list[Iterable[str]] = [
        (formatting.benchmark_title(plan, no.benchmark) if no.benchmark else "every benchmark",
         formatting.arm_title(plan, no.arm) if no.arm else "every arm", no.reason)
        for no in plan.not_tested]  # fmt: skip
    absent = lost[lost["reason"].str.startswith("not-tested") & (lost["runs"] > 0)]
    cells += [(*case_and_arm(view, row), row.reason.split(": ", 1)[-1])
              for row in in_order(view, absent)]  # fmt: skip
    return Table("not-tested", [tuple(cell) for cell in cells])
