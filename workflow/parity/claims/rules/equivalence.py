"""Every arm costs what the reference costs, or what every other does, within a margin."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, groupby
from typing import Any, ClassVar

from parity.claims.finding import Finding, tested, too_few_in
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.model import PERCENT, CellRule, Options, Rule
from parity.core import wording


class Equivalence(CellRule):
    """Two one-sided tests of the paired log ratio in every cell (`parity.analysis.decision`).

    All cells must pass, so passing is not corrected for their number (intersection-union
    test: Berger, Technometrics 1982). A cell contradicts if its 95 % interval lies wholly
    outside.
    """

    name = "equivalence"
    options: ClassVar[Options] = {
        "margin_percent": {"description": "Margin of the cost ratio, in %.", **PERCENT}
    }
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        return equivalent(cell, options["margin_percent"] / 100)


def equivalent(cell: Cell, margin: float) -> Finding:
    """The equivalence test of one cell with at least two blocks."""
    finding = tested(cell, cell.effects(), cell.effects(control=True), margin)
    decision = finding.decision
    limit = wording.margin(margin)
    return finding.concluded(
        same=f"90 % interval {wording.interval(*decision.interval90)} lies within {limit}",
        different=f"95 % interval {wording.interval(*decision.interval95)} lies outside {limit}",
        neither=f"not shown within {limit}; {wording.margin(finding.needed)} would pass",
    )


class GroupEquivalence(Rule):
    """The equivalence test for every pair of arms in every case.

    All pairs must pass, which proves more than an omnibus test does: that one says that the
    arms differ little on the whole (Wellek 2010, ch. 7) and not which of them.
    """

    name = "group-equivalence"
    options: ClassVar[Options] = {
        "margin_percent": {"description": "Margin of every ratio, in %.", **PERCENT}
    }
    proves_sameness = True

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


RULES = (Equivalence(), GroupEquivalence())
