"""An arm costs more, or less, by an amount that counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from parity.analysis import outcomes
from parity.analysis.decision import decide
from parity.analysis.estimate import ALPHA, mean_of
from parity.analysis.statistics.sequential import Levels
from parity.claims import terms
from parity.claims.finding import Bounds, Finding, about, bounds, control
from parity.claims.judging_data import AT_ONE_LOOK, Cell, CellLevels
from parity.claims.rules.model import CellRule
from parity.claims.selection import Scope
from parity.claims.series import Series
from parity.core import wording

MORE, LESS = "costs-more", "costs-less"
NOTHING = "is equivalent to no effect within"


class Direction(CellRule):
    """One-sided paired t test of the log ratio, with a smallest effect that counts.

    Supported if the effect has the expected sign (p < 0.05) and its estimate is beyond the
    smallest effect; contradicted if it goes the other way likewise, or is equivalent to
    nothing within the smallest effect (Lakens, Soc. Psychol. Personal. Sci. 2017). An effect
    that goes the expected way, but by less than what counts, is open. So is one that the A/A
    pair shows likewise, whichever of its two arms is taken for the other.
    """

    name = "direction"
    version = 2
    one_sided = True
    for_looks = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        smallest, more = options["smallest_effect_percent"] / 100, options["expect"] == MORE
        logs, of_pair = cell.effects(), cell.effects(control=True)
        return directed(cell, logs, of_pair, more, smallest, cell.levels)


class MinimumEffect(CellRule):
    """One-sided test that the arm costs more, or less, by a published amount at least.

    Supported if the one-sided 95 % bound nearer to nothing lies beyond that amount,
    contradicted if the other one does not reach it (Murphy & Myors, J. Appl. Psychol. 1999).
    Open if the A/A pair shows as much.
    """

    name = "minimum-effect"
    one_sided = True
    for_looks = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        least, logs, levels = options["minimum_percent"] / 100, cell.effects(), cell.levels
        of_pair = cell.effects(control=True)
        bound, expected = math.log1p(least), logs if options["expect"] == MORE else -logs
        decision, mean = decide(logs, least, levels=levels.own), mean_of(expected)
        p = levels.own.adjusted(mean.p_above(bound))
        finding = about(
            cell,
            replace(decision, smallest_margin=math.nan),
            control=control(of_pair, least, levels=levels.pair),
            unit=wording.RATIO,
            p_value=p,
            p_against=levels.own.adjusted(mean.p_below(bound)),
            strain=p / ALPHA,
        )
        verdict, by_ranks = (_beyond(each, bound) for each in bounds(expected, levels.own))
        said = f"90 % interval {wording.interval(*decision.interval90)}"
        reasons = {
            terms.SUPPORTED: f"{said} lies beyond {wording.margin(least)}",
            terms.CONTRADICTED: f"{said} does not reach {wording.margin(least)}",
            terms.INCONCLUSIVE: f"{said} holds {wording.margin(least)}",
        }
        finding = replace(finding, says_same=verdict == terms.CONTRADICTED)
        both_ways = _both_ways(of_pair, levels.pair)
        if verdict == terms.SUPPORTED and any(verdict == _beyond(e, bound) for e in both_ways):
            finding = _as_native(finding)
        return finding.agreed(verdict, by_ranks, reasons[verdict])


def directed(
    subject: Cell | Series,
    logs: np.ndarray,
    of_pair: np.ndarray,
    more: bool,
    smallest: float,
    levels: CellLevels = AT_ONE_LOOK,
) -> Finding:
    """Whether logs of ratios have the expected sign and a size that counts.

    Args:
        of_pair: the same of the A/A pair, which must not show such an effect itself.
        more: whether a ratio above one is expected.
        smallest: the smallest effect that counts, as a fraction.
    """
    bound, expected = math.log1p(smallest), logs if more else -logs
    decision, mean = decide(logs, smallest, levels=levels.own), mean_of(expected)
    p = levels.own.adjusted(mean.p_above(0.0))
    finding = about(
        subject,
        # Its smallest margin is that of another question.
        replace(decision, smallest_margin=math.nan),
        control=control(of_pair, smallest, levels=levels.pair),
        unit=wording.RATIO,
        p_value=p,
        # Either way to contradict implies that the effect is below the smallest one.
        p_against=levels.own.adjusted(mean.p_below(bound)),
        strain=p / ALPHA,
    )
    (verdict, words), (by_ranks, _) = (_way(each, bound) for each in bounds(expected, levels.own))
    said = f"ratio {wording.interval(*decision.interval95)}"
    reason = f"{said} {words} {wording.margin(smallest)}"
    finding = replace(finding, says_same=words == NOTHING)
    both_ways = _both_ways(of_pair, levels.pair)
    if words != NOTHING and any((verdict, words) == _way(e, bound) for e in both_ways):
        finding = _as_native(finding)
    return finding.agreed(verdict, by_ranks, reason)


def _as_native(finding: Finding) -> Finding:
    """The finding, whose A/A pair gates it as one that differs from itself."""
    return replace(finding, control=replace(finding.control, by_t=outcomes.DIFFERENT))


def _both_ways(of_pair: np.ndarray, levels: Levels) -> list[Bounds]:
    """The bounds of the A/A pair, by t and by ranks, whichever of the two is called the double."""
    if len(of_pair) < 2:
        return []
    return [each for logs in (of_pair, -of_pair) for each in bounds(logs, levels)]


def _way(expected: Bounds, bound: float) -> tuple[str, str]:
    """Verdict and words on an effect whose expected sign is plus."""
    if expected.low > 0:
        if expected.estimate > bound:
            return terms.SUPPORTED, "goes the expected way, beyond"
        return terms.INCONCLUSIVE, "goes the expected way, but not beyond"
    if expected.high < 0 and expected.estimate < -bound:
        return terms.CONTRADICTED, "goes the other way, beyond"
    if -bound < expected.low and expected.high < bound:
        return terms.CONTRADICTED, NOTHING
    return terms.INCONCLUSIVE, "leaves the direction open, with a smallest effect of"


def _beyond(expected: Bounds, bound: float) -> str:
    if expected.low > bound:
        return terms.SUPPORTED
    return terms.CONTRADICTED if expected.high < bound else terms.INCONCLUSIVE


RULES = (Direction(), MinimumEffect())
