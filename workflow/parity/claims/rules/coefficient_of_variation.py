"""Single runs scatter little."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from parity.analysis import outcomes
from parity.analysis.statistics.spread import cv_upper_bound
from parity.claims import terms
from parity.claims.cells import Cell, Scope
from parity.claims.finding import NO_CONTROL, Finding, in_cell
from parity.claims.rules.model import PERCENT, CellRule, Options

UNIT = "%"
_ENDS = {"low95": 0.025, "high95": 0.975, "low90": 0.05, "high90": 0.95}


class CoefficientOfVariation(CellRule):
    """One-sided 95 % bounds of the coefficient of variation of each arm's own values.

    The reference stands in for the A/A pair: a machine that scatters more than the bound
    without any container cannot tell what a container adds.
    """

    name = "coefficient-of-variation"
    options: ClassVar[Options] = {
        "bound_percent": {"description": "Bound of the coefficient, in %.", **PERCENT}
    }
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The bounds of one arm."""
        bound, values = options["bound_percent"], cell.values(cell.arm).values()
        own = _bounds(values)
        facts = {
            **own,
            **_control(cell, bound),
            "unit": UNIT,
            "margin": bound,
            "smallest_margin": own["high90"],
            **_p(values, bound),
            "blocks": len(values),
            "against": "",
            "strain": own["high90"] / bound,
        }
        if own["high90"] < bound:
            reason = f"upper 95 % bound {terms.number(own['high90'])} %, below {bound:g} %"
            return in_cell(cell, terms.SUPPORTED, reason, **facts)
        if own["low90"] > bound:
            reason = f"lower 95 % bound {terms.number(own['low90'])} %, above {bound:g} %"
            return in_cell(cell, terms.CONTRADICTED, reason, **facts)
        inside = terms.interval(own["low90"], own["high90"], UNIT)
        return in_cell(
            cell, terms.INCONCLUSIVE, f"90 % interval {inside} holds {bound:g} %", **facts
        )


def _bounds(values: Iterable[float]) -> dict[str, float]:
    """The coefficient with its bounds, in %."""
    numbers = np.array(list(values))
    spread = float(np.sqrt(np.expm1(np.log(numbers).var(ddof=1))))
    ends = {name: 100 * cv_upper_bound(numbers, share) for name, share in _ENDS.items()}
    return {"estimate": 100 * spread, **ends}


def _p(values: Iterable[float], bound: float) -> dict[str, float]:
    """One-sided p that the coefficient is below the bound, and that it is above."""
    logs = np.log(list(values))
    freedom, variance = len(logs) - 1, np.log1p((bound / 100) ** 2)
    below = float(stats.chi2.cdf(freedom * logs.var(ddof=1) / variance, freedom))
    return {"p_value": below, "p_against": 1 - below}


def _control(cell: Cell, bound: float) -> dict[str, Any]:
    """Whether the reference itself keeps the bound."""
    values = cell.values(cell.pair[0]).values()
    if len(values) < 2:
        return {"control": NO_CONTROL}
    own = _bounds(values)
    outcome = outcomes.EQUIVALENT if own["high90"] < bound else outcomes.INCONCLUSIVE
    return {
        "control": outcomes.DIFFERENT if own["low90"] > bound else outcome,
        "control_estimate": own["estimate"],
        "control_low95": own["low95"],
        "control_high95": own["high95"],
        "control_margin": own["high90"],
    }


RULE = CoefficientOfVariation()
