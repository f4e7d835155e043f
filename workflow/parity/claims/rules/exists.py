"""Something happens, does not, or is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pandas as pd
from scipy import stats

from parity.analysis import outcomes
from parity.analysis.decision import FEW, FEWEST_FOR_A_DIFFERENCE, WITHOUT_CONTROL, Decision
from parity.analysis.estimate import ALPHA
from parity.claims import terms
from parity.claims.finding import Finding, about, absent, too_few_in
from parity.claims.judging_data import Cell
from parity.claims.rules.model import Rule
from parity.claims.selection import Scope, Selection, resolve
from parity.core.wording import counted, number

STARTED = ("ran", "parsed", "valid")
UNSTARTED = ("not-started", "exit-status", "limit-refused")
REFUSED = "refused"
# What a control has to show instead.
OPPOSITE: Mapping[bool | str, bool | str] = {True: False, False: True, REFUSED: "started"}
SEEN = {True: "seen", False: "not seen", REFUSED: "refused", "started": "started"}


class Exists(Rule):
    """A boolean observable: whether the number of a run is above zero, or whether it starts.

    Supported if the share of runs that show what is expected is above a limit by its exact
    one-sided 95 % bound (Clopper & Pearson, Biometrika 1934), contradicted if it is below it.

    - Expected to happen: runs that failed count against it.
    - Expected not to happen: only valid runs count, since a run that failed shows nothing.
    - Expected to be refused: a start that the kernel or the runtime refused, so that nothing
      inside could say a word, is for it, and one that reached the inside against it. Why it
      was refused is not looked at, so a control has to start.

    Where there is a control, all of its cells must show the opposite alike.
    """

    name = "exists"
    version = 2
    compares = False

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each cell."""
        expect, limit, runs = options["expect"], options["at_least"], scope.data.dataset.final_runs
        control, missing = WITHOUT_CONTROL, []
        if options["control"] is not None:
            others = resolve(Selection.of(options["control"]), scope.data, "", scope.values)
            missing = [absent(each) for each in others.absent]
            control = _control(
                [_count(cell, OPPOSITE[expect], runs) for cell in others.cells], limit
            )
        return missing + [
            _look(cell, _count(cell, expect, runs), limit, expect, control) for cell in scope.cells
        ]


class Count(NamedTuple):
    """How many runs show something, of how many that could."""

    those: int
    runs: int

    def bounds(self, confidence: float) -> tuple[float, float]:
        """The exact two-sided interval of the share."""
        low, high = stats.binomtest(self.those, self.runs).proportion_ci(confidence)
        return float(low), float(high)

    def p(self, limit: float, alternative: Literal["greater", "less"]) -> float:
        """One-sided p that the share is greater or less than a limit."""
        return float(stats.binomtest(self.those, self.runs, limit, alternative).pvalue)


def _count(cell: Cell, expect: bool | str, runs: pd.DataFrame) -> Count:
    values = cell.values(cell.arm)
    happened = sum(value > 0 for value in values)
    mine = runs[(runs["case"] == cell.case) & (runs["arm"] == cell.arm)]
    tried = mine[mine["stage"].isin(STARTED)]
    if expect is True:
        return Count(happened, max(len(tried), len(values)))
    if expect is False:
        return Count(len(values) - happened, len(values))
    silent = tried["evidence"].isin(("", "{}")) & (tried["stage"] == "ran")
    refused = int((silent & tried["reason"].isin(UNSTARTED)).sum())
    inside = int((~silent).sum())
    return Count(refused if expect == REFUSED else inside, refused + inside)


def _control(counts: Sequence[Count], limit: float) -> Decision:
    """Whether all control cells show the opposite: equivalent if so."""
    shown = [count.runs and count.p(limit, "greater") < ALPHA for count in counts]
    fewest = min((count.runs for count in counts), default=0)
    holds = bool(shown) and all(shown)
    return Decision(fewest, outcome=outcomes.EQUIVALENT if holds else outcomes.INCONCLUSIVE)


def _look(cell: Cell, count: Count, limit: float, expect: bool | str, control: Decision) -> Finding:
    if not count.runs:
        return too_few_in(cell, 0, runs_needed(limit))
    share = Decision(
        blocks=count.runs,
        estimate=count.those / count.runs,
        interval95=count.bounds(0.95),
        interval90=count.bounds(0.90),
        margin=limit,
    )
    p, p_against = count.p(limit, "greater"), count.p(limit, "less")
    finding = about(
        cell, share, against="", unit="share of runs", control=control, p_value=p,
        p_against=p_against, strain=p / ALPHA,
    )  # fmt: skip
    low, high = share.interval90
    said = f"{SEEN[expect]} in {count.those} of {counted(count.runs, 'run')}"
    if p_against < ALPHA:
        reason = f"{said}, so in less than {number(high)} of all; {limit:g} were expected"
        few = count.runs < FEWEST_FOR_A_DIFFERENCE
        verdict = terms.INCONCLUSIVE if few else terms.CONTRADICTED
        return finding.ended(verdict, f"{FEW}; {reason}" if few else reason)
    if p >= ALPHA:
        needed = f"it takes {runs_needed(limit)} runs that all agree to show {limit:g}"
        return finding.ended(terms.INCONCLUSIVE, f"{said}, so in more than {number(low)}; {needed}")
    if control.outcome == outcomes.INCONCLUSIVE:
        return finding.ended(terms.INCONCLUSIVE, f"the control does not show the opposite; {said}")
    if expect == REFUSED and control == WITHOUT_CONTROL:
        return finding.ended(terms.INCONCLUSIVE, f"no control that starts; {said}")
    return finding.ended(terms.SUPPORTED, f"{said}, so in more than {number(low)} of all")


def runs_needed(limit: float) -> int:
    """Fewest runs, all agreeing, whose exact lower 95 % bound is above a share."""
    return math.floor(math.log(ALPHA) / math.log(limit)) + 1


RULES = (Exists(),)
