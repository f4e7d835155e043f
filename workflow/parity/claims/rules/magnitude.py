"""Published numbers beside ours: an effect of that size, or a value that is never compared."""

import math
from statistics import median

from parity.analysis.decision import Decision
from parity.analysis.estimate import Effects, typical
from parity.analysis.evidence import RATIO
from parity.claims import terms
from parity.claims.cells import Scope
from parity.claims.finding import Finding, about, untested
from parity.claims.rules import Options, Rule
from parity.claims.rules.contrasts import differences, ratios
from parity.core import wording
from parity.plan.system import CLUSTER


def _magnitude(options: Options, scope: Scope) -> list[Finding]:
    """The published number beside our 95 % interval.

    What counts is what is added: a difference, or a ratio less one. `compare` says what follows.
    """
    published, ratio = scope.values[options["published"]], options["scale"] == RATIO
    # What a published ratio adds to one.
    added = {"percent": published.value / 100, "factor": published.value - 1}
    target = added.get(published.unit, math.nan) if ratio else published.value
    nothing, cluster = 1.0 if ratio else 0.0, scope.data.dataset.kind.support == CLUSTER
    contrasts, found = ratios if ratio else differences, []
    for cell, asked in zip(scope.cells, contrasts(options, scope), strict=True):
        if isinstance(asked, Finding):
            found.append(asked)
            continue
        unit = RATIO if ratio else cell.unit
        if math.isnan(target) or (not ratio and published.unit != cell.unit):
            found.append(untested(cell, f"published in {published.unit}, measured as {unit}"))
            continue
        decision = asked.decide(None)
        ends = decision.interval95
        estimate, low, high = (value - nothing for value in (decision.estimate, *ends))
        verdict, words = compare(target, estimate, low, high, cluster)
        ours = wording.number(decision.estimate, wording.decimals(*ends, unit))
        theirs = f"{target + nothing:g} {'' if ratio else cell.unit}".strip()
        reason = f"published {theirs}, here {ours} {wording.interval(*ends, unit)}: {words}"
        p_against = asked.levels[0].adjusted_both_ways(_p_differs(asked.effects, target, ratio))
        finding = asked.finding(decision, abs(target) / 2, p_against=p_against)
        found.append(finding.ended(verdict, reason))
    return found


def _p_differs(effects: Effects, target: float, ratio: bool) -> float:
    """Two-sided p that an effect lies beyond half a published one, or beyond twice of it."""
    low, high = sorted((target / 2, 2 * target))
    if ratio:
        low, high = (math.log1p(end) if end > -1 else -math.inf for end in (low, high))
    centre = typical(effects)
    beyond = [centre.p_above(high)]
    # No ratio lies below nothing.
    if low > -math.inf:
        beyond.append(centre.p_below(low))
    return min(1.0, 2 * min(beyond))


def compare(
    target: float, estimate: float, low: float, high: float, cluster: bool
) -> tuple[str, str]:
    """Verdict and words on a published effect beside our estimate and its 95 % interval.

    All are zero for nothing, and the published one, `target`, is not zero. `cluster`: whether ours
    was measured on a cluster, as theirs was.
    """
    if target < 0:
        target, estimate, low, high = -target, -estimate, -high, -low
    if high < target / 2 or low > 2 * target:
        sign = "same sign, but " * (low > 0)
        return terms.DIFFERS, f"{sign}nothing in the interval is within a factor of two"
    if low <= 0:
        return terms.INCONCLUSIVE, "the interval does not leave out nothing"
    if not target / 2 <= estimate <= 2 * target:
        return terms.INCONCLUSIVE, "same sign, but not within a factor of two"
    if cluster and target / 2 <= low <= target <= high <= 2 * target:
        return terms.SUPPORTED, "inside of the interval"
    return terms.ORDER_OK, "same sign and within a factor of two"


def _anchor(options: Options, scope: Scope) -> list[Finding]:
    """Not tested, on any system; our median stands beside the published value."""
    published, found = scope.values[options["published"]], []
    theirs = f"{published.value:g} {published.unit}"
    for cell in scope.cells:
        values, reason = cell.numbers.of(cell.arm).values(), ""
        if values:
            ours = f"{wording.number(median(values))} {cell.unit}"
            reason = f"; the median here is {ours} ({wording.counted(len(values), 'block')})"
        reason = f"of their hardware ({theirs}) is not compared with another machine{reason}"
        finding = about([cell], Decision(len(values)), against="")
        found.append(finding.ended(terms.NOT_TESTED, f"an absolute value {reason}"))
    return found


RULES = (
    Rule("magnitude", _magnitude, 2, by_cell=True, for_looks=True),
    Rule("anchor", _anchor, compares=False),
)
