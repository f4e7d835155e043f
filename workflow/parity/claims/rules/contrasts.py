"""The rules that are rows of a table: which contrast of costs, and which test of it.

A test holds the effects of a question against a region. What is concluded is said by Student's t
and by the exact signed-rank test, or left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from parity.analysis import outcomes
from parity.analysis.decision import METHOD, outcome_of
from parity.analysis.estimate import (
    ALPHA,
    Effects,
    mean_of,
    p_outside,
    rank_estimate,
    rank_interval,
)
from parity.analysis.sequential import Levels
from parity.claims import terms
from parity.claims.cells import Scope
from parity.claims.finding import Finding
from parity.claims.rules import Find, Options, Rule
from parity.claims.rules.questions import (
    Asked,
    Question,
    crossed,
    differences,
    every_pair,
    ratios,
    shares,
    slopes,
)
from parity.core import wording

MORE, SECOND = "costs-more", "second-costs-more"
_SAME = {
    outcomes.EQUIVALENT: "{what}90 % interval {inner} lies within {limit}",
    outcomes.DIFFERENT: "{what}95 % interval {outer} lies outside {limit}",
    outcomes.INCONCLUSIVE: "{what}not shown within {limit}; {needed} would pass",
}
_BELOW = {
    outcomes.EQUIVALENT: "{what}upper 95 % bound {high} lies below {most}",
    outcomes.DIFFERENT: "{what}lower 95 % bound {low} lies above {most}",
    outcomes.INCONCLUSIVE: "{what}90 % {stands}",
}
# What an equivalence that a claim states becomes.
_VERDICT = {
    outcomes.EQUIVALENT: terms.SUPPORTED,
    outcomes.DIFFERENT: terms.CONTRADICTED,
    outcomes.INCONCLUSIVE: terms.INCONCLUSIVE,
}


def concluded(finding: Finding, words: Mapping[str, str], **values: str) -> Finding:
    """The finding with the verdict that its decision gives, and the words of that outcome."""
    outcome, objection = finding.decision.outcome, finding.decision.reason
    reason = words[outcome].format_map(values)
    if objection and outcome == outcomes.INCONCLUSIVE:
        reason = f"{objection}; {reason}"
    return finding.ended(_VERDICT[outcome], reason)


def same(asked: Question, margin: float) -> Finding:
    """Two one-sided tests (`parity.analysis.decision`).

    All cells must pass, so passing is not corrected for their number (intersection-union
    test: Berger, Technometrics 1982). A cell contradicts if its 95 % interval lies wholly
    outside.
    """
    decision, unit = asked.decide(margin), asked.unit
    p_against = p_outside(asked.effects, asked.bound(margin))
    finding = asked.finding(
        decision,
        margin,
        p_value=decision.p_equivalence,
        p_against=asked.levels.own.adjusted_both_ways(p_against),
        strain=decision.smallest_margin / margin,
    )
    return concluded(
        finding,
        _SAME,
        what=asked.what,
        inner=wording.interval(*decision.interval90, unit),
        outer=wording.interval(*decision.interval95, unit),
        limit=wording.margin(margin, unit),
        needed=wording.margin(finding.needed, unit),
    )


def below(asked: Question, margin: float) -> Finding:
    """One-sided test that no more than a margin is added (Wellek 2010, ch. 4).

    Supported if the upper one-sided 95 % bound lies below it, contradicted if the lower one lies
    above it. An arm may cost less by any amount.
    """
    nothing = 1.0 if asked.is_ratio else 0.0
    decision, most = asked.decide(margin), nothing + margin
    inner, by_ranks = decision.interval90, decision.robust_interval90
    outcome, robust = (outcome_of(ends, ends, (-math.inf, most)) for ends in (inner, by_ranks))
    widest = max(inner[1], by_ranks[1]) - nothing
    decision = replace(
        decision, outcome=outcome, robust_outcome=robust, reason="", smallest_margin=widest
    )
    decision = decision.without_claim("" if outcome == robust else f"{METHOD} {robust}")
    mean, bound = mean_of(asked.effects), asked.bound(margin)
    finding = asked.finding(
        decision,
        margin,
        p_value=mean.p_below(bound),
        p_against=mean.p_above(bound),
        strain=(inner[1] - nothing) / margin,
    )
    unit = "" if asked.is_ratio else f" {asked.unit}"
    return concluded(
        finding,
        _BELOW,
        what=asked.what,
        low=f"{wording.number(inner[0])}{unit}",
        high=f"{wording.number(inner[1])}{unit}",
        stands=wording.stands(*inner, most, asked.unit),
        most=f"{most:g}{unit}",
    )


class Bounds(NamedTuple):
    """An estimate between its two one-sided 95 % bounds; in the unit of the effects.

    At a look they are those that hold at all looks together.
    """

    estimate: float
    low: float
    high: float


def bounds(effects: Effects, levels: Levels) -> tuple[Bounds, Bounds]:
    """Those of the mean by Student's t, and of the centre by ranks."""
    mean, centre, share = float(np.mean(effects)), rank_estimate(effects), 1 - 2 * levels.same
    return (
        Bounds(mean, *mean_of(effects).interval(share)),
        Bounds(centre, *rank_interval(effects, share)),
    )


NOTHING, TOO_LITTLE = "is equivalent to no effect within", "does not reach"
Way = Callable[[Bounds, float], tuple[str, str]]


def _direction(expected: Bounds, bound: float) -> tuple[str, str]:
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


