"""The cost ratio does not change along a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from parity.analysis import estimate, outcomes
from parity.analysis.statistics.trend import slopes_per_doubling
from parity.claims import effects, terms
from parity.claims.cells import Scope
from parity.claims.finding import Finding, control, described, margin_text
from parity.claims.rules.model import NAME, PERCENT, Options, Rule
from parity.claims.series import Series, series

LEVELS = 3


class Slope(Rule):
    """Slope of the log ratio per doubling of the factor, in each block, by two one-sided tests.

    Three levels at least: through two points there is always a line.
    """

    name = "slope"
    options: ClassVar[Options] = {
        "along": {"description": "The parameter, such as nodes.", **NAME},
        "margin_percent": {"description": "Margin of the ratio per doubling, in %.", **PERCENT},
    }
    proves_sameness = True

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each series."""
        found, missing = series(scope, options["along"], LEVELS)
        return missing + [_look(one, options["margin_percent"] / 100) for one in found]


def _look(one: Series, margin: float) -> Finding:
    slopes = slopes_of(one)
    if len(slopes) < 2:
        return one.finding(
            terms.INCONCLUSIVE, f"too few blocks that hold every level: {len(slopes)} of 2",
            blocks=len(slopes), strain=math.inf,
        )  # fmt: skip
    smallest = estimate.smallest_margin(estimate.t_interval(slopes, 0.90))
    facts = {
        **described(slopes, ratio=True),
        **control(slopes_of(one, control=True), math.log1p(margin), ratio=True),
        "unit": terms.RATIO,
        "margin": margin,
        "smallest_margin": smallest,
        "p_value": estimate.equivalence_p(slopes, margin),
        "p_against": effects.p_outside(slopes, math.log1p(margin)),
        "blocks": len(slopes),
        "strain": smallest / margin,
    }
    said = f"ratio per doubling of {one.along} {terms.interval(facts['low95'], facts['high95'])}"
    limit = margin_text(margin, terms.RATIO)
    outcome = estimate.outcome(slopes, margin)
    if outcome == outcomes.EQUIVALENT:
        return one.finding(terms.SUPPORTED, f"{said} is within {limit}", **facts)
    if outcome == outcomes.DIFFERENT:
        return one.finding(terms.CONTRADICTED, f"{said} lies outside {limit}", **facts)
    would = margin_text(smallest, terms.RATIO)
    return one.finding(terms.INCONCLUSIVE, f"{said}; {would} would pass", **facts)


def slopes_of(one: Series, control: bool = False) -> np.ndarray:
    """The slopes of a series, or of the A/A pair along it, block by block."""
    frame = one.complete("log", control)
    return slopes_per_doubling(frame).to_numpy() if len(frame) else frame["log"].to_numpy(float)


RULE = Slope()
