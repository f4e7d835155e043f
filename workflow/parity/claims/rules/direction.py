"""An arm costs more, or less, by an amount that counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import estimate
from parity.claims import effects, terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import Finding, control, described, in_cell, margin_text
from parity.claims.rules.model import PERCENT, CellRule, Options

MORE, LESS = "costs-more", "costs-less"


class Direction(CellRule):
    """One-sided paired t test of the log ratio, with a smallest effect that counts.

    Supported if the effect has the expected sign (p < 0.05) and its estimate is beyond the
    smallest effect; contradicted if it goes the other way likewise, or is equivalent to
    nothing within the smallest effect (Lakens, Soc. Psychol. Personal. Sci. 2017).
    """

    name = "direction"
    options: ClassVar[Options] = {
        "expect": {"description": "What the arm does beside the other.", "enum": [MORE, LESS]},
        "smallest_effect_percent": {"description": "Smallest effect that counts, in %.", **PERCENT},
    }
    one_sided = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        smallest = options["smallest_effect_percent"] / 100
        bound, logs = math.log1p(smallest), cell.effects()
        expected = logs if options["expect"] == MORE else -logs
        p = effects.p_above(expected, 0.0)
        facts = {
            **described(logs, ratio=True),
            **control(cell.control_effects(), bound, ratio=True),
            "unit": terms.RATIO,
            "margin": smallest,
            "p_value": p,
            # Either way to contradict implies that the effect is below the smallest one.
            "p_against": effects.p_below(expected, bound),
            "blocks": len(logs),
            "strain": p / estimate.ALPHA,
        }
        verdict, reason = _decide(expected, bound, p)
        said = f"ratio {terms.interval(facts['low95'], facts['high95'])}"
        limit = margin_text(smallest, terms.RATIO)
        return in_cell(cell, verdict, f"{said} {reason.format(limit=limit)}", **facts)


def _decide(expected: Any, bound: float, p: float) -> tuple[str, str]:
    """Verdict and reason of effects whose expected sign is plus."""
    mean = float(expected.mean())
    if p < estimate.ALPHA and mean > bound:
        return terms.SUPPORTED, "goes the expected way, beyond {limit}"
    if effects.p_below(expected, 0.0) < estimate.ALPHA and mean < -bound:
        return terms.CONTRADICTED, "goes the other way, beyond {limit}"
    if effects.p_within(expected, bound) < estimate.ALPHA:
        return terms.CONTRADICTED, "is equivalent to no effect within {limit}"
    if p < estimate.ALPHA:
        return terms.INCONCLUSIVE, "goes the expected way, but not beyond {limit}"
    return terms.INCONCLUSIVE, "leaves the direction open"


RULE = Direction()
