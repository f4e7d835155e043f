"""Every arm costs what the reference costs, within a margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import estimate, outcomes
from parity.claims import effects, terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import Finding, control, described, in_cell, margin_text
from parity.claims.rules.model import PERCENT, CellRule, Options


class Equivalence(CellRule):
    """Two one-sided tests of the paired log ratio in every cell (`parity.analysis.estimate`).

    All cells must pass, so passing is not corrected for their number (intersection-union
    test: Berger, Technometrics 1982). A cell contradicts if its 95 % interval lies wholly
    outside.
    """

    name = "equivalence"
    options: ClassVar[Options] = {
        "margin_percent": {"description": "Margin of the cost ratio, in %.", **PERCENT}
    }
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        return equivalent(cell, options["margin_percent"] / 100)


def equivalent(cell: Cell, margin: float) -> Finding:
    """The equivalence test of one cell with at least two blocks."""
    logs = cell.effects()
    smallest = estimate.smallest_margin(estimate.t_interval(logs, 0.90))
    facts = {
        **described(logs, ratio=True),
        **control(cell.control_effects(), math.log1p(margin), ratio=True),
        "unit": terms.RATIO,
        "margin": margin,
        "smallest_margin": smallest,
        "p_value": estimate.equivalence_p(logs, margin),
        "p_against": effects.p_outside(logs, math.log1p(margin)),
        "blocks": len(logs),
        "strain": max(smallest, 0.0) / margin,
    }
    outcome, limit = estimate.outcome(logs, margin), margin_text(margin, terms.RATIO)
    if outcome == outcomes.EQUIVALENT:
        inner = terms.interval(facts["low90"], facts["high90"])
        return in_cell(cell, terms.SUPPORTED, f"90 % interval {inner} lies within {limit}", **facts)
    if outcome == outcomes.DIFFERENT:
        outer = terms.interval(facts["low95"], facts["high95"])
        reason = f"95 % interval {outer} lies outside {limit}"
        return in_cell(cell, terms.CONTRADICTED, reason, **facts)
    found = in_cell(cell, terms.INCONCLUSIVE, "", **facts)
    would = margin_text(max(found.needed, smallest), terms.RATIO)
    reason = f"not shown within {limit}; {would} would pass"
    return in_cell(cell, terms.INCONCLUSIVE, reason, **facts)


RULE = Equivalence()
