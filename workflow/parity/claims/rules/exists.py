"""Something happens, or does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from scipy import stats

from parity.analysis.decision import Decision
from parity.claims import terms
from parity.claims.finding import Finding, about, too_few_in
from parity.claims.judging_data import Cell, Scope
from parity.claims.rules.model import Options, Rule
from parity.core.wording import counted

STARTED = ("ran", "parsed", "valid")


class Exists(Rule):
    """A boolean observable: whether the number of a run is above zero.

    Expected to happen: supported if it does in every run that was started, failed ones
    included, and contradicted if it does in none. Expected not to happen: only valid runs
    count, since a run that failed shows nothing. In between it is open. The share's interval
    (Clopper & Pearson, Biometrika 1934) stands beside it.
    """

    name = "exists"
    options: ClassVar[Options] = {
        "expect": {"description": "Whether it happens.", "type": "boolean"}
    }
    compares = False

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each cell."""
        return [_look(cell, options["expect"], scope) for cell in scope.cells]


def _look(cell: Cell, expect: bool, scope: Scope) -> Finding:
    values = cell.values(cell.arm)
    happened = sum(value > 0 for value in values)
    runs = scope.data.dataset.final_runs
    of_cell = (runs["case"] == cell.case) & (runs["arm"] == cell.arm)
    started = int((of_cell & runs["stage"].isin(STARTED)).sum())
    asked = max(started, len(values)) if expect else len(values)
    if asked < 2:
        return too_few_in(cell, asked)
    low, high = stats.binomtest(happened, asked).proportion_ci(0.95)
    share = Decision(asked, happened / asked, (float(low), float(high)))
    finding = about(cell, share, against="", unit="share of runs")
    said = f"seen in {happened} of {counted(asked, 'run')}"
    if happened not in (0, asked):
        return finding.ended(terms.INCONCLUSIVE, said)
    as_expected = (happened == asked) == expect
    return finding.ended(terms.SUPPORTED if as_expected else terms.CONTRADICTED, said)


RULES = (Exists(),)
