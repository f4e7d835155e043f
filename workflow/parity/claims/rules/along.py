"""How the cost ratio goes along a factor: it does not change, or it rises or falls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis.decision import WITHOUT_CONTROL, Decision, decide
from parity.analysis.estimate import ALPHA
from parity.analysis.outcomes import DIFFERENT, INCONCLUSIVE
from parity.analysis.statistics.trend import FALLING, RISING, page_trend, slopes_per_doubling
from parity.claims import terms
from parity.claims.finding import Finding, about, absent, tested, too_few
from parity.claims.judging_data import Scope
from parity.claims.rules.model import NAME, PERCENT, Options, Rule
from parity.claims.series import Series, series
from parity.core import wording

LEVELS = 3
TOO_FEW = "too few blocks that hold every level: {} of 2"


class SeriesRule(Rule):
    """A rule that looks at each series of cells by itself."""

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each series."""
        whole, missing = series(scope, options["along"], LEVELS)
        return [absent(each) for each in missing] + [self.look(one, options) for one in whole]

    @abstractmethod
    def look(self, one: Series, options: Mapping[str, Any]) -> Finding:
        """The finding in a series with enough levels."""


class Slope(SeriesRule):
    """Slope of the log ratio per doubling of the factor, in each block, by two one-sided tests.

    Three levels at least: through two points there is always a line.
    """

    name = "slope"
    options: ClassVar[Options] = {
        "along": {"description": "The parameter, such as nodes.", **NAME},
        "margin_percent": {"description": "Margin of the ratio per doubling, in %.", **PERCENT},
    }
    proves_sameness = True

    def look(self, one: Series, options: Mapping[str, Any]) -> Finding:
        """The test of one series."""
        slopes, margin = slopes_per_doubling(one.complete()), options["margin_percent"] / 100
        if len(slopes) < 2:
            return too_few(one, len(slopes), TOO_FEW.format(len(slopes)))
        of_pair = slopes_per_doubling(one.complete(control=True))
        finding = tested(one, slopes, of_pair, margin)
        decision = finding.decision
        said = f"ratio per doubling of {one.along} {wording.interval(*decision.interval95)}"
        return finding.concluded(
            same=f"{said} is within {wording.margin(margin)}",
            different=f"{said} lies outside {wording.margin(margin)}",
            neither=f"{said}; {wording.margin(decision.smallest_margin)} would pass",
        )


class Trend(SeriesRule):
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

    def look(self, one: Series, options: Mapping[str, Any]) -> Finding:
        """The test of one series."""
        table, expect = one.complete(), options["expect"]
        if len(table) < 2:
            return too_few(one, len(table), TOO_FEW.format(len(table)))
        opposite = FALLING if expect == RISING else RISING
        p, against = (page_trend(table, order) for order in (expect, opposite))
        has_slope = min(one.levels) > 0
        finding = about(
            one,
            decide(slopes_per_doubling(table), None) if has_slope else Decision(len(table)),
            control=_pair_trend(one),
            unit=wording.RATIO if has_slope else "",
            p_value=p,
            p_against=against,
            strain=p / ALPHA,
        )
        said = f"p = {wording.number(p)} for {expect} along {one.along}"
        if p < ALPHA:
            return finding.ended(terms.SUPPORTED, said)
        if against < ALPHA:
            reason = f"p = {wording.number(against)} for {opposite} along {one.along}"
            return finding.ended(terms.CONTRADICTED, reason)
        return finding.ended(terms.INCONCLUSIVE, said)


def _pair_trend(one: Series) -> Decision:
    """Whether the A/A pair itself has a trend, either way (two-sided, 5 %)."""
    table = one.complete(control=True)
    if len(table) < 2:
        return WITHOUT_CONTROL
    p = 2 * min(page_trend(table, order) for order in (RISING, FALLING))
    return Decision(len(table), outcome=DIFFERENT if p < ALPHA else INCONCLUSIVE)


RULES = (Slope(), Trend())
