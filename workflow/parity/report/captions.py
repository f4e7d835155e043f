"""What stands below a figure: what is measured, and what every mark in it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parity.benchmarks.description import FigureSpec, Form
from parity.core import wording
from parity.core.wording import span
from parity.extensions.servers.benchmarks import usage
from parity.report import formatting
from parity.report.figures import compare
from parity.report.figures.specs import FEW, LEDGER, OVERVIEW
from parity.report.templating import sentence
from parity.report.view import View


def of_figure(view: View, spec: FigureSpec) -> str:
    """The caption of a figure; without a case of its benchmark, what it would have shown."""
    compared = [
        row
        for case in view.shown(spec)
        for quantity in spec.quantities
        for row in view.comparisons(case, quantity.metric).values()
    ]
    ratios = [row for row in compared if row.kind == "ratio"]
    marks = "bars" if spec.from_zero else "points"
    if compared and compare.has_violins(view, spec):
        marks = "densities"
    elif compared and compare.has_ratios_alone(view, spec):
        marks = ""
    return _said(
        view.form(spec).value, spec=spec, compared=bool(compared), ratios=bool(ratios), marks=marks,
        few=FEW, tested=_tested(ratios),
    )  # fmt: skip


def _tested(ratios: Sequence[Any]) -> str:
    """Blocks and margins of comparisons by ratios."""
    blocks = span([row.blocks for row in ratios if row.blocks] or [0])
    margins = ", ".join(map(wording.margin, sorted({row.margin for row in ratios})))
    return f"over {blocks} blocks; margin {margins}"


def of_ledger(view: View) -> str:
    """The caption of the ledger, with what its reasons for runs that were not started mean."""
    losses = view.analysis.losses
    return _said(LEDGER, lost=sorted({*losses.loc[losses["runs"] > 0, "reason"]}))


def of_overview(view: View) -> str:
    """The caption of the overview."""
    plan = view.plan
    return _said(
        OVERVIEW, reference=formatting.arm_title(plan, plan.reference),
        control=formatting.arm_title(plan, plan.double),
        compared_with=formatting.reference_title(plan), stands_for=stands_for(view),
    )  # fmt: skip


def stands_for(view: View) -> str:
    """On what servers of files ran and what they stand for, as figures say it; else empty."""
    return " ".join(sorted({
        usage.surrogate(spec.benchmark, formatting.benchmark_title(view.plan, spec.benchmark))
        for spec in view.figures
        if spec.form is Form.INTERFACES and view.shown(spec)
    }))  # fmt: skip


def _said(form: str, **facts: Any) -> str:
    return sentence("captions.txt", **{"form": form, "spec": None, **facts})
