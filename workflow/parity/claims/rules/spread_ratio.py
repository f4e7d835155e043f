"""An arm scatters no more than the reference, up to a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import outcomes
from parity.claims import terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import NO_CONTROL, Finding, in_cell
from parity.claims.rules.model import CellRule, Options
from parity.claims.spread import Spread, spread

UNIT = "ratio of deviations"


class SpreadRatio(CellRule):
    """95 % interval of the ratio of standard deviations of the logs (Pitman-Morgan).

    Supported if its upper bound is below the factor in every cell, contradicted if its
    lower bound is above.
    """

    name = "spread-ratio"
    options: ClassVar[Options] = {
        "factor": {
            "description": "Largest ratio of standard deviations; above 1.",
            "type": "number",
            "exclusiveMinimum": 1,
            "maximum": 100,
        }
    }
    proves_sameness = True
    fewest = 3

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The ratio of one cell."""
        factor = options["factor"]
        found = spread(cell, cell.arm, cell.against)
        if isinstance(found, str):
            return in_cell(cell, terms.INCONCLUSIVE, found, unit=UNIT, margin=factor)
        p_less = spread(cell, cell.arm, cell.against, factor).p_less
        facts = {
            **found.facts(),
            "p_value": p_less,
            "p_against": min(1.0, 2 * (1 - p_less)),
            **_control(cell, factor),
            "unit": UNIT,
            "margin": factor,
            "smallest_margin": found.high95,
            "strain": found.high95 / factor,
        }
        said = f"ratio of deviations {terms.interval(found.low95, found.high95)}"
        if found.high95 < factor:
            return in_cell(cell, terms.SUPPORTED, f"{said}, below {factor:g}", **facts)
        if found.low95 > factor:
            return in_cell(cell, terms.CONTRADICTED, f"{said}, above {factor:g}", **facts)
        return in_cell(cell, terms.INCONCLUSIVE, f"{said} holds {factor:g}", **facts)


def _control(cell: Cell, factor: float) -> dict[str, Any]:
    """The same of the A/A pair, which must lie within the factor both ways."""
    reference, double = cell.pair
    found = spread(cell, double, reference)
    if not isinstance(found, Spread):
        return {"control": NO_CONTROL}
    outcome = outcomes.INCONCLUSIVE
    if found.high95 < factor and found.low95 > 1 / factor:
        outcome = outcomes.EQUIVALENT
    if found.low95 > factor or found.high95 < 1 / factor:
        outcome = outcomes.DIFFERENT
    return {
        "control": outcome,
        "control_estimate": found.ratio,
        "control_low95": found.low95,
        "control_high95": found.high95,
        "control_margin": math.exp(max(math.log(found.high95), -math.log(found.low95))),
    }


RULE = SpreadRatio()
