"""What is said of one dataset: summary, numbers of its paper, captions."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from typing import Any

import pandas as pd

from parity.analysis import decision, outcomes
from parity.analysis.agreement import NOT_COMPARED, Agreement, Kappa
from parity.analysis.sensitivity import NO_ESTIMATE, RANKS
from parity.benchmarks.description import WORK, FigureSpec
from parity.core.wording import margin, number, period, span
from parity.plan.system import kind_of
from parity.records.timed import CaseTime
from parity.report import answer, formatting
from parity.report.figures import compare
from parity.report.figures.specs import FEW, LEDGER, OVERVIEW
from parity.report.formatting import Row, arm_title
from parity.report.tables import measured
from parity.report.tables.results import OTHERS, differs, methods
from parity.report.templating import render, sentence
from parity.report.view import STAGES, Origin, View, rows_of
from parity.runtimes.engines import COPIES

PICTURED = 3  # figures beside the overview that the paper of a dataset has room for
MOST = 12  # comparisons that are listed below the answer
ENOUGH = 10  # blocks from which an exact interval leaves some of them outside at each end
HEAD = ("case", "metric", "arm", "n", "fresh", "archived", "fresh/archived", "within", "")


def summary(view: View, times: Sequence[CaseTime] = (), lasted: float = 0.0) -> str:
    """The answer, costs, plan, ledger, the time of cases and sessions (s), A/A pair, exclusions."""
    plan, compared, losses = view.plan, view.analysis.comparisons, view.analysis.losses
    asked = [ratio.row for ratio in answer.measured((plan, compared))]
    starts = answer.starts((plan, compared))
    costs = [
        replace(told, outcome=f"{starts[cell]}, then {told.outcome}") if cell in starts else told
        for row in sorted(asked, key=by_difference)[:MOST]
        for told in [formatting.of(plan, row)]
        for cell in [(row.case, row.arm) if row.metric == WORK.metric else None]]  # fmt: skip
    controls = rows_of(compared[compared["control"] & compared["planned"]])
    by_arm = view.analysis.ledger.groupby("arm")[[*STAGES]].sum()
    ledger = [[arm, *map(str, by_arm.loc[arm])] for arm in plan.arms if arm in by_arm.index]
    return render(
        "summary.txt", view=view, plan=plan, copies=COPIES, more=len(asked) - len(costs),
        answer=answer.said([(plan, compared)]), costs=_by_subject(costs), lasted=lasted,
        ledger=[["arm", *STAGES], *ledger, ["total", *map(str, by_arm.sum())]],
        lost=losses[losses["runs"] > 0].groupby("reason")["runs"].sum(),
        controls=_by_subject([formatting.of(plan, row) for row in controls]),
        times=times if lasted else (), exclusions=rows_of(view.analysis.exclusions),
        replay=measured.replay(view))  # fmt: skip


def by_difference(row: Any) -> tuple[int, float]:
    """What costs or saves first, by how much it does; then what is bounded; then the others."""
    if row.answer in (outcomes.COSTS, outcomes.SAVES):
        return 0, -abs(math.log(row.estimate))
    return 1 + (row.answer != outcomes.AT_MOST), 0.0


def _by_subject(rows: Sequence[Row]) -> dict[str, list[Row]]:
    subjects = dict.fromkeys(row.subject for row in rows)
    return {subject: [row for row in rows if row.subject == subject] for subject in subjects}


def numbers(view: View) -> str:
    """LaTeX: every value and sentence that the dataset's paper takes from it, by key."""
    plan, origin, audit = view.plan, view.origin, view.origin.noise_audit
    drawn = (spec for spec in view.figures if view.shown(spec) and not view.is_constant(spec))
    of_figures = {spec.name: caption(view, spec) for spec in islice(drawn, PICTURED)}
    runs = view.analysis.ledger[[*STAGES]].sum()
    title = partial(formatting.benchmark_title, plan)
    absent = [each for each in plan.not_tested if each.arm not in plan.arms]
    declared = [arm_title(plan, no.arm) if no.arm else title(no.benchmark) for no in absent]
    notes = [f"{title(name)}: {note}" for name, note in plan.benchmark_notes.items() if note]
    blocks_of = sorted(set(plan.blocks_of.values()))  # the rarest case's first
    methods_of = [of for of in methods(view) if of[RANKS].outcome != NO_ESTIMATE]
    changed = [{m for m in OTHERS if differs(of[m], of[RANKS])} for of in methods_of]
    return render(
        "numbers.tex", figures=[*of_figures], plan=plan, origin=origin, blocks_of=blocks_of,
        captions={OVERVIEW: overview(view), LEDGER: ledger(view), **of_figures},
        few=min(blocks_of, default=0) < ENOUGH, fixed=decision.FIXED, audit=audit,
        node_counts=sorted({case.nodes for case in plan.cases}), notes=" ".join(notes),
        arms=[arm_title(plan, arm) for arm in view.arms], began=origin.facts.began[:10],
        reference=arm_title(plan, plan.reference), control=arm_title(plan, plan.double) or "none",
        positive=arm_title(plan, plan.positive_arm) if plan.positive_arm else "",
        margins=sorted({case.margin for case in plan.cases if case.margin is not None}),
        declared=list(dict.fromkeys(declared)), nodes=view.dataset.nodes["node"].nunique(),
        stands_for=stands_for(view), kind=kind_of(origin.scale_labels),
        audited=kind_of([audit.scale_label]) if audit else None,
        measured=period(origin.facts.began, origin.facts.ended),
        excluded=int(view.analysis.exclusions["applied"].sum()),
        runs={stage: int(runs[stage]) for stage in STAGES},
        # How many outcomes change under which method.
        compared=len(methods_of), changed=sum(map(bool, changed)),
        changed_by={m: sum(m in by for by in changed) for m in OTHERS})  # fmt: skip


