"""What a test finds in one cell, and the gates that every finding passes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from parity.analysis import outcomes
from parity.analysis.decision import (
    CONTROL_DIFFERS,
    CONTROL_FAILED,
    FEW,
    FEWEST_FOR_A_DIFFERENCE,
    METHOD,
    NONE,
    UNDECIDED,
    WITHOUT_CONTROL,
    Decision,
    decide,
    objection_of,
    outcome_of,
)
from parity.analysis.estimate import (
    Effects,
    mean_of,
    p_outside,
    rank_estimate,
    rank_interval,
)
from parity.analysis.identity import CONFOUNDED, NOT_RECORDED
from parity.analysis.sample import CLUSTERS
from parity.analysis.statistics.sequential import ONE_LOOK, Levels
from parity.claims import terms
from parity.claims.judging_data import AT_ONE_LOOK, Cell, CellLevels
from parity.claims.selection import Absent
from parity.claims.series import JOINED, Series
from parity.core import wording

UNKNOWN = "nobody recorded whether both sides ran the same binary and libraries"
PASSED = (terms.SUPPORTED, terms.HOLDS_IN_PART, terms.ORDER_OK)
AGAINST = (terms.CONTRADICTED, terms.DIFFERS)
# What an equivalence that a claim states becomes.
_VERDICT = {
    outcomes.EQUIVALENT: terms.SUPPORTED,
    outcomes.DIFFERENT: terms.CONTRADICTED,
    outcomes.INCONCLUSIVE: terms.INCONCLUSIVE,
}


@dataclass(frozen=True)
class Finding:
    """What one test says of one comparison.

    Attributes:
        decision: the numbers, and what they would say without gates; in `unit`.
        control: the same of the A/A pair at the same margin.
        assay: outcome of the positive control at that margin, or `none`.
        p_value: of the rule's test; None if it has none.
        p_against: p of the test that could contradict; only rules that are one-sided have it.
        strain: how near it is to failing: 1 just fails, 0 could not be clearer. It puts
            the findings of a claim in order, and decides nothing.
        says_same: whether it concludes that there is no more between two things than so much,
            for a claim or against it; None if its rule says that of all it supports.
        objection: what lost runs, or nodes and sessions that differ, have against a conclusion.
        counts: whether the verdict on the claim rests on it; the rest is shown only.
        dataset: that the comparison is of.
        coverage: how much of what its test speaks of was decided; empty if nothing is said.
    """

    case: str
    metric: str
    arm: str
    against: str
    verdict: str = terms.INCONCLUSIVE
    reason: str = ""
    decision: Decision = UNDECIDED
    control: Decision = WITHOUT_CONTROL
    assay: str = NONE
    unit: str = ""
    p_value: float | None = None
    p_against: float | None = None
    identity: str = NOT_RECORDED
    strain: float = 0.0
    says_same: bool | None = None
    objection: str = ""
    counts: bool = True
    dataset: str = ""
    coverage: str = ""

    @property
    def needed(self) -> float:
        """The margin that would have passed, the A/A pair's included; NaN if none is known."""
        own, of_pair = self.decision.smallest_margin, self.control.smallest_margin
        return own if math.isnan(own) or math.isnan(of_pair) else max(own, of_pair)

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that it is about; none where the dataset holds no such comparison."""
        return tuple(filter(None, self.case.split(JOINED)))

    def ended(self, verdict: str, reason: str) -> Finding:
        """The finding with its verdict."""
        return replace(self, verdict=verdict, reason=reason)

    def opened(self, objection: str) -> Finding:
        """The finding as inconclusive, for this reason."""
        return self.ended(terms.INCONCLUSIVE, f"{objection}; {self.reason}")

    def concluded(self, same: str, different: str, neither: str) -> Finding:
        """The finding with the verdict that its decision gives, and the reason of that one."""
        outcome = self.decision.outcome
        reasons = {outcomes.EQUIVALENT: same, outcomes.DIFFERENT: different}
        if objection := self.decision.reason:
            neither = f"{objection}; {neither}"
        return self.ended(_VERDICT[outcome], reasons.get(outcome, neither))

    def agreed(self, verdict: str, by_ranks: str, reason: str) -> Finding:
        """The finding with a verdict that the rank test has to give as well."""
        if verdict in (terms.INCONCLUSIVE, by_ranks):
            return self.ended(verdict, reason)
        is_few = self.decision.blocks < FEWEST_FOR_A_DIFFERENCE
        objection = FEW if is_few else f"{METHOD} {by_ranks}"
        return self.ended(terms.INCONCLUSIVE, f"{objection}; {reason}")

    def columns(self) -> dict[str, Any]:
        """The columns that the table of evidence has of a finding."""
        own, of_pair = self.decision.columns(), self.control.columns()
        numbers = ("blocks", "estimate", "low95", "high95", "low90", "high90", "margin")
        robust = ("robust_estimate", "robust_low95", "robust_high95", "robust_outcome")
        named = ("case", "metric", "arm", "against", "verdict", "reason", "unit", "p_value")
        others = ("counts", "identity", "dataset", "coverage")
        return {
            **{name: getattr(self, name) for name in (*named, *others)},
            **{name: own[name] for name in (*numbers, *robust, "smallest_margin")},
            "control": self.control.outcome,
            **{f"control_{name}": of_pair[name] for name in ("estimate", "low95", "high95")},
        }


def about(subject: Cell | Series, decision: Decision, **facts: Any) -> Finding:
    """A finding about a cell or a series, still without its verdict."""
    named = ("case", "metric", "arm", "against", "identity", "objection")
    if facts.get("unit") == wording.RATIO and decision.margin:
        facts = {"assay": subject.assay(decision.margin)} | facts
    if "control" in facts:
        facts["control"] = facts["control"].without_claim(subject.pair_objection)
    return Finding(**{name: getattr(subject, name) for name in named} | facts, decision=decision)


class Bounds(NamedTuple):
    """An estimate between its two one-sided 95 % bounds; in the unit of the effects.

    At a look they are those that hold at all looks together.
    """

    estimate: float
    low: float
    high: float


def bounds(effects: Effects, levels: Levels) -> tuple[Bounds, Bounds]:
    """Those of the mean by Student's t, and of the centre by ranks."""
    mean, centre, share = float(np.mean(effects)), rank_estimate(effects), 1 - 2 * levels.same
    return (
        Bounds(mean, *mean_of(effects).interval(share)),
        Bounds(centre, *rank_interval(effects, share)),
    )


