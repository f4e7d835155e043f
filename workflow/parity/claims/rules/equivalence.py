"""Every arm costs what the reference costs, or what every other does, within a margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, groupby
from typing import Any

from parity.analysis.decision import decide
from parity.analysis.estimate import mean_of, p_outside
from parity.claims.finding import Finding, about, at_most, control, tested, too_few_in
from parity.claims.judging_data import Cell
from parity.claims.rules.model import CellRule, Rule
from parity.claims.selection import Scope
from parity.core import wording


class Equivalence(CellRule):
    """Two one-sided tests of the paired log ratio in every cell (`parity.analysis.decision`).

    All cells must pass, so passing is not corrected for their number (intersection-union
    test: Berger, Technometrics 1982). A cell contradicts if its 95 % interval lies wholly
    outside.
    """

    name = "equivalence"
    version = 2
    proves_sameness = True
    for_looks = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        return equivalent(cell, options["margin_percent"] / 100)


def equivalent(cell: Cell, margin: float) -> Finding:
    """The equivalence test of one cell with at least two blocks."""
    finding = tested(cell, cell.effects(), cell.effects(control=True), margin, cell.levels)
    decision = finding.decision
    limit = wording.margin(margin)
    return finding.concluded(
        same=f"90 % interval {wording.interval(*decision.interval90)} lies within {limit}",
        different=f"95 % interval {wording.interval(*decision.interval95)} lies outside {limit}",
        neither=f"not shown within {limit}; {wording.margin(finding.needed)} would pass",
    )


class EquivalentDifference(CellRule):
    """Two one-sided tests of the paired difference in the metric's own unit.

    For shares of which a ratio says nothing, such as that of the time lost to noise, where 0.001
    is a tenth of a percentage point. It contradicts if the 95 % interval lies wholly outside.
    """

    name = "equivalent-difference"
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        margin = options["margin"]
        effects, of_pair = (cell.effects(False, control=of_pair) for of_pair in (False, True))
        decision = decide(effects, margin, ratio=False)
        unit = "" if cell.unit == "1" else cell.unit
        finding = about(
            cell,
            decision,
            control=control(of_pair, margin, ratio=False),
            unit=unit,
            p_value=decision.p_equivalence,
            p_against=p_outside(effects, margin),
            strain=decision.smallest_margin / margin,
        )
        limit = wording.margin(margin, unit)
        inner, outer = (
            wording.interval(*ends, unit) for ends in (decision.interval90, decision.interval95)
        )
        return finding.concluded(
            same=f"90 % interval {inner} lies within {limit}",
            different=f"95 % interval {outer} lies outside {limit}",
            neither=f"not shown within {limit}; {wording.margin(finding.needed, unit)} would pass",
        )


class NonInferiority(CellRule):
    """One-sided test that the arm costs at most a margin more (Wellek 2010, ch. 4).

    Supported if the upper one-sided 95 % bound of the cost ratio lies below one plus the
    margin, contradicted if the lower one lies above it. An arm may cost less by any amount.
    """

    name = "non-inferiority"
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        margin, logs = options["margin_percent"] / 100, cell.effects()
        bound, decision = math.log1p(margin), at_most(decide(logs, margin), 1 + margin)
        mean, (low, high) = mean_of(logs), decision.interval90
        widest = max(high, decision.robust_interval90[1])
        finding = about(
            cell,
            replace(decision, smallest_margin=widest - 1),
            control=control(cell.effects(control=True), margin),
            unit=wording.RATIO,
            p_value=mean.p_below(bound),
            p_against=mean.p_above(bound),
            strain=(widest - 1) / margin,
        )
        limit = f"{1 + margin:g}"
        return finding.concluded(
            same=f"upper 95 % bound {wording.number(high)} lies below {limit}",
            different=f"lower 95 % bound {wording.number(low)} lies above {limit}",
            neither=f"90 % {wording.stands(low, high, 1 + margin)}",
        )


class GroupEquivalence(Rule):
    """The equivalence test for every pair of arms in every case.

    All pairs must pass, which proves more than an omnibus test does: that one says that the
    arms differ little on the whole (Wellek 2010, ch. 7) and not which of them.
    """

    name = "group-equivalence"
    version = 2
    proves_sameness = True
    every_pair = True
    for_looks = True

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each pair of arms and case."""
        margin, found = options["margin_percent"] / 100, []
        in_order = sorted(scope.cells, key=lambda cell: cell.case)
        for _, cells in groupby(in_order, key=lambda cell: cell.case):
            for one, other in combinations(cells, 2):
                pair = scope.data.cell(one.case, one.metric, one.arm, other.arm)
                enough = pair.blocks >= 2
                found.append(equivalent(pair, margin) if enough else too_few_in(pair, pair.blocks))
        return found


RULES = (Equivalence(), EquivalentDifference(), NonInferiority(), GroupEquivalence())
