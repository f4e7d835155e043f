"""What stands below a figure: what is measured, and what every mark in it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.report.figures.specs import FEW
from parity.report.text import formatting
from parity.report.view import View

_BARS = "Bars: median over blocks; lines: smallest to largest block."
_POINTS = (
    f"Up to {FEW} blocks, or where all are equal, every value is a point, and a black line marks "
    "the median; above, boxes show quartiles and median, whiskers the extremes."
)
_CURVES = (
    "Above 100 is faster. First row: medians of all arms, shifted sideways a little. Below, for "
    "each arm: line, median; shade and upright lines, smallest to largest block; grey band, the "
    "margin; dotted, smallest and largest block of the A/A pair, which is the same thing twice. "
    "Below each point: its number of blocks and the outcome of its comparison, which is of ratios "
    "within blocks, and so not to be read off the range of values."
)
_CROSSED = (
    "First row: cost with {contrast}, in each arm, and the interaction, which is that ratio over "
    "the one in the reference; second row: the arm over the reference at each level; third row: "
    "the same effects, each averaged over both levels of the other."
)
_LADDER = (
    "Left: cost over the bare program; right: over the step before, and for full runtimes over "
    "the last step, both paired within blocks. Where a step has no value, the next one is held "
    "against the step before that. A dagger marks where binary or libraries differ as well."
)
_DECIDING = (
    "Thick: 90 % interval, which decides equivalence; thin: 95 % interval, which decides "
    "difference."
)
_DESCRIBING = "Thick: 90 % interval; thin: 95 % interval; no margin was set."


def of_figure(view: View, spec: FigureSpec) -> str:
    """The caption of a figure; without a case of its benchmark, what it would have shown."""
    compared = [
        row
        for case in view.shown(spec)
        for quantity in spec.quantities
        for row in view.comparisons(case, quantity.metric).values()
    ]
    if not compared:
        return spec.caption
    ratios = [row for row in compared if row.kind == "ratio"]
    form, tested = view.form(spec), _tested(ratios)
    if form is Form.NODES:
        return f"{spec.caption} {_CURVES}"
    if form in (Form.CROSSED, Form.LADDER):
        said = _LADDER if form is Form.LADDER else _CROSSED.format(contrast=spec.contrast)
        what = f"All numbers are ratios of {spec.quantities[0].label}, as costs, {tested}."
        return f"{spec.caption} {said} {what} {_DECIDING}"
    decided = _DECIDING if ratios else _DESCRIBING
    if spec.in_rows and ratios:
        decided = f"Ratios are costs, {tested}. {decided}"
    return f"{spec.caption} {_BARS if spec.from_zero else _POINTS} {decided}"


def _tested(ratios: Sequence[Any]) -> str:
    """Blocks and margins of comparisons by ratios."""
    counts = sorted({row.blocks for row in ratios if row.blocks}) or [0]
    blocks = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    margins = ", ".join(formatting.margin(m) for m in sorted({row.margin for row in ratios}))
    return f"over {blocks} blocks; margin {margins}"


def of_overview(view: View) -> str:
    """The caption of the overview."""
    reference = formatting.arm_title(view.plan, view.plan.reference)
    control = formatting.arm_title(view.plan, view.plan.double)
    return (
        f"Every cost ratio to {reference} with its margin (band). The first row of each panel is "
        f"{control}, which is {reference} once more: the A/A pair. {_DECIDING}"
    )
