"""The figures: each is a query of the view, drawn in one of six forms.

The forms are forest, values, lines, stack, timeline and ecdf, a module each; the queries stand in
compare, along, noise and sums by what they ask.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.report.figures import along, compare, noise, sums
from parity.report.view import View

QUERIES = {
    Form.PANELS: compare.panels, Form.TOGETHER: compare.together, Form.CROSSED: compare.crossed,
    Form.LADDER: compare.of_ladder, Form.NODES: along.over_nodes, Form.ALONG: along.along,
    Form.SIZES: along.sizes, Form.TIMEOUTS: along.timeouts, Form.PARTS: sums.parts,
    Form.INTERFACES: sums.interfaces, Form.TIMELINES: noise.timelines, Form.TAILS: noise.tails,
    Form.KINDS: noise.kinds, Form.QUANTILES: noise.quantiles, Form.QUOTA: noise.quota,
    Form.LEVELS: noise.return_levels, Form.REPLAY: noise.replay,
}  # fmt: skip


def draw(view: View, spec: FigureSpec) -> Figure:
    """One figure, of which the study has a case."""
    return QUERIES[view.form(spec)](view, spec)


def missing(view: View, spec: FigureSpec) -> str:
    """What a study lacks for a figure."""
    for declared in view.plan.not_tested:
        if declared.benchmark == spec.benchmark:
            return declared.reason
    if spec.runtime and view.cases(spec.benchmark):
        return f"the study has no arm of the {spec.runtime}"
    if spec.table and view.cases(spec.benchmark):
        return "no run of the study left what this is made of"
    return f"the study has no such case of {spec.benchmark}"
