"""What a test finds in one cell, and the gates that every finding passes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.analysis import outcomes
from parity.analysis.decision import (
    CONTROL_DIFFERS,
    NO_CONTROL,
    UNDECIDED,
    WITHOUT_CONTROL,
    Decision,
    decide,
    objection_of,
)
from parity.analysis.estimate import Effects, p_outside
from parity.analysis.identity import CONFOUNDED, NOT_RECORDED
from parity.claims import terms
from parity.claims.judging_data import Absent, Cell
from parity.claims.series import JOINED, Series
from parity.core import wording

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
        p_value: of the rule's test; None if it has none.
        p_against: p of the test that could contradict; only rules that are one-sided have it.
        strain: how near it is to failing: 1 just fails, 0 could not be clearer. It puts
            the findings of a claim in order, and decides nothing.
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
    unit: str = ""
    p_value: float | None = None
    p_against: float | None = None
    identity: str = NOT_RECORDED
    strain: float = 0.0
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

    def concluded(self, same: str, different: str, neither: str) -> Finding:
        """The finding with the verdict that its decision gives, and the reason of that one."""
        outcome = self.decision.outcome
        reasons = {outcomes.EQUIVALENT: same, outcomes.DIFFERENT: different}
        return self.ended(_VERDICT[outcome], reasons.get(outcome, neither))

    def columns(self) -> dict[str, Any]:
        """The columns that the table of evidence has of a finding."""
        own, of_pair = self.decision.columns(), self.control.columns()
        numbers = ("blocks", "estimate", "low95", "high95", "low90", "high90", "margin")
        named = ("case", "metric", "arm", "against", "verdict", "reason", "unit", "p_value")
        return {
            **{name: getattr(self, name) for name in (*named, "identity", "dataset", "coverage")},
            **{name: own[name] for name in (*numbers, "smallest_margin")},
            "control": self.control.outcome,
            **{f"control_{name}": of_pair[name] for name in ("estimate", "low95", "high95")},
        }


def about(subject: Cell | Series, decision: Decision, **facts: Any) -> Finding:
    """A finding about a cell or a series, still without its verdict."""
    named = ("case", "metric", "arm", "against", "identity")
    return Finding(**{name: getattr(subject, name) for name in named} | facts, decision=decision)


def absent(missing: Absent) -> Finding:
    """The finding where the dataset holds no such comparison."""
    return Finding("", missing.metric, missing.arm, missing.against).ended(
        terms.NOT_TESTED, missing.reason
    )


def too_few(subject: Cell | Series, blocks: int, reason: str, **facts: Any) -> Finding:
    """The finding where too few blocks count."""
    open_finding = about(subject, Decision(blocks), **facts, strain=math.inf)
    return open_finding.ended(terms.INCONCLUSIVE, reason)


def too_few_in(cell: Cell, blocks: int, needed: int = 2) -> Finding:
    """The same of one cell, with the commonest reason why its runs do not count."""
    reason = f"too few blocks: {blocks} of at least {needed}"
    reason += f" ({cell.shortage})" if cell.shortage else ""
    return too_few(cell, blocks, reason, unit=cell.unit)


def control(effects: Effects, margin: float, ratio: bool = True) -> Decision:
    """What the A/A pair gives at a margin."""
    return decide(effects, margin, ratio) if len(effects) >= 2 else WITHOUT_CONTROL


def tested(subject: Cell | Series, logs: np.ndarray, of_pair: np.ndarray, margin: float) -> Finding:
    """The equivalence test of log ratios, and of the A/A pair's at the same margin."""
    decision = decide(logs, margin)
    return about(
        subject,
        decision,
        control=control(of_pair, margin),
        unit=wording.RATIO,
        p_value=decision.p_equivalence,
        p_against=p_outside(logs, math.log1p(margin)),
        strain=decision.smallest_margin / margin,
    )


def gated(found: Finding, proves_sameness: bool) -> Finding:
    """The finding after the gates: the same binary, and an A/A pair that is the same.

    Args:
        proves_sameness: whether the rule concludes that two things are the same. Then the
            A/A pair has to pass the same test; otherwise it must not differ from itself.
    """
    if found.verdict in (terms.NOT_TESTED, terms.INCONCLUSIVE):
        return found
    if found.identity in CONFOUNDED:
        reason = f"confounded: {found.identity}; {found.reason}"
        return found.ended(terms.INCONCLUSIVE, reason)
    says_same = proves_sameness and found.verdict == terms.SUPPORTED
    objection = objection_of(found.control.outcome, says_same)
    if not objection:
        return found
    if objection == CONTROL_DIFFERS:
        reason = f"the A/A pair differs from itself{_own(found)}; {found.reason}"
        return found.ended(terms.INCONCLUSIVE, reason)
    if objection == NO_CONTROL:
        return found.ended(terms.INCONCLUSIVE, f"{NO_CONTROL}; {found.reason}")
    would = wording.margin(found.needed, found.unit)
    reason = f"the A/A pair is not equivalent; {would} would pass"
    return replace(found.ended(terms.INCONCLUSIVE, reason), strain=max(found.strain, 1.0))


def _own(found: Finding) -> str:
    """The A/A pair's interval, where the rule gives one."""
    low, high = found.control.interval95
    return "" if math.isnan(low) else f": {wording.interval(low, high, found.unit)}"
