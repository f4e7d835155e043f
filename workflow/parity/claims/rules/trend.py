"""The cost ratio rises, or falls, along a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import estimate, outcomes
from parity.analysis.statistics.trend import FALLING, RISING, page_trend
from parity.claims import terms
from parity.claims.cells import Scope
from parity.claims.finding import NO_CONTROL, Finding, described
from parity.claims.rules.model import NAME, Options, Rule
from parity.claims.rules.slope import LEVELS, slopes_of
from parity.claims.series import Series, series


class Trend(Rule):
    """Page's test of the log ratio over the levels, with the order that was expected.

    Contradicted if the same test finds the opposite order. The estimate beside it is the
    ratio per doubling of the level. If the A/A pair has a trend of its own, nothing is
    concluded.
    """

    name = "trend"
    version = 2
    options: ClassVar[Options] = {
        "along": {"description": "The parameter, such as nodes.", **NAME},
        "expect": {"description": "Which way the ratio goes.", "enum": [RISING, FALLING]},
    }
    one_sided = True

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each series."""
        found, missing = series(scope, options["along"], LEVELS)
        return missing + [_look(one, options["expect"]) for one in found]


def _look(one: Series, expect: str) -> Finding:
    frame = one.complete("value")
    blocks = frame["block"].nunique()
    if blocks < 2:
        reason = f"too few blocks that hold every level: {blocks} of 2"
        return one.finding(terms.INCONCLUSIVE, reason, blocks=blocks, strain=math.inf)
    opposite = FALLING if expect == RISING else RISING
    p, against = (page_trend(frame, order).p for order in (expect, opposite))
    facts = {
        "blocks": blocks,
        "p_value": p,
        "p_against": against,
        "control": _control(one),
        "strain": p / estimate.ALPHA,
    }
    if min(one.levels) > 0:
        facts |= {**described(slopes_of(one), ratio=True), "unit": terms.RATIO}
    said = f"p = {terms.number(p)} for {expect} along {one.along}"
    if p < estimate.ALPHA:
        return one.finding(terms.SUPPORTED, said, **facts)
    if against < estimate.ALPHA:
        reason = f"p = {terms.number(against)} for {opposite} along {one.along}"
        return one.finding(terms.CONTRADICTED, reason, **facts)
    return one.finding(terms.INCONCLUSIVE, said, **facts)


def _control(one: Series) -> str:
    """Whether the A/A pair itself has a trend, either way (two-sided, 5 %)."""
    frame = one.complete("value", control=True)
    if frame["block"].nunique() < 2:
        return NO_CONTROL
    p = 2 * min(page_trend(frame, order).p for order in (RISING, FALLING))
    return outcomes.DIFFERENT if p < estimate.ALPHA else outcomes.INCONCLUSIVE


RULE = Trend()