def caption(view: View, spec: FigureSpec) -> str:
    """What stands below a figure; without a case of its benchmark, what it would have shown."""
    metrics = product(view.shown(spec), (quantity.metric for quantity in spec.quantities))
    compared = [row for shown in metrics for row in view.comparisons(*shown).values()]
    ratios = [row for row in compared if row.kind == "ratio"]
    marks = "bars" if spec.from_zero else "points"
    if compared and compare.has_violins(view, spec):
        marks = "densities"
    elif compared and compare.has_ratios_alone(view, spec):
        marks = ""
    blocks = span([row.blocks for row in ratios if row.blocks] or [0])
    return sentence("captions.txt", form=view.form(spec).value, spec=spec, compared=compared,
                    ratios=ratios, marks=marks, few=FEW, blocks=blocks)  # fmt: skip


def ledger(view: View) -> str:
    """The caption of the ledger, with what its reasons for runs that were not started mean."""
    losses = view.analysis.losses
    lost = sorted({*losses.loc[losses["runs"] > 0, "reason"]})
    return sentence("captions.txt", form=LEDGER, spec=None, lost=lost)


def overview(view: View) -> str:
    """The caption of the overview."""
    plan = view.plan
    return sentence("captions.txt", form=OVERVIEW, spec=None, stands_for=stands_for(view),
                    reference=arm_title(plan, plan.reference), control=arm_title(plan, plan.double),
                    compared_with=formatting.reference_title(plan))  # fmt: skip


def stands_for(view: View) -> str:
    """On what servers of files ran and what they stand for, as figures say it; else empty."""
    shown = (spec for spec in view.figures if spec.stands_for and view.shown(spec))
    return " ".join(sorted({spec.stands_for for spec in shown}))


def agreement(agreed: Agreement, verdicts: Kappa, origins: Sequence[Origin]) -> str:
    """A fresh dataset beside an archived one: each comparison, the counts, what was left out.

    `verdicts`: how those agree that both give on the claims they can test.
    """
    table = agreed.table
    absent = table[table["outcome"] == NOT_COMPARED]
    rows = [(row.case, row.metric, f"{row.arm}{' (A/A)' if row.control else ''}",
             f"{row.fresh_blocks}/{row.archive_blocks}",
             number(row.fresh_ratio), number(row.archive_ratio),
             f"{number(row.ratio_of_ratios)} [{number(row.low95)}, {number(row.high95)}]",
             margin(row.smallest_margin), ": ".join(filter(None, (row.outcome, row.reason))))
            for row in rows_of(table[table["outcome"] != NOT_COMPARED])]  # fmt: skip
    left_out = {why: _absent(of, table["arm"].nunique()) for why, of in absent.groupby("reason")}
    return render(
        "agreement.txt", origins=list(zip((agreed.fresh, agreed.archive), origins, strict=True)),
        rows=[HEAD, *rows] if rows else [], held=formatting.held(agreed.count), left_out=left_out,
        alike={"outcomes": agreed.outcomes, "verdicts on claims": verdicts})  # fmt: skip


def _absent(rows: pd.DataFrame, all_arms: int) -> str:
    several = ", ".join(dict.fromkeys(rows["case"] + " " + rows["metric"]))
    arms = sorted(set(rows["arm"]))
    return several if len(arms) > all_arms / 2 else f"{', '.join(arms)} in {several}"