def absent(missing: Absent) -> Finding:
    """The finding where the dataset holds no such comparison."""
    return untested(missing, missing.reason)


def untested(subject: Cell | Series | Absent, reason: str) -> Finding:
    """The finding where a comparison cannot be looked at by this rule."""
    made = Finding("", subject.metric, subject.arm, subject.against)
    return made.ended(terms.NOT_TESTED, reason)


def too_few(subject: Cell | Series, blocks: int, reason: str, **facts: Any) -> Finding:
    """The finding where too few blocks count."""
    open_finding = about(subject, Decision(blocks), **facts, strain=math.inf)
    return open_finding.ended(terms.INCONCLUSIVE, reason)


def too_few_in(cell: Cell, blocks: int, needed: int = 2) -> Finding:
    """The same of one cell, with the commonest reason why its runs do not count."""
    reason = f"too few blocks: {blocks} of at least {needed}"
    reason += f" ({cell.shortage})" if cell.shortage else ""
    return too_few(cell, blocks, reason, unit=cell.unit)


def control(
    effects: Effects, margin: float, ratio: bool = True, levels: Levels = ONE_LOOK
) -> Decision:
    """What the A/A pair gives at a margin."""
    return decide(effects, margin, ratio, levels) if len(effects) >= 2 else WITHOUT_CONTROL


def tested(
    subject: Cell | Series,
    logs: np.ndarray,
    of_pair: np.ndarray,
    margin: float,
    levels: CellLevels = AT_ONE_LOOK,
) -> Finding:
    """The equivalence test of log ratios, and of the A/A pair's at the same margin."""
    decision = decide(logs, margin, levels=levels.own)
    return about(
        subject,
        decision,
        control=control(of_pair, margin, levels=levels.pair),
        unit=wording.RATIO,
        p_value=decision.p_equivalence,
        p_against=levels.own.adjusted_both_ways(p_outside(logs, math.log1p(margin))),
        strain=decision.smallest_margin / margin,
    )


def gated(found: Finding, proves_sameness: bool) -> Finding:
    """The finding after the gates: blocks enough, the same binary, an A/A pair that is the same.

    Fewer than six blocks show no difference, for a claim or against it.

    Args:
        proves_sameness: whether the rule concludes that two things are the same. Then the
            A/A pair has to pass the same test; otherwise there must be one that does not
            differ from itself.
    """
    if found.verdict == terms.NOT_TESTED:
        return found
    # That few nodes or sessions are left says why the blocks were too few.
    if found.verdict == terms.INCONCLUSIVE and found.objection != CLUSTERS:
        return found
    says_same = found.says_same
    if says_same is None:
        says_same = proves_sameness and found.verdict == terms.SUPPORTED
    objection = _objection(found, says_same)
    if objection == CONTROL_FAILED:
        reason = f"the A/A pair is not equivalent{_would(found)}"
        return replace(found.ended(terms.INCONCLUSIVE, reason), strain=max(found.strain, 1.0))
    return found.opened(objection) if objection else found


def _objection(found: Finding, says_same: bool) -> str:
    """The first gate that a finding does not pass; empty if it passes all."""
    if found.objection:
        return found.objection
    if found.identity in CONFOUNDED:
        return f"confounded: {found.identity}"
    if says_same and found.identity == NOT_RECORDED:
        return UNKNOWN
    is_few = found.decision.blocks < FEWEST_FOR_A_DIFFERENCE
    if is_few and not (says_same and found.verdict == terms.SUPPORTED):
        return FEW
    objection = objection_of(found.control.as_control, says_same, found.assay)
    if objection == CONTROL_DIFFERS:
        return f"the A/A pair differs from itself{_own(found)}"
    return objection


def at_most(decision: Decision, limit: float) -> Decision:
    """The decision on whether a number lies below a limit, by its one-sided 95 % bounds."""
    own, by_ranks = (
        outcome_of(interval, interval, (-math.inf, limit))
        for interval in (decision.interval90, decision.robust_interval90)
    )
    made = replace(decision, outcome=own, robust_outcome=by_ranks, reason="")
    return made.without_claim("" if own == by_ranks else f"{METHOD} {by_ranks}")


def _would(found: Finding) -> str:
    """The margin that would pass, where the rule has one; else what it would have said."""
    if math.isnan(found.needed):
        return f"; {found.reason}"
    return f"; {wording.margin(found.needed, found.unit)} would pass"


def _own(found: Finding) -> str:
    """The A/A pair's interval, where the rule gives one."""
    low, high = found.control.interval95
    return "" if math.isnan(low) else f": {wording.interval(low, high, found.unit)}"
