"""An arm scatters less than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import estimate
from parity.claims import words
from parity.claims.cells import Cell, Scope
from parity.claims.finding import Finding, in_cell
from parity.claims.rules.model import NAME, CellRule, Options
from parity.claims.spread import spread

UNIT = "ratio of deviations"


class LessVariable(CellRule):
    """One-sided test of two paired variances (Pitman; Morgan, Biometrika 1939)."""

    name = "less-variable"
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
            return in_cell(cell, words.INCONCLUSIVE, found, unit=UNIT)
        p = found.p_less
        facts = {
            **found.facts(),
            "unit": UNIT,
            "p_value": p,
            "p_against": 1 - p,
            "strain": p / estimate.ALPHA,
        }
        said = f"ratio of deviations {words.interval(found.low95, found.high95)}"
        if p < estimate.ALPHA:
            return in_cell(cell, words.SUPPORTED, f"{said}: scatters less", **facts)
        if 1 - p < estimate.ALPHA:
            return in_cell(cell, words.CONTRADICTED, f"{said}: scatters more", **facts)
        return in_cell(cell, words.INCONCLUSIVE, f"{said} leaves it open", **facts)


RULE = LessVariable()
