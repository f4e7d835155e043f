"""An absolute value of their hardware, which is never compared."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, ClassVar

from parity.analysis.decision import Decision
from parity.claims import terms
from parity.claims.finding import Finding, about
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.magnitude import Magnitude
from parity.claims.rules.model import Options, Rule
from parity.core.wording import counted, number


class Anchor(Rule):
    """Not tested, on any system; our median stands beside the published value."""

    name = "anchor"
    options: ClassVar[Options] = {"published": Magnitude.options["published"]}
    compares = False

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each cell."""
        theirs = scope.values[options["published"]]
        return [_look(cell, f"{theirs.value:g} {theirs.unit}") for cell in scope.cells]


def _look(cell: Cell, theirs: str) -> Finding:
    values = cell.values(cell.arm)
    reason = f"an absolute value of their hardware ({theirs}) is not compared with another machine"
    if values:
        blocks = counted(len(values), "block")
        reason += f"; the median here is {number(median(values))} {cell.unit} ({blocks})"
    return about(cell, Decision(len(values)), against="").ended(terms.NOT_TESTED, reason)


RULES = (Anchor(),)
