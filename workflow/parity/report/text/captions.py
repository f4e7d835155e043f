"""What stands below a figure: what is measured, and what every mark in it means."""

from __future__ import annotations

from parity.report.figures.figure_spec import FigureSpec, Form
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
    "First row: cost with the library over that without, in each arm, and the interaction, which "
    "is that ratio over the one in the reference; second row: the arm over the reference at each "
    "level; third row: the same effects, each averaged over both levels of the other."
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


_SPECIAL = {Form.CROSSED: _CROSSED, Form.LADDER: _LADDER}


def _tested(view: View, spec: FigureSpec) -> str:
    """Unit, margin and blocks of the comparisons of a figure of cost ratios."""
    rows = [
        row
        for case in view.shown(spec)
        for row in view.comparisons(case, spec.quantities[0].metric).values()
        if row.kind == "ratio"
    ]
    margins = sorted({row.margin for row in rows})
    counts = sorted({row.blocks for row in rows if row.blocks}) or [0]
    blocks = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return (
        f"All numbers are ratios of {spec.quantities[0].label}, as costs, over {blocks} blocks; "
        f"margin {', '.join(formatting.margin(margin) for margin in margins)}."
    )


def of_figure(view: View, spec: FigureSpec) -> str:
    """The caption of a figure; without a case of its benchmark, what it would have shown."""
    kinds = {
        row.kind
        for case in view.shown(spec)
        for quantity in spec.quantities
        for row in view.comparisons(case, quantity.metric).values()
    }
    if not kinds:
        return spec.caption
    form = view.form(spec)
    if form is Form.NODES:
        return f"{spec.caption} {_CURVES}"
    if form in _SPECIAL:
        return f"{spec.caption} {_SPECIAL[form]} {_tested(view, spec)} {_DECIDING}"
    marks = _BARS if spec.from_zero else _POINTS
    return f"{spec.caption} {marks} {_DECIDING if 'ratio' in kinds else _DESCRIBING}"


def of_overview(view: View) -> str:
    """The caption of the overview."""
    reference = formatting.arm_title(view.plan, view.plan.reference)
    control = formatting.arm_title(view.plan, view.dataset.double)
    return (
        f"Every cost ratio to {reference} with its margin (band). The first row of each panel is "
        f"{control}, which is {reference} once more: the A/A pair. {_DECIDING}"
    )
