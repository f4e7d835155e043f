"""A factor of two levels crossed with the container: effects of both, and their interaction.

The first row of panels holds what the factor does in each arm, and how much more or less
it does there than in the reference; the second what the container does at each level; the
third both effects, averaged over the other.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from parity.analysis.crossed import ARM_OVERALL, INTERACTION, LEVEL, LEVEL_OVERALL
from parity.report.figures import forest, page_layout, style
from parity.report.figures.figure_spec import FigureSpec
from parity.report.figures.panels import Column
from parity.report.text import formatting
from parity.report.view import View


def draw(view: View, spec: FigureSpec) -> Figure:
    """The figure of the first pair of cases that differ in the factor."""
    found = effects(view, spec)
    first = next(iter(found[LEVEL].values()))
    cases, quantity = first.cases.split(), spec.quantities[0]
    arms, styles = view.arms_of(cases), style.arm_styles(view.plan)
    reference = formatting.arm_title(view.plan, view.plan.reference)

    def column(case: str, effect: str | None, published: tuple[float, ...] = ()) -> Column:
        rows = view.comparisons(case, quantity.metric) if effect is None else found[effect]
        return Column(view, case, quantity, arms, styles, rows, published=published)

    over, factor = f"{first.high} over {first.low}", first.factor
    panels = {
        f"{factor}: {over}, in each arm": column(cases[0], LEVEL, spec.published),
        f"interaction: that, over {reference}'s": column(cases[0], INTERACTION),
        f"arm over {reference}, {factor} {first.low}": column(cases[0], None),
        f"arm over {reference}, {factor} {first.high}": column(cases[1], None),
        f"{factor}: {over}, both sides": column(cases[0], LEVEL_OVERALL, spec.published),
        f"arm over {reference}, both levels": column(cases[0], ARM_OVERALL),
    }
    band = f"band: margin {formatting.margin(first.margin)}"
    key = f"cost ratios, above 1 costs more; {band}; dotted: {spec.source}; n: blocks"
    return forest.in_grid(list(panels.values()), list(panels), forest.WIDE, [key, page_layout.KEY])


def effects(view: View, spec: FigureSpec) -> dict[str, dict[str, Any]]:
    """Named tuples by effect and arm, for the first pair of cases of the factor."""
    found = view.crossed(spec)
    found = found[found["cases"] == found["cases"].iloc[0]]
    return {
        effect: {row.arm: row for row in rows.itertuples(index=False)}
        for effect, rows in found.groupby("effect", sort=True)
    }
