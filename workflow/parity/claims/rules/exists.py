"""Something happens, does not, or is refused; or happens more often here than there."""

import math
from dataclasses import replace
from itertools import pairwise, product
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from parity.analysis import outcomes
from parity.analysis.decision import FEW, FEWEST_FOR_A_DIFFERENCE, WITHOUT_CONTROL, Decision
from parity.analysis.estimate import ALPHA
from parity.claims import terms
from parity.claims.cells import Cell, Scope, Selection, alike, resolve
from parity.claims.finding import Finding, about, too_few, untested, without_levels
from parity.claims.rules import Options, Rule
from parity.core.wording import counted, number

STARTED = ("ran", "parsed", "valid")
UNSTARTED = ("not-started", "exit-status", "limit-refused")
REFUSED = "refused"
Expected = bool | str
# What a control has to show instead.
OPPOSITE: dict[Expected, Expected] = {True: False, False: True, REFUSED: "started"}
SEEN: dict[Expected, str] = {True: "seen", False: "not seen", REFUSED: "refused"}


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


def _exists(options: Options, scope: Scope) -> list[Finding]:
    """A boolean observable: whether the number of a run is above zero, or whether it starts.

    Supported if the share of runs that show what is expected is above a limit by its exact
    one-sided 95 % bound (Clopper & Pearson, Biometrika 1934), contradicted if it is below it.
    What is to happen has failed runs against it; of what is not to happen only valid runs count,
    since one that failed shows nothing; and where a start is to be refused, one is for it that let
    nothing inside say a word. Where there is a control, all of its cells must show the opposite.
    """
    expect, limit, runs = options["expect"], options["at_least"], scope.data.dataset.final_runs
    control, found = WITHOUT_CONTROL, list[Finding]()
    if options["control"] is not None:
        others = resolve(Selection.of(options["control"]), scope.data, "", scope.values)
        # Without its control a test says nothing, so no arm of that may be missing.
        found = [replace(untested(absent), of_arm=False) for absent in others.absent]
        counts = [_count(cell, OPPOSITE[expect], runs) for cell in others.cells]
        shown = counts and all(c.runs and c.p(limit, "greater") < ALPHA for c in counts)
        outcome = outcomes.EQUIVALENT if shown else outcomes.INCONCLUSIVE
        control = Decision(min((count.runs for count in counts), default=0), outcome=outcome)
    for cell in scope.cells:
        count = _count(cell, expect, runs)
        if not count.runs:
            found.append(too_few([cell], 0, runs_needed(limit)))
            continue
        bounds = count.bounds(0.95), count.bounds(0.90)
        share = Decision(count.runs, count.those / count.runs, *bounds, limit)
        p, p_against = count.p(limit, "greater"), count.p(limit, "less")
        facts: dict[str, Any] = {"p_value": p, "p_against": p_against, "strain": p / ALPHA}
        finding = about([cell], share, against="", unit="share of runs", control=control, **facts)
        reason = f"{SEEN[expect]} in {count.those} of {counted(count.runs, 'run')}"
        found.append(_ended(finding, reason, expect, control))
    return found


def _count(cell: Cell, expect: Expected, runs: pd.DataFrame) -> Count:
    values = cell.numbers.of(cell.arm).values()
    happened = sum(value > 0 for value in values)
    mine = runs[(runs["case"] == cell.case) & (runs["arm"] == cell.arm)]
    tried = mine[mine["stage"].isin(STARTED)]
    if expect is True:
        return Count(happened, max(len(tried), len(values)))
    if expect is False:
        return Count(len(values) - happened, len(values))
    silent = tried["evidence"].isin(("", "{}")) & (tried["stage"] == "ran")
    refused = int((silent & tried["reason"].str.partition(":")[0].isin(UNSTARTED)).sum())
    inside = int((~silent).sum())
    return Count(refused if expect == REFUSED else inside, refused + inside)


def _ended(finding: Finding, reason: str, expect: Expected, control: Decision) -> Finding:
    share = finding.decision
    limit, (low, high) = share.margin or 0.0, share.interval90
    if (finding.p_against or 0.0) < ALPHA:
        reason = f"{reason}, so in less than {number(high)} of all; {limit:g} were expected"
        contradicted = finding.ended(terms.CONTRADICTED, reason)
        return contradicted.opened(FEW) if share.blocks < FEWEST_FOR_A_DIFFERENCE else contradicted
    if (finding.p_value or 0.0) >= ALPHA:
        needed = f"it takes {runs_needed(limit)} runs that all agree to show {limit:g}"
        reason = f"{reason}, so in more than {number(low)}; {needed}"
        return finding.ended(terms.INCONCLUSIVE, reason)
    held = finding.ended(terms.SUPPORTED, reason)
    if control.outcome == outcomes.INCONCLUSIVE:
        return held.opened("the control does not show the opposite")
    if expect == REFUSED and control == WITHOUT_CONTROL:
        return held.opened("no control that starts")
    return finding.ended(terms.SUPPORTED, f"{reason}, so in more than {number(low)} of all")


def runs_needed(limit: float) -> int:
    """Fewest runs, all agreeing, whose exact lower 95 % bound is above a share."""
    return math.floor(math.log(ALPHA) / math.log(limit)) + 1


def _counts(options: Options, scope: Scope) -> list[Finding]:
    """Counts that are larger in each group of levels than in the next, in every run.

    Supported if the smallest of a level is more than so many `times` the largest of each level of
    the group after it, contradicted if the largest is not more than so many times the smallest.
    Nothing is compared between arms, and of what is counted exactly no interval is needed.
    """
    along, times = options["along"], options["times"]
    groups = [list(map(str, np.ravel(group))) for group in options["order"]]
    found, named = list[Finding](), [level for group in groups for level in group]
    for cells in alike(scope.cells, along):
        numbers = ((cell.parameters.get(along), cell.numbers.of(cell.arm)) for cell in cells)
        by_level = {str(level): of_arm.values() for level, of_arm in numbers}
        if missing := [level for level in named if level not in by_level]:
            found.append(without_levels(cells[0], along, missing))
            continue
        runs = min(len(by_level[level]) for level in named)
        if runs < FEWEST_FOR_A_DIFFERENCE:
            found.append(too_few(cells, runs, FEWEST_FOR_A_DIFFERENCE))
            continue
        both = (each for group, after in pairwise(groups) for each in product(group, after))
        pairs = [(by_level[more], by_level[less]) for more, less in both]
        least = min(_times(min(more), max(less)) for more, less in pairs)
        most = min(_times(max(more), min(less)) for more, less in pairs)
        told = ", ".join(f"{level} {median(by_level[level]):,.0f}" for level in named)
        finite = least if math.isfinite(least) else math.nan
        finding = about(cells, Decision(runs, finite, margin=times), against="", unit="times")
        verdict = terms.SUPPORTED if least > times else terms.INCONCLUSIVE
        verdict = terms.CONTRADICTED if most <= times else verdict
        found.append(finding.ended(verdict, f"{told}, in {counted(runs, 'run')} each"))
    return found


def _times(more: float, less: float) -> float:
    return more / less if less else math.inf if more else 0.0


RULES = (
    Rule("exists", _exists, 2, compares=False, needed=lambda asked: runs_needed(asked["at_least"])),
    Rule("counts", _counts, compares=False),
)