def _amount(expected: Bounds, bound: float) -> tuple[str, str]:
    """The same on an effect of a certain amount at least."""
    if expected.low > bound:
        return terms.SUPPORTED, "lies beyond"
    if expected.high < bound:
        return terms.CONTRADICTED, TOO_LITTLE
    return terms.INCONCLUSIVE, "holds"


def directed(asked: Question, more: bool, smallest: float) -> Finding:
    """One-sided paired t test of the log ratio, with a smallest effect that counts.

    Supported if the effect has the expected sign (p < 0.05) and its estimate is beyond the
    smallest effect; contradicted if it goes the other way likewise, or is equivalent to
    nothing within the smallest effect (Lakens, Soc. Psychol. Personal. Sci. 2017). An effect
    that goes the expected way, but by less than what counts, is open. So is one that the A/A
    pair shows likewise, whichever of its two arms is taken for the other.

    Args:
        more: whether a ratio above one is expected.
        smallest: the smallest effect that counts, as a fraction.
    """
    return _one_sided(asked, more, smallest, 0.0, _direction)


def at_least(asked: Question, more: bool, least: float) -> Finding:
    """One-sided test that the arm costs more, or less, by a published amount at least.

    Supported if the one-sided 95 % bound nearer to nothing lies beyond that amount,
    contradicted if the other one does not reach it (Murphy & Myors, J. Appl. Psychol. 1999).
    Open if the A/A pair shows as much.
    """
    return _one_sided(asked, more, least, math.log1p(least), _amount)


def _one_sided(asked: Question, more: bool, size: float, beyond: float, way: Way) -> Finding:
    """A test that the effect lies beyond a bound.

    Either way to contradict implies that it is below that of the size: that is its p.
    """
    own, bound = asked.levels.own, math.log1p(size)
    expected = asked.effects if more else -asked.effects
    decision, mean = asked.decide(size), mean_of(expected)
    p = own.adjusted(mean.p_above(beyond))
    (verdict, words), (by_ranks, _) = (way(ends, bound) for ends in bounds(expected, own))
    finding = asked.finding(
        # Its smallest margin is that of another question.
        replace(decision, smallest_margin=math.nan),
        size,
        p_value=p,
        p_against=own.adjusted(mean.p_below(bound)),
        strain=p / ALPHA,
        says_same=words in (NOTHING, TOO_LITTLE),
    )
    native = [ends for logs in (asked.of_pair, -asked.of_pair) if len(logs) > 1
              for ends in bounds(logs, asked.levels.pair)]  # fmt: skip
    if not finding.says_same and any(way(ends, bound) == (verdict, words) for ends in native):
        # The A/A pair shows the same: it gates as one that differs from itself.
        control = replace(finding.control, by_t=outcomes.DIFFERENT)
        finding = replace(finding, control=control)
    ends, name = decision.interval95, "ratio"
    if beyond:
        ends, name = decision.interval90, "90 % interval"
    said = f"{asked.what}{name} {wording.interval(*ends)} {words} {wording.margin(size)}"
    return finding.agreed(verdict, by_ranks, said)


def _crossed(options: Options, scope: Scope) -> list[Finding]:
    """Two findings for each arm: the container costs the same at both levels, the factor does not.

    The interaction is equivalent to nothing, and the factor itself has an effect of the expected
    sign beyond the smallest one that counts, as in `direction`.
    """
    margin, smallest = options["margin_percent"] / 100, options["smallest_effect_percent"] / 100
    found = []
    for asked in crossed(options, scope):
        if isinstance(asked, Finding):
            found.append(asked)
            continue
        main = directed(asked[1], options["expect"] == SECOND, smallest)
        of_factor = replace(main, metric=f"{main.metric} (factor)")
        found += [same(asked[0], margin), of_factor]
    return list(dict.fromkeys(found))


def _row(contrasts: Callable[[Options, Scope], Asked], test: Callable[..., Finding]) -> Find:
    """What a row finds: its test of each of its contrasts, with the numbers of its options."""

    def find(options: Options, scope: Scope) -> list[Finding]:
        percent = {name: number for name, number in options.items() if name.endswith("_percent")}
        [size] = [options["margin"]] if "margin" in options else percent.values()
        in_unit = "margin" in options or contrasts is shares
        numbers = [size if in_unit else size / 100]
        if "expect" in options:
            numbers = [options["expect"] == MORE, *numbers]
        return [
            asked if isinstance(asked, Finding) else test(asked, *numbers)
            for asked in contrasts(options, scope)
        ]

    return find


SAMENESS: dict[str, Any] = {"proves_sameness": True, "by_cell": True}
DIFFERENCE: dict[str, Any] = {"one_sided": True, "by_cell": True}
RULES = (
    Rule("equivalence", _row(ratios, same), 2, **SAMENESS, for_looks=True),
    Rule("equivalent-difference", _row(differences, same), **SAMENESS),
    Rule("group-equivalence", _row(every_pair, same), 2,
         proves_sameness=True, every_pair=True, for_looks=True),
    Rule("non-inferiority", _row(ratios, below), **SAMENESS),
    Rule("share-of-node", _row(shares, below), 2, **SAMENESS),
    Rule("slope", _row(slopes, same), 2, proves_sameness=True),
    Rule("direction", _row(ratios, directed), 2, **DIFFERENCE, for_looks=True),
    Rule("minimum-effect", _row(ratios, at_least), **DIFFERENCE, for_looks=True),
    Rule("interaction", _crossed, 2, one_sided=True, proves_sameness=True),
)  # fmt: skip
