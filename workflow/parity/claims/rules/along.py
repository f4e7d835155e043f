"""How the cost ratio goes along a factor: it does not change, or it rises or falls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from parity.analysis.decision import (
    FEWEST_FOR_A_DIFFERENCE,
    WITHOUT_CONTROL,
    Decision,
    decide,
)
from parity.analysis.estimate import ALPHA, mean_of
from parity.analysis.outcomes import DIFFERENT, INCONCLUSIVE
from parity.analysis.statistics.trend import FALLING, RISING, page_trend, slopes_per_doubling
from parity.claims import terms
from parity.claims.finding import (
    Finding,
    about,
    absent,
    tested,
    too_few,
    too_few_in,
)
from parity.claims.rules.direction import directed
from parity.claims.rules.model import Rule
from parity.claims.selection import Scope
from parity.claims.series import Series, series
from parity.core import wording

LEVELS = 3
TOO_FEW = "too few blocks that hold every level: {} of 2"


class SeriesRule(Rule):
    """A rule that looks at each series of cells by itself."""

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each series."""
        whole, missing = series(scope, options["along"], LEVELS)
        found = [finding for one in whole for finding in self.look(one, options)]
        return [absent(each) for each in missing] + found

    @abstractmethod
    def look(self, one: Series, options: Mapping[str, Any]) -> list[Finding]:
        """The findings in a series with enough levels."""


class Slope(SeriesRule):
    """Slope of the log ratio per doubling of the factor, in each block, by two one-sided tests.

    Three levels at least: through two points there is always a line.
    """

    name = "slope"
    version = 2
    proves_sameness = True

    def look(self, one: Series, options: Mapping[str, Any]) -> list[Finding]:
        """The test of one series."""
        slopes, margin = _slopes(one), options["margin_percent"] / 100
        if len(slopes) < 2:
            return [too_few(one, len(slopes), TOO_FEW.format(len(slopes)))]
        finding = tested(one, slopes, _slopes(one, control=True), margin)
        decision = finding.decision
        said = f"ratio per doubling of {one.along} {wording.interval(*decision.interval95)}"
        concluded = finding.concluded(
            same=f"{said} is within {wording.margin(margin)}",
            different=f"{said} lies outside {wording.margin(margin)}",
            neither=f"{said}; {wording.margin(decision.smallest_margin)} would pass",
        )
        return [concluded]


class Trend(SeriesRule):
    """Page's test of the log ratio over the levels, and Student's t of its slopes within blocks.

    Supported if both find the order that was expected, contradicted if both find the opposite
    one. The estimate is the ratio per doubling of the level. If the A/A pair has a trend of its
    own, nothing is concluded. A smallest effect, where one is given, has to be passed as in
    `direction` where most is expected to be lost: at the highest level of a ratio that rises,
    at the lowest of one that falls.
    """

    name = "trend"
    version = 3
    one_sided = True

    def look(self, one: Series, options: Mapping[str, Any]) -> list[Finding]:
        """The order of one series, and its size if one is asked for."""
        expect, smallest = options["expect"], options["smallest_effect_percent"]
        order = _order(one, expect)
        if smallest is None:
            return [order]
        most = one.cells[-1 if expect == RISING else 0]
        if most.blocks < 2:
            return [order, too_few_in(most, most.blocks)]
        logs, of_pair = most.effects(), most.effects(control=True)
        return [order, directed(most, logs, of_pair, True, smallest / 100)]


def _order(one: Series, expect: str) -> Finding:
    """Page's test of one series."""
    table = one.complete()
    if len(table) < 2:
        return too_few(one, len(table), TOO_FEW.format(len(table)))
    opposite = FALLING if expect == RISING else RISING
    ranks = [page_trend(table, order) for order in (expect, opposite)]
    slopes = _slopes(one)
    by_t = ranks
    if len(slopes) > 1:
        mean = mean_of(slopes if expect == RISING else -slopes)
        by_t = [mean.p_above(0.0), mean.p_below(0.0)]
    p, against = map(max, zip(ranks, by_t, strict=True))
    finding = about(
        one,
        decide(slopes, None) if len(slopes) > 1 else Decision(len(table)),
        control=_pair_trend(one),
        unit=wording.RATIO if len(slopes) > 1 else "",
        p_value=p,
        p_against=against,
        strain=p / ALPHA,
    )
    ended = {
        terms.SUPPORTED: f"p = {wording.number(p)} for {expect} along {one.along}",
        terms.CONTRADICTED: f"p = {wording.number(against)} for {opposite} along {one.along}",
    }
    verdict = _verdict(*by_t)
    reason = ended.get(verdict, ended[terms.SUPPORTED])
    return finding.agreed(verdict, _verdict(*ranks), reason)


def _verdict(p: float, against: float) -> str:
    if p < ALPHA:
        return terms.SUPPORTED
    return terms.CONTRADICTED if against < ALPHA else terms.INCONCLUSIVE


def _slopes(one: Series, control: bool = False) -> np.ndarray:
    """Slopes of the log ratio per doubling that are independent; none if a level has no log."""
    table = one.complete(control)
    if min(one.levels) <= 0:
        return np.array([])
    return one.independent(slopes_per_doubling(table), table.index)


def _pair_trend(one: Series) -> Decision:
    """Whether the A/A pair itself has a trend, either way (two-sided, 5 %)."""
    table = one.complete(control=True)
    if len(table) < 2:
        return WITHOUT_CONTROL
    p = 2 * min(page_trend(table, order) for order in (RISING, FALLING))
    differs = p < ALPHA and len(table) >= FEWEST_FOR_A_DIFFERENCE
    return Decision(len(table), outcome=DIFFERENT if differs else INCONCLUSIVE)


RULES = (Slope(), Trend())
