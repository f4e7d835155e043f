"""What an arm adds is a small part of the node's memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parity.analysis.decision import decide
from parity.analysis.estimate import mean_of
from parity.claims.finding import Finding, about, at_most, control, untested
from parity.claims.judging_data import Cell
from parity.claims.rules.model import CellRule
from parity.claims.selection import Scope
from parity.core.wording import number, stands

UNIT = "% of node"
MIB = {"MiB": 1.0, "GiB": 1024.0, "B": 1 / 2**20}


class ShareOfNode(CellRule):
    """Upper 95 % bound of the mean difference over MemTotal (Student's t, one-sided).

    It contradicts if the lower one lies above it.
    """

    name = "share-of-node"
    version = 2
    proves_sameness = True

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        memory, bound = scope.data.memory_mib, options["bound_percent"]
        if memory is None or cell.unit not in MIB:
            reason = f"{cell.metric} is in {cell.unit or 'no unit'}, not in bytes"
            if memory is None:
                reason = "the records do not say how much memory the node has"
            return untested(cell, reason)
        factor = 100 * MIB[cell.unit] / memory
        shares = factor * cell.effects(ratio=False)
        decision = at_most(decide(shares, bound, ratio=False), bound)
        mean, (lower, upper) = mean_of(shares), decision.interval90
        finding = about(
            cell,
            replace(decision, smallest_margin=max(upper, decision.robust_interval90[1])),
            control=control(factor * cell.effects(ratio=False, control=True), bound, ratio=False),
            unit=UNIT,
            p_value=mean.p_below(bound),
            p_against=mean.p_above(bound),
            strain=upper / bound,
        )
        node = f"the node's {memory / 1024:.1f} GiB"
        return finding.concluded(
            same=f"upper 95 % bound {number(upper)} % of {node}, below {bound:g} %",
            different=f"lower 95 % bound {number(lower)} % of {node}, above {bound:g} %",
            neither=f"90 % {stands(lower, upper, bound, '%')} of {node}",
        )


RULES = (ShareOfNode(),)
