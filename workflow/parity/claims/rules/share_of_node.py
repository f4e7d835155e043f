"""What an arm adds is a small part of the node's memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis import estimate, outcomes
from parity.claims import effects, terms
from parity.claims.cells import Absent, Cell, Scope
from parity.claims.finding import Finding, absent, control, described, in_cell
from parity.claims.rules.model import PERCENT, CellRule, Options

UNIT = "% of node"
MIB = {"MiB": 1.0, "GiB": 1024.0, "B": 1 / 2**20}


class ShareOfNode(CellRule):
    """Upper 95 % bound of the mean difference over MemTotal (Student's t, one-sided).

    It contradicts if the lower one lies above it.
    """

    name = "share-of-node"
    options: ClassVar[Options] = {
        "bound_percent": {"description": "Bound, in % of the node's memory.", **PERCENT}
    }

    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The test of one cell."""
        memory, bound = scope.material.memory_mib, options["bound_percent"]
        if memory is None or cell.unit not in MIB:
            reason = "the records do not say how much memory the node has" if memory is None else (
                f"{cell.metric} is in {cell.unit or 'no unit'}, not in bytes"
            )  # fmt: skip
            return absent(Absent(cell.metric, cell.arm, cell.against, reason))
        factor = 100 * MIB[cell.unit] / memory
        shares = factor * cell.effects(ratio=False)
        facts = {
            **described(shares, ratio=False),
            **control(factor * cell.control_effects(ratio=False), bound, ratio=False),
            "unit": UNIT,
            "margin": bound,
            "p_value": effects.p_below(shares, bound),
            "p_against": effects.p_above(shares, bound),
            "blocks": len(shares),
        }
        upper = facts["high90"]
        facts |= {"smallest_margin": upper, "strain": upper / bound}
        said = f"upper 95 % bound {terms.number(upper)} % of the node's {memory / 1024:.1f} GiB"
        if facts["p_value"] < estimate.ALPHA:
            reason = f"{said}, below {bound:g} %"
            if facts["control"] == outcomes.INCONCLUSIVE:
                reason += "; the A/A pair is not that close to itself"
            return in_cell(cell, terms.SUPPORTED, reason, **facts)
        if facts["low90"] > bound:
            reason = f"lower 95 % bound {terms.number(facts['low90'])} % is above {bound:g} %"
            return in_cell(cell, terms.CONTRADICTED, reason, **facts)
        return in_cell(cell, terms.INCONCLUSIVE, f"{said}, above {bound:g} %", **facts)


RULE = ShareOfNode()
