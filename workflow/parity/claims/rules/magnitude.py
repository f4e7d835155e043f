"""Published numbers beside ours: an effect of that size, or a value that is never compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

from parity.analysis.decision import Decision, decide
from parity.analysis.estimate import Effects, mean_of
from parity.analysis.pairing import RATIO
from parity.claims import terms
from parity.claims.finding import Finding, about, control, untested
from parity.claims.judging_data import Cell
from parity.claims.published import Published
from parity.claims.rules.model import CellRule, Rule
from parity.claims.selection import Scope
from parity.core import wording
from parity.plan.system_kind import CLUSTER

PERCENT_UNIT, FACTOR_UNIT = "percent", "factor"


class Magnitude(CellRule):
    """The published number beside our 95 % interval.

    What counts is what is added: a difference, or a ratio less one. With the sign of the
    published number shown (the interval leaves out nothing) and an estimate within a factor
    of two, the order is right; on a cluster, a published number inside of an interval that
    lies within a factor of two of it is then supported. It differs if the interval has
    nothing within a factor of two.
    """

    name = "magnitude"
    version = 2
    for_looks = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The comparison in one cell."""
        published, ratio = scope.values[options["published"]], options["scale"] == RATIO
        target = _added(published) if ratio else published.value
        unit = RATIO if ratio else cell.unit
        if target is None or (not ratio and published.unit != cell.unit):
            reason = f"published in {published.unit}, measured as {unit}"
            return untested(cell, reason)
        effects = cell.effects(ratio)
        levels, natives = cell.levels, cell.effects(ratio, control=True)
        decision = decide(effects, None, ratio, levels.own)
        shift = 1.0 if ratio else 0.0
        low, high = decision.interval95
        cluster = scope.data.dataset.kind.support == CLUSTER
        (verdict, said), (by_ranks, _) = (
            compare(target, estimate - shift, ends[0] - shift, ends[1] - shift, cluster)
            for estimate, ends in (
                (decision.estimate, decision.interval95),
                (decision.robust_estimate, decision.robust_interval95),
            )
        )
        ours = wording.number(decision.estimate, wording.decimals(low, high, unit))
        theirs = f"{target + shift:g} {'' if ratio else cell.unit}".strip()
        interval = wording.interval(low, high, unit)
        reason = f"published {theirs}, here {ours} {interval}: {said}"
        finding = about(
            cell,
            decision,
            control=control(natives, abs(target) / 2, ratio, levels.pair),
            unit=unit,
            p_against=levels.own.adjusted_both_ways(_p_differs(effects, target, ratio)),
        )
        return finding.agreed(verdict, by_ranks, reason)


def _p_differs(effects: Effects, target: float, ratio: bool) -> float:
    """Two-sided p that an effect lies beyond half a published one, or beyond twice of it."""
    low, high = sorted((target / 2, 2 * target))
    if ratio:
        low, high = (math.log1p(end) if end > -1 else -math.inf for end in (low, high))
    mean = mean_of(effects)
    beyond = [mean.p_above(high)]
    # No ratio lies below nothing.
    if low > -math.inf:
        beyond.append(mean.p_below(low))
    return min(1.0, 2 * min(beyond))


def compare(
    target: float, estimate: float, low: float, high: float, cluster: bool
) -> tuple[str, str]:
    """Verdict and words on a published effect beside our estimate and its 95 % interval.

    Args:
        target: the published effect; like the others zero for nothing, and not zero itself.
        cluster: whether ours was measured on a cluster, as theirs was.
    """
    if target < 0:
        target, estimate, low, high = -target, -estimate, -high, -low
    if high < target / 2 or low > 2 * target:
        return terms.DIFFERS, "nothing in the interval is within a factor of two"
    if low <= 0:
        return terms.INCONCLUSIVE, "the interval does not leave out nothing"
    if not target / 2 <= estimate <= 2 * target:
        return terms.INCONCLUSIVE, "same sign, but not within a factor of two"
    if cluster and target / 2 <= low <= target <= high <= 2 * target:
        return terms.SUPPORTED, "inside of the interval"
    return terms.ORDER_OK, "same sign and within a factor of two"


def _added(published: Published) -> float | None:
    """What a published ratio adds to one; None for another unit."""
    if published.unit == PERCENT_UNIT:
        return published.value / 100
    return published.value - 1 if published.unit == FACTOR_UNIT else None


class Anchor(Rule):
    """Not tested, on any system; our median stands beside the published value."""

    name = "anchor"
    compares = False

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each cell."""
        theirs = scope.values[options["published"]]
        return [_shown(cell, f"{theirs.value:g} {theirs.unit}") for cell in scope.cells]


def _shown(cell: Cell, theirs: str) -> Finding:
    values = cell.values(cell.arm)
    reason = f"an absolute value of their hardware ({theirs}) is not compared with another machine"
    if values:
        blocks = wording.counted(len(values), "block")
        reason += f"; the median here is {wording.number(median(values))} {cell.unit} ({blocks})"
    return about(cell, Decision(len(values)), against="").ended(terms.NOT_TESTED, reason)


RULES = (Anchor(), Magnitude())
