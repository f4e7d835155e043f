"""What stands below a figure: what is measured, and what every mark in it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.core.wording import capital, span
from parity.report.figures import compare
from parity.report.figures.specs import FEW, LEDGER
from parity.report.text import formatting, storage
from parity.report.view import View
from parity.report.wording import CAPTIONS

# What these show is told by their form alone, whatever was compared.
TOLD_BY_FORM = {
    Form.TOGETHER, Form.ALONG, Form.TIMEOUTS, Form.SIZES, Form.PARTS, Form.INTERFACES,
}  # fmt: skip


def of_figure(view: View, spec: FigureSpec) -> str:
    """The caption of a figure; without a case of its benchmark, what it would have shown."""
    compared = [
        row
        for case in view.shown(spec)
        for quantity in spec.quantities
        for row in view.comparisons(case, quantity.metric).values()
    ]
    if not compared:
        return " ".join(filter(None, (spec.caption, CAPTIONS.get(spec.form.value))))
    ratios = [row for row in compared if row.kind == "ratio"]
    form, tested = view.form(spec), _tested(ratios)
    if form in TOLD_BY_FORM:
        marks = CAPTIONS["scatter" if spec.scatter else form.value]
        return " ".join([spec.caption, marks, *([CAPTIONS["bars_of_others"]] if spec.bars else [])])
    if form is Form.NODES:
        return f"{spec.caption} {CAPTIONS['curves']}"
    if form in (Form.CROSSED, Form.LADDER):
        said = CAPTIONS[form.value].format(contrast=spec.contrast)
        what = f"All numbers are ratios of {spec.quantities[0].label}, as costs, {tested}."
        return f"{spec.caption} {said} {what} {CAPTIONS['deciding']}"
    decided = CAPTIONS["deciding" if ratios else "describing"]
    if spec.in_rows and ratios:
        decided = f"Ratios are costs, {tested}. {decided}"
    return " ".join(filter(None, (spec.caption, _marks(view, spec), decided)))


def _marks(view: View, spec: FigureSpec) -> str:
    """What stands for the values of a figure of panels; empty where it shows ratios alone."""
    if compare.has_violins(view, spec):
        return CAPTIONS["densities"]
    if compare.has_ratios_alone(view, spec):
        return ""
    return CAPTIONS["bars" if spec.from_zero else "points"].format(few=FEW)


def _tested(ratios: Sequence[Any]) -> str:
    """Blocks and margins of comparisons by ratios."""
    blocks = span([row.blocks for row in ratios if row.blocks] or [0])
    margins = ", ".join(formatting.margin(m) for m in sorted({row.margin for row in ratios}))
    return f"over {blocks} blocks; margin {margins}"


def of_ledger(view: View) -> str:
    """The caption of the ledger, with what its reasons for runs that were not started mean."""
    losses = view.analysis.losses
    there = sorted({*losses.loc[losses["runs"] > 0, "reason"]} & {*CAPTIONS})
    said = "; ".join(f"{reason}: {CAPTIONS[reason]}" for reason in there)
    return f"{CAPTIONS[LEDGER]} {capital(said)}." if said else CAPTIONS[LEDGER]


def of_overview(view: View) -> str:
    """The caption of the overview."""
    reference = formatting.arm_title(view.plan, view.plan.reference)
    control = formatting.arm_title(view.plan, view.plan.double)
    first = (
        f" The first row of each panel is {control}, which is {reference} once more: the A/A pair."
    )
    compared = formatting.reference_title(view.plan)
    return (
        f"Every cost ratio to {compared} with its margin (band).{first if control else ''} "
        f"{CAPTIONS['deciding']}{_stands_for(view)}"
    )


def _stands_for(view: View) -> str:
    said = storage.stands_for(view)
    return f" {said}" if said else ""
