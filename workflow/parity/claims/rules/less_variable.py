"""An arm scatters less than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import estimate, outcomes
from parity.claims import terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import NO_CONTROL, Finding, in_cell
from parity.claims.rules.model import NAME, CellRule, Options
from parity.claims.spread import Spread, spread

UNIT = "ratio of deviations"


class LessVariable(CellRule):
    """One-sided test of two paired variances (Pitman; Morgan, Biometrika 1939).

    If the two arms of the A/A pair scatter differently, nothing is concluded.
    """

    name = "less-variable"
    version = 2
    options: ClassVar[Options] = {"than": {"description": "The arm that scatters more.", **NAME}}
    one_sided = True
    fewest = 3

    def against(self, options: Mapping[str, Any]) -> str:
        """The other arm."""
        return options["than"]

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        found = spread(cell, cell.arm, cell.against)
        if isinstance(found, str):
            return in_cell(cell, terms.INCONCLUSIVE, found, unit=UNIT)
        p = found.p_less
        facts = {
            **found.facts(),
            "unit": UNIT,
            "p_value": p,
            "p_against": 1 - p,
            **_control(cell),
            "strain": p / estimate.ALPHA,
        }
        said = f"ratio of deviations {terms.interval(found.low95, found.high95)}"
        if p < estimate.ALPHA:
            return in_cell(cell, terms.SUPPORTED, f"{said}: scatters less", **facts)
        if 1 - p < estimate.ALPHA:
            return in_cell(cell, terms.CONTRADICTED, f"{said}: scatters more", **facts)
        return in_cell(cell, terms.INCONCLUSIVE, f"{said} leaves it open", **facts)


def _control(cell: Cell) -> dict[str, Any]:
    """Whether the two arms of the A/A pair scatter differently (95 % interval)."""
    reference, double = cell.pair
    found = spread(cell, double, reference)
    if not isinstance(found, Spread):
        return {"control": NO_CONTROL}
    differs = found.low95 > 1 or found.high95 < 1
    return {
        "control": outcomes.DIFFERENT if differs else outcomes.INCONCLUSIVE,
        "control_estimate": found.ratio,
        "control_low95": found.low95,
        "control_high95": found.high95,
    }


RULE = LessVariable()
