"""The cost ratio rises or falls along a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from parity.analysis.decision import (
    FEWEST_FOR_A_DIFFERENCE,
    WITHOUT_CONTROL,
    Decision,
    decide,
)
from parity.analysis.estimate import ALPHA, mean_of
from parity.analysis.outcomes import DIFFERENT, INCONCLUSIVE
from parity.analysis.statistics.trend import FALLING, RISING, page_trend
from parity.claims import terms
from parity.claims.cells import Series
from parity.claims.finding import Finding, about, too_few
from parity.claims.rules.contrasts import directed
from parity.claims.rules.model import Options, Rule
from parity.claims.rules.questions import TOO_FEW, ratios, series, slopes_of
from parity.claims.selection import Scope
from parity.core import wording


def _trend(options: Options, scope: Scope) -> list[Finding]:
    """Page's test of the log ratio over the levels, and Student's t of its slopes within blocks.

    Supported if both find the order that was expected, contradicted if both find the opposite
    one. The estimate is the ratio per doubling of the level. If the A/A pair has a trend of its
    own, nothing is concluded. A smallest effect, where one is given, has to be passed as in
    `direction` where most is expected to be lost: at the highest level of a ratio that rises,
    at the lowest of one that falls.
    """
    expect, smallest = options["expect"], options["smallest_effect_percent"]
    found = []
    for one in series(scope, options["along"]):
        found.append(one if isinstance(one, Finding) else _order(one, expect))
        if isinstance(one, Series) and smallest is not None:
            most = one.cells[-1 if expect == RISING else 0]
            # What knows no looks is decided at the levels of one.
            [asked] = ratios(options, replace(scope, cells=(most,)))
            found.append(
                asked if isinstance(asked, Finding) else directed(asked, True, smallest / 100)
            )
    return found


def _order(one: Series, expect: str) -> Finding:
    """Page's test of one series."""
    table = one.complete()
    if len(table) < 2:
        return too_few(one, len(table), reason=TOO_FEW.format(len(table)))
    opposite = FALLING if expect == RISING else RISING
    ranks = _pages(table, expect, opposite)
    own, by_t = slopes_of(one), ranks
    if len(own) > 1:
        mean = mean_of(own if expect == RISING else -own)
        by_t = [mean.p_above(0.0), mean.p_below(0.0)]
    p, against = map(max, zip(ranks, by_t, strict=True))
    finding = about(
        one,
        decide(own, None) if len(own) > 1 else Decision(len(table)),
        control=_pair_trend(one),
        unit=wording.RATIO if len(own) > 1 else "",
        p_value=p,
        p_against=against,
        strain=p / ALPHA,
    )
    verdict, by_ranks = _order_shown(by_t), _order_shown(ranks)
    way, shown = (opposite, against) if verdict == terms.CONTRADICTED else (expect, p)
    reason = f"p = {wording.number(shown)} for {way} along {one.along}"
    return finding.agreed(verdict, by_ranks, reason)


def _pages(table: pd.DataFrame, *orders: str) -> list[float]:
    return [page_trend(table, order) for order in orders]


def _order_shown(p_for_and_against: Sequence[float]) -> str:
    verdicts = (terms.SUPPORTED, terms.CONTRADICTED)
    passed = [v for v, p in zip(verdicts, p_for_and_against, strict=True) if p < ALPHA]
    return passed[0] if passed else terms.INCONCLUSIVE


def _pair_trend(one: Series) -> Decision:
    """Whether the A/A pair itself has a trend, either way (two-sided, 5 %)."""
    table = one.complete(control=True)
    if len(table) < 2:
        return WITHOUT_CONTROL
    p = 2 * min(_pages(table, RISING, FALLING))
    differs = p < ALPHA and len(table) >= FEWEST_FOR_A_DIFFERENCE
    return Decision(len(table), outcome=DIFFERENT if differs else INCONCLUSIVE)


TREND = (Rule("trend", _trend, 3, one_sided=True),)
