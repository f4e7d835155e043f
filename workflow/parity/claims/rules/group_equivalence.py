"""All arms cost the same, each against each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, groupby
from typing import Any, ClassVar

from parity.claims.cells import Scope
from parity.claims.finding import Finding, too_few
from parity.claims.rules.equivalence import equivalent
from parity.claims.rules.model import PERCENT, Options, Rule


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
        found = []
        in_order = sorted(scope.cells, key=lambda cell: cell.case)
        for _, cells in groupby(in_order, key=lambda cell: cell.case):
            for one, other in combinations(cells, 2):
                pair = scope.between(one, one.arm, other.arm)
                enough = pair.blocks >= 2
                found.append(
                    equivalent(pair, options["margin_percent"] / 100)
                    if enough
                    else too_few(pair, pair.blocks)
                )
        return found


RULE = GroupEquivalence()
