"""What is said of one dataset: its summary, its section of a paper, the numbers of its own paper.

Here are the facts; `templates/` says them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from parity.analysis import outcomes
from parity.analysis.looks import LEAST_CHANCE
from parity.analysis.sensitivity import METHODS, NO_ESTIMATE, PAIRED
from parity.core import wording
from parity.core.wording import listed
from parity.plan.system import kind_of
from parity.records.timed import CaseTime
from parity.report import answer, captions, formatting
from parity.report.figures.specs import LEDGER, OVERVIEW
from parity.report.formatting import Row
from parity.report.tables import measured, results
from parity.report.tables.results import OTHERS, differs, methods
from parity.report.tables.table import Table, to_latex
from parity.report.templating import render
from parity.report.view import STAGES, View, rows_of

NAME = "section.tex"
MOST = 12  # comparisons that are listed below the answer
ENOUGH = 10  # blocks from which a mean of logarithms is near enough to normal


def summary(view: View, times: Sequence[CaseTime] = (), lasted: float = 0.0) -> str:
    """The answer first and last; costs, plan, ledger, time, A/A pair, exclusions between them.

    Args:
        times: of each case; none to say nothing of it.
        lasted: seconds of all sessions together.
    """
    plan, compared = view.plan, view.analysis.comparisons
    asked = [
        row
        for row in view.of_arms(rows_of(compared[compared["planned"]]))
        if row.kind == "ratio" and row.blocks
    ]
    costs = [formatting.of(plan, row) for row in sorted(asked, key=by_difference)[:MOST]]
    controls = rows_of(compared[compared["control"] & compared["planned"]])
    losses = view.analysis.losses
    by_arm = view.analysis.ledger.groupby("arm")[[*STAGES]].sum()
    ledger = [[arm, *map(str, by_arm.loc[arm])] for arm in plan.arms if arm in by_arm.index]
    return render(
        "summary.txt",
        answer=answer.said([(plan, compared)], constants(view)),
        plan=plan,
        blocks=view.blocks,
        origin=view.origin,
        costs=_by_subject(costs),
        more=len(asked) - len(costs),
        ledger=[["arm", *STAGES], *ledger, ["total", *map(str, by_arm.sum())]],
        lost=losses[losses["runs"] > 0].groupby("reason")["runs"].sum(),
        times=times if lasted else (),
        lasted=lasted,
        controls=_by_subject([formatting.of(plan, row) for row in controls]),
        exclusions=rows_of(view.analysis.exclusions),
        replay=measured.replay(view),
    )


def by_difference(row: Any) -> tuple[bool, float]:
    """What was concluded to differ first, by how much it does; else as planned."""
    is_different = row.outcome == outcomes.DIFFERENT
    return not is_different, -abs(math.log(row.estimate)) if is_different else 0.0


def _by_subject(found: Sequence[Row]) -> dict[str, list[Row]]:
    by_subject: dict[str, list[Row]] = {}
    for row in found:
        by_subject.setdefault(row.subject, []).append(row)
    return by_subject


def constants(view: View) -> int:
    """How many measured ratios are the same in every block: their p is 0 by construction."""
    pairs = view.analysis.pairs.groupby(["case", "metric", "arm"])["effect"]
    alike = {key for key, effects in pairs if len(effects) > 1 and effects.nunique() == 1}
    ended = answer.of_dataset(view.plan, view.analysis.comparisons)
    return sum((e.row.case, e.row.metric, e.row.arm) in alike for e in ended)


def section(view: View) -> str:
    """LaTeX: the dataset as a section of another one's paper, whose files are in a folder."""
    name = view.dataset.name.rpartition("/")[2]
    table = results.answers(view)
    return render(
        "section.tex", name=name, answers=to_latex(table) if table.rows else "",
        captions=[(spec, captions.of_figure(view, spec)) for spec in view.drawn],
        answer=answer.said([(view.plan, view.analysis.comparisons)], constants(view)),
        **_facts(view),
    )  # fmt: skip


def numbers(view: View, tables: Sequence[Table]) -> str:
    """LaTeX: every value and sentence that the dataset's paper takes from it, by key.

    It says which tables have rows, since others are not there. A key that does not exist stops
    LaTeX, so that a number can neither be typed nor go missing.
    """
    of_figures = {spec.name: captions.of_figure(view, spec) for spec in view.drawn}
    every = {OVERVIEW: captions.of_overview(view), LEDGER: captions.of_ledger(view), **of_figures}
    return render(
        "numbers.tex",
        captions=every,
        figures=[*of_figures],
        **_facts(view),
        tables=[table.name for table in tables if table.rows],
    )


def _facts(view: View) -> dict[str, Any]:
    """What both say of the plan, of what became of it, and of what it hangs on."""
    plan, facts, kind = view.plan, view.origin.facts, kind_of(view.origin.scale_labels)
    notes = {formatting.benchmark_title(plan, name): n for name, n in plan.benchmark_notes.items()}
    runs = view.analysis.ledger[[*STAGES]].sum()
    names = [
        formatting.arm_title(plan, each.arm)
        if each.arm
        else formatting.benchmark_title(plan, each.benchmark)
        for each in plan.not_tested
        if each.arm not in plan.arms
    ]
    margins = sorted({case.margin for case in plan.cases if case.margin is not None})
    return {
        "plan": plan,
        "blocks": view.blocks,
        "repetitions": view.repetitions,
        "blocks_of": sorted(set(view.blocks_of.values())),
        "node_counts": sorted({case.nodes for case in plan.cases}),
        "least_chance": LEAST_CHANCE,
        "arms": [formatting.arm_title(plan, arm) for arm in view.arms],
        "reference": formatting.arm_title(plan, plan.reference),
        "control": formatting.arm_title(plan, plan.double) or "none",
        "positive": formatting.arm_title(plan, plan.positive_arm) if plan.positive_arm else "",
        "margins": listed(map(wording.margin, margins)) or "none",
        "notes": " ".join(f"{title}: {note}" for title, note in notes.items() if note),
        "declared": list(dict.fromkeys(names)),
        "stands_for": captions.stands_for(view),
        "measured": wording.period(facts.began, facts.ended),
        "origin": view.origin,
        "kind": kind,
        "audit": view.origin.noise_audit,
        "audited": kind_of([view.origin.noise_audit.scale_label])
        if view.origin.noise_audit
        else None,
        "nodes": view.dataset.nodes["node"].nunique(),
        "excluded": int(view.analysis.exclusions["applied"].sum()),
        "runs": {stage: int(runs[stage]) for stage in STAGES},
        "few": view.repetitions < ENOUGH,
        **_sensitivity(view),
    }


def _sensitivity(view: View) -> dict[str, Any]:
    """How many outcomes change under which method."""
    compared = [each for each in methods(view) if each[PAIRED].outcome != NO_ESTIMATE]
    by = {m: sum(differs(each[m], each[PAIRED]) for each in compared) for m in OTHERS}
    changed = sum(any(differs(each[m], each[PAIRED]) for m in OTHERS) for each in compared)
    return {"compared": len(compared), "changed": changed, "changed_by": by, "methods": METHODS}


def together(present: Sequence[str], absent: Sequence[str]) -> str:
    """LaTeX: the sections of other datasets, and which studies have none.

    Args:
        present: names of the datasets.
        absent: names of the studies; nothing is said if both are empty.
    """
    return render("others.tex", present=present, absent=absent)
