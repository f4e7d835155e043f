"""An arm costs more, or less, by an amount that counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from parity.analysis import outcomes
from parity.analysis.decision import Decision, decide
from parity.analysis.estimate import ALPHA, p_above, p_below
from parity.claims import terms
from parity.claims.finding import Finding, about, control
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.model import PERCENT, CellRule, Options
from parity.core import wording

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
        logs = cell.effects()
        expected = logs if options["expect"] == MORE else -logs
        decision, p = decide(logs, smallest), p_above(expected, 0.0)
        finding = about(
            cell,
            # Its smallest margin is that of another question.
            replace(decision, smallest_margin=math.nan),
            control=control(cell.effects(control=True), smallest),
            unit=wording.RATIO,
            p_value=p,
            # Either way to contradict implies that the effect is below the smallest one.
            p_against=p_below(expected, math.log1p(smallest)),
            strain=p / ALPHA,
        )
        verdict, reason = _decide(expected, decision, math.log1p(smallest), p)
        said = f"ratio {wording.interval(*decision.interval95)}"
        return finding.ended(verdict, f"{said} {reason.format(limit=wording.margin(smallest))}")


def _decide(expected: np.ndarray, decision: Decision, bound: float, p: float) -> tuple[str, str]:
    """Verdict and reason of effects whose expected sign is plus."""
    mean = float(expected.mean())
    if p < ALPHA and mean > bound:
        return terms.SUPPORTED, "goes the expected way, beyond {limit}"
    if p_below(expected, 0.0) < ALPHA and mean < -bound:
        return terms.CONTRADICTED, "goes the other way, beyond {limit}"
    if decision.outcome == outcomes.EQUIVALENT:
        return terms.CONTRADICTED, "is equivalent to no effect within {limit}"
    if p < ALPHA:
        return terms.INCONCLUSIVE, "goes the expected way, but not beyond {limit}"
    return terms.INCONCLUSIVE, "leaves the direction open"


RULES = (Direction(),)
