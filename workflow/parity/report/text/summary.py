"""Pages of plain text for the terminal: a dataset, and a fresh one beside an archived one."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd

from parity.analysis.agreement import NOT_COMPARED, Agreement, Count
from parity.analysis.outcomes import DIFFERENT
from parity.analysis.statistics.kappa import Kappa
from parity.benchmarks.figure_spec import Form
from parity.core.wording import counted
from parity.records.timed import CaseTime
from parity.report.origin import Origin
from parity.report.text import formatting, noise, sentences
from parity.report.view import STAGES, View, rows_of

LETTERS = 80  # of a line, as in a terminal that nobody has made wider
MOST = 12  # comparisons that are listed below the answer
AGREEMENT = ("case", "metric", "arm", "n", "fresh", "archived", "fresh/archived", "within", "")


def summary(view: View, times: Sequence[CaseTime] = (), lasted: float = 0.0) -> str:
    """The answer first and last; what was planned, the ledger, where time went, the A/A pair.

    Args:
        times: of each case; none to say nothing of it.
        lasted: seconds of all sessions together.
    """
    # What was imported says nothing of how long it took.
    time = [_time(times, lasted)] if times and lasted else []
    answer = _wrapped(sentences.abstract(view))
    parts = [*_costs(view), _plan(view), _ledger(view), *time, _control(view), _exclusions(view)]
    at_scale = [
        noise.of_replay(view, s) for s in view.figures if s.form is Form.REPLAY and view.shown(s)
    ]
    parts += [f"At scale\n{_wrapped(text, '  ')}" for text in at_scale if text]
    return "\n\n".join([answer, *parts, answer]) + "\n"


def _wrapped(text: str, label: str = "") -> str:
    """A sentence or a list in lines of a terminal, all as far in as what stands behind a label."""
    return textwrap.fill(
        text, LETTERS, initial_indent=label, subsequent_indent=" " * len(label),
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


def _plan(view: View) -> str:
    plan = view.plan
    cases = ", ".join(f"{case.name} {formatting.margin(case.margin)}" for case in plan.cases)
    lines = [
        _wrapped(f"Plan {plan.campaign}: {plan.title}"),
        f"  {counted(view.blocks, 'block')}, seed {plan.seed}, "
        f"{counted(len(plan.cases), 'case')}, {counted(len(plan.arms), 'arm')}",
        _wrapped(", ".join(plan.arms), "  arms:  "),
        _wrapped(cases, "  cases: "),
    ]
    if view.origin.note:
        lines.append(_wrapped(f"{', '.join(view.origin.systems)}: {view.origin.note}", "  "))
    return "\n".join(lines)


def _ledger(view: View) -> str:
    by_arm = view.analysis.ledger.groupby("arm")[[*STAGES]].sum()
    rows = [["arm", *STAGES]]
    rows += [[arm, *map(str, by_arm.loc[arm])] for arm in view.plan.arms if arm in by_arm.index]
    rows.append(["total", *map(str, by_arm.sum())])
    losses = view.analysis.losses
    lost = losses[losses["runs"] > 0].groupby("reason")["runs"].sum()
    reasons = "\n".join(f"  {count} × {reason}" for reason, count in lost.items())
    return "Ledger\n" + aligned(rows) + (f"\nNot analysed\n{reasons}" if reasons else "")


def _time(times: Sequence[CaseTime], lasted: float) -> str:
    """How much of the time of runs was timed; of the sessions, where all programs tell it."""
    rows = [["case", "runs", "seconds", "timed", "share"]]
    for each in times:
        told = f"{each.timed:.0f}", f"{100 * each.timed / each.running:.0f} %"
        shown = told if each.timed else ("–", "not told")
        rows.append([each.case, str(each.runs), f"{each.running:.0f}", *shown])
    timed, running = (sum(getattr(each, name) for each in times) for name in ("timed", "running"))
    text = f"Time\n{aligned(rows)}"
    if all(each.timed for each in times):
        shares = [f"{100 * timed / whole:.0f} %" for whole in (running, lasted)]
        said = (
            f"{timed:.0f} s were timed: {shares[0]} of the {running:.0f} s of all runs, "
            f"{shares[1]} of the {lasted:.0f} s of all sessions"
        )
        text += f"\n{_wrapped(said, '  ')}"
    return text


def _costs(view: View) -> list[str]:
    """The ratios to the reference by what was measured, what differs most first."""
    control = view.plan.positive_control
    compared = view.analysis.comparisons
    rows = [
        row
        for row in rows_of(compared[~compared["control"] & compared["planned"]])
        if row.kind == "ratio" and row.estimate and not (control and row.arm == control.arm)
    ]
    by_quantity: dict[str, list[Any]] = {}
    for row in sorted(rows, key=by_difference)[:MOST]:
        by_quantity.setdefault(f"{row.case}, {row.metric}", []).append(row)
    shown = [(name, row) for name, group in by_quantity.items() for row in group]
    if not shown:
        return []
    told = [
        "; ".join(filter(None, (formatting.outcome(row), formatting.identity_note(row))))
        for _, row in shown
    ]
    numbers = [("", row.arm, formatting.estimate(row)) for _, row in shown]
    lines = [f"Cost against {view.plan.reference}: ratio, 95 % interval"]
    before = ""
    for (name, _), line in zip(shown, _beside(numbers, told), strict=True):
        lines += [line] if name == before else [_wrapped(name, "  "), line]
        before = name
    more = [f"  and {len(rows) - MOST} more: tables/results.csv"] if len(rows) > MOST else []
    return ["\n".join([*lines, *more])]


def by_difference(row: Any) -> tuple[bool, float]:
    """What was concluded to differ first, by how much it does; else as planned."""
    is_different = row.outcome == DIFFERENT
    return not is_different, -abs(math.log(row.estimate)) if is_different else 0.0


def _control(view: View) -> str:
    compared = view.analysis.comparisons
    rows = rows_of(compared[compared["control"] & compared["planned"]])
    numbers = [
        (row.case, row.metric, f"n={row.blocks}", formatting.estimate(row), formatting.unit_of(row))
        for row in rows
    ]
    if not view.plan.double:
        return "A/A pair: none, so nothing is concluded"
    head = f"A/A pair: {view.plan.double} against {view.plan.reference}, 95 % interval"
    return "\n".join(
        [head, *(_beside(numbers, list(map(formatting.outcome, rows))) or ["  not planned"])]
    )


def _beside(rows: Sequence[Sequence[str]], said: Sequence[str]) -> list[str]:
    """Aligned numbers, each with what became of it, which may need a line of its own."""
    numbers = aligned(rows).splitlines() if rows else []
    width, lines = max(map(len, numbers), default=0), []
    for line, outcome in zip(numbers, said, strict=True):
        beside = f"{line:<{width}}  {outcome}"
        lines.append(beside if len(beside) <= LETTERS else f"{line}\n{_wrapped(outcome, ' ' * 6)}")
    return lines


def _exclusions(view: View) -> str:
    lines = [
        f"  {row.block} {row.run}: {row.reason} ({row.who}, {row.date})"
        + ("" if row.applied else " - not in this dataset")
        for row in rows_of(view.analysis.exclusions)
    ]
    return "\n".join(["Exclusions", *lines]) if lines else "Exclusions: none"


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


def agreement(agreed: Agreement, verdicts: Kappa, origins: Sequence[Origin]) -> str:
    """A fresh dataset beside an archived one: each comparison, the counts, what was left out.

    Args:
        verdicts: agreement of the verdicts that both give on the claims they can test.
        origins: of the fresh and of the archived dataset.
    """
    names = ((agreed.fresh, "fresh"), (agreed.archive, "archived"))
    head = [
        f"{word}: {name}, {', '.join(origin.systems)}{'. ' if origin.note else ''}{origin.note}"
        for (name, word), origin in zip(names, origins, strict=True)
    ]
    rows = [_side_by_side(row) for row in rows_of(agreed.table) if row.outcome != NOT_COMPARED]
    body = aligned([AGREEMENT, *rows]) if rows else "  nothing to compare"
    words = [said_alike("outcomes", agreed.outcomes), said_alike("verdicts on claims", verdicts)]
    counted = [f"  {line}" for line in (held(agreed.count), *words)]
    return "\n".join([*head, body, *counted, *_left_out(agreed.table)]) + "\n"


def _side_by_side(row: Any) -> tuple[str, ...]:
    number = formatting.number
    return (
        row.case,
        row.metric,
        f"{row.arm}{' (A/A)' if row.control else ''}",
        f"{row.fresh_blocks}/{row.archive_blocks}",
        number(row.fresh_ratio),
        number(row.archive_ratio),
        f"{number(row.ratio_of_ratios)} [{number(row.low95)}, {number(row.high95)}]",
        formatting.margin(row.smallest_margin),
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


def said_alike(what: str, found: Kappa) -> str:
    """How far two datasets use the same words: counts, share, kappa or why there is none."""
    if not found.total:
        return f"{what}: none is in both"
    low, high = (f"{100 * end:.0f}" for end in found.share95)
    counts = ", ".join(
        f"{count} {one}" if one == other else f"{count} {one} here and {other} in the archive"
        for (one, other), count in sorted(found.counts.items())
    )
    said = f"{what}: {found.agreeing} of {found.total} are the same ({low} to {high} %): {counts}"
    if found.reason:
        return f"{said}; no kappa: {found.reason}"
    ends = (formatting.number(end) for end in found.interval95)
    return f"{said}; Cohen's kappa {formatting.number(found.kappa)} [{', '.join(ends)}]"


def _left_out(table: pd.DataFrame) -> list[str]:
    """What is not compared, by reason."""
    rows, arms = table[table["outcome"] == NOT_COMPARED], table["arm"].nunique()
    return [
        f"  not compared: {_named(of_reason, arms)}: {reason}"
        for reason, of_reason in rows.groupby("reason")
    ]


def _named(rows: pd.DataFrame, all_arms: int) -> str:
    """Cases and metrics of some rows, with the arms if these are not nearly all."""
    several = ", ".join(dict.fromkeys(rows["case"] + " " + rows["metric"]))
    arms = sorted(set(rows["arm"]))
    return several if len(arms) > all_arms / 2 else f"{', '.join(arms)} in {several}"
