"""Every arm costs what the reference costs, within a margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.analysis.decision import decide
from parity.analysis.estimate import p_outside
from parity.claims.finding import Finding, about, control
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.model import PERCENT, CellRule, Options
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
    logs = cell.effects()
    decision = decide(logs, margin)
    finding = about(
        cell,
        decision,
        control=control(cell.effects(control=True), margin),
        unit=wording.RATIO,
        p_value=decision.p_equivalence,
        p_against=p_outside(logs, math.log1p(margin)),
        strain=max(decision.smallest_margin, 0.0) / margin,
    )
    limit = wording.margin(margin)
    return finding.concluded(
        same=f"90 % interval {wording.interval(*decision.interval90)} lies within {limit}",
        different=f"95 % interval {wording.interval(*decision.interval95)} lies outside {limit}",
        neither=f"not shown within {limit}; {wording.margin(finding.needed)} would pass",
    )


RULE = Equivalence()
