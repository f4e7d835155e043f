"""What a test finds in one cell, and the gates that every finding passes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.analysis import estimate, outcomes
from parity.analysis.identity import CONFOUNDED, NOT_RECORDED
from parity.claims import effects, terms
from parity.claims.cells import Absent, Cell

NO_CONTROL = "none"


@dataclass(frozen=True)
class Finding:
    """One row of the evidence.

    Attributes:
        estimate, low95, high95, low90, high90, margin, smallest_margin: in `unit`; margins
            of ratios are fractions.
        p_value: of the rule's test; None if it has none.
        p_against: p of the test that could contradict; only rules that are one-sided have it.
        control: what the A/A pair gives at the same margin; its numbers follow.
        control_margin: the margin that the A/A pair would just pass.
        strain: how near it is to failing: 1 just fails, 0 could not be clearer. It puts
            the findings of a claim in order, and decides nothing.
    """

    case: str
    metric: str
    arm: str
    against: str
    verdict: str
    reason: str
    blocks: int = 0
    estimate: float | None = None
    low95: float | None = None
    high95: float | None = None
    low90: float | None = None
    high90: float | None = None
    unit: str = ""
    margin: float | None = None
    smallest_margin: float | None = None
    p_value: float | None = None
    p_against: float | None = None
    control: str = NO_CONTROL
    control_estimate: float | None = None
    control_low95: float | None = None
    control_high95: float | None = None
    control_margin: float | None = None
    identity: str = NOT_RECORDED
    strain: float = 0.0

    @property
    def needed(self) -> float | None:
        """The margin that would have passed, the A/A pair's included."""
        both = [m for m in (self.smallest_margin, self.control_margin) if m is not None]
        return max(both) if self.smallest_margin is not None else None


def absent(missing: Absent) -> Finding:
    """The finding where the dataset holds no such comparison."""
    return Finding(
        case="",
        metric=missing.metric,
        arm=missing.arm,
        against=missing.against,
        verdict=terms.NOT_TESTED,
        reason=missing.reason,
    )


def in_cell(cell: Cell, verdict: str, reason: str, **facts: Any) -> Finding:
    """A finding about a cell."""
    return Finding(
        **{
            "case": cell.case,
            "metric": cell.metric,
            "arm": cell.arm,
            "against": cell.against,
            "verdict": verdict,
            "reason": reason,
            "blocks": cell.blocks,
            "identity": cell.identity,
            **facts,
        }
    )


def too_few(cell: Cell, blocks: int, needed: int = 2) -> Finding:
    """The finding where too few blocks count."""
    reason = f"too few blocks: {blocks} of at least {needed}"
    if cell.shortage:
        reason += f" ({cell.shortage})"
    return in_cell(cell, terms.INCONCLUSIVE, reason, blocks=blocks, unit=cell.unit, strain=math.inf)


def described(values: np.ndarray, ratio: bool) -> dict[str, float]:
    """Estimate and intervals of at least two effects, exponentiated for ratios."""
    found = estimate.estimate(values)
    numbers = {
        "estimate": found.mean,
        "low95": found.interval95[0],
        "high95": found.interval95[1],
        "low90": found.interval90[0],
        "high90": found.interval90[1],
    }
    return {name: math.exp(value) if ratio else value for name, value in numbers.items()}


def control(values: np.ndarray, bound: float, ratio: bool) -> dict[str, Any]:
    """What the A/A pair gives at a bound in the unit of its effects."""
    if len(values) < 2:
        return {"control": NO_CONTROL}
    found = described(values, ratio)
    limit = max(abs(end) for end in estimate.t_interval(values, 0.90))
    return {
        "control": effects.outcome(values, bound),
        "control_estimate": found["estimate"],
        "control_low95": found["low95"],
        "control_high95": found["high95"],
        "control_margin": math.expm1(limit) if ratio else limit,
    }


def gated(found: Finding, proves_sameness: bool) -> Finding:
    """The finding after the gates: the same binary, and an A/A pair that is the same.

    Args:
        proves_sameness: whether the rule concludes that two things are the same. Then the
            A/A pair has to pass the same test; otherwise it must not differ from itself.
    """
    if found.verdict in (terms.NOT_TESTED, terms.INCONCLUSIVE):
        return found
    if found.identity in CONFOUNDED:
        return _stopped(found, f"confounded: {found.identity}; {found.reason}")
    if found.control == outcomes.DIFFERENT:
        return _stopped(found, f"the A/A pair differs from itself{_own(found)}; {found.reason}")
    if (
        proves_sameness
        and found.verdict == terms.SUPPORTED
        and found.control != outcomes.EQUIVALENT
    ):
        if found.control == NO_CONTROL:
            return _stopped(found, f"no A/A pair; {found.reason}")
        would = (
            f"the A/A pair is not equivalent; {margin_text(found.needed, found.unit)} would pass"
        )
        return _stopped(found, would, strain=max(found.strain, 1.0))
    return found


def _own(found: Finding) -> str:
    """The A/A pair's interval, where the rule gives one."""
    if found.control_low95 is None or found.control_high95 is None:
        return ""
    return f": {terms.interval(found.control_low95, found.control_high95, found.unit)}"


def margin_text(margin: float, unit: str) -> str:
    """A margin in words, rounded upwards: `±1.16 %` of a ratio, `±35 MiB` of a difference."""
    if unit == terms.RATIO:
        return f"±{terms.percent(math.ceil(round(margin * 1e4, 6)) / 1e4)}"
    return f"±{terms.number(margin)} {unit}".strip()


def _stopped(found: Finding, reason: str, **facts: Any) -> Finding:
    return replace(found, verdict=terms.INCONCLUSIVE, reason=reason, **facts)
