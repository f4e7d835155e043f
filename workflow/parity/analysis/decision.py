"""What is concluded about one ratio or difference: decided here, and nowhere else.

Equivalent if the 90 % interval lies within the margin, which is when the two one-sided
tests pass at 5 % (Westlake 1981; Schuirmann 1987); different if the 95 % interval lies
wholly outside; inconclusive if neither. Overlap of intervals and the absence of a
significant difference decide nothing (Altman & Bland, BMJ 1995: absence of evidence is
not evidence of absence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.analysis import estimate, outcomes
from parity.analysis.estimate import Effects, Interval

CONTROL_FAILED = "A/A pair not equivalent"
CONTROL_DIFFERS = "A/A pair differs"
NO_CONTROL = "no A/A pair"
ASSAY = "this measurement could not have seen a difference"
# The gate where there is no A/A pair, or no positive control.
NONE = "none"
_UNKNOWN: Interval = (math.nan, math.nan)


@dataclass(frozen=True)
class Decision:
    """A ratio or a difference, and what follows from it. NaN stands for what is not known.

    Attributes:
        blocks: the sample size.
        estimate, interval95, interval90: the ratio, or the difference in its unit.
        margin: of a ratio 0.01 means within (1/1.01, 1.01), of a difference it is a bound in
            its unit; None where no equivalence is sought.
        p_equivalence: of the two one-sided tests.
        smallest_margin: the margin that would just have passed, in the terms of `margin`.
        outcome: a name of `parity.analysis.outcomes`.
        gate: outcome of the A/A pair at the same margin, or `none`.
        reason: why the outcome is no claim; empty if it is one.
    """

    blocks: int = 0
    estimate: float = math.nan
    interval95: Interval = _UNKNOWN
    interval90: Interval = _UNKNOWN
    margin: float | None = None
    p_equivalence: float = math.nan
    smallest_margin: float = math.nan
    outcome: str = outcomes.TOO_FEW_BLOCKS
    gate: str = NONE
    reason: str = ""

    def gated(self, control: str, assay: str = NONE) -> Decision:
        """The decision as far as the A/A pair and the positive control allow.

        Args:
            control, assay: their own outcomes.
        """
        claims, says_same = outcomes.CLAIMS, self.outcome == outcomes.EQUIVALENT
        objection = objection_of(control, says_same, assay) if self.outcome in claims else ""
        if not objection:
            return replace(self, gate=control)
        return replace(self, gate=control, outcome=outcomes.INCONCLUSIVE, reason=objection)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Decision:
        """The decision in a row of a table, as `columns` gave it."""
        same = ("blocks", "estimate", "p_equivalence", "smallest_margin", "outcome", "reason")
        return cls(
            **{name: row[name] for name in same},
            interval95=(row["low95"], row["high95"]),
            interval90=(row["low90"], row["high90"]),
            margin=None if math.isnan(row["margin"]) else row["margin"],
        )

    def columns(self) -> dict[str, Any]:
        """The columns that the tables of the analysis have of a decision."""
        return {
            "blocks": self.blocks,
            "estimate": self.estimate,
            "low95": self.interval95[0],
            "high95": self.interval95[1],
            "low90": self.interval90[0],
            "high90": self.interval90[1],
            "margin": self.margin,
            "p_equivalence": self.p_equivalence,
            "smallest_margin": self.smallest_margin,
            "outcome": self.outcome,
            "reason": self.reason,
        }


UNDECIDED = Decision()
# What stands in the place of the A/A pair's decision where there is no such pair.
WITHOUT_CONTROL = Decision(outcome=NONE)


def decide(effects: Effects, margin: float | None, ratio: bool = True) -> Decision:
    """The decision on the mean of effects, one for each block.

    Args:
        effects: logs of cost ratios, or differences in their unit.
        margin: None where the effects are only reported.
        ratio: whether the effects are logs of ratios.

    Raises:
        ValueError: an effect is no finite number.
    """
    values = np.asarray(effects, dtype=float)
    shown: Callable[[float], float] = math.exp if ratio else float
    if len(values) < 2:
        alone = shown(values[0]) if len(values) else math.nan
        return Decision(len(values), alone, margin=margin)
    if not np.isfinite(values).all():
        raise ValueError("effects must be finite: pairs without a usable number are dropped before")
    interval95, interval90 = (estimate.t_interval(values, level) for level in (0.95, 0.90))
    reported = Decision(
        blocks=len(values),
        estimate=shown(float(values.mean())),
        interval95=(shown(interval95[0]), shown(interval95[1])),
        interval90=(shown(interval90[0]), shown(interval90[1])),
        margin=margin,
        outcome=outcomes.REPORTED,
    )
    if margin is None:
        return reported
    bound = math.log1p(margin) if ratio else margin
    widest = max(abs(end) for end in interval90)
    return replace(
        reported,
        p_equivalence=estimate.equivalence_p(values, bound),
        smallest_margin=math.expm1(widest) if ratio else widest,
        outcome=outcome_of(interval90, interval95, (-bound, bound)),
    )


def outcome_of(inner: Interval, outer: Interval, within: Interval) -> str:
    """Whether a number is equivalent to nothing, differs from it, or neither.

    Args:
        inner: the interval that has to lie within for equivalence; of 90 % as a rule.
        outer: the interval that has to lie wholly outside for a difference; of 95 %.
        within: the margin's two ends; one of them is infinite for a one-sided bound.
    """
    low, high = within
    if low < inner[0] and inner[1] < high:
        return outcomes.EQUIVALENT
    if outer[1] < low or outer[0] > high:
        return outcomes.DIFFERENT
    return outcomes.INCONCLUSIVE


def assay_of(effects: Effects, margin: float) -> str:
    """The outcome of a positive control, whose effects are logs of cost ratios.

    Only a cost beyond the margin is what it must show: one that seems to gain shows nothing.
    """
    found = decide(effects, margin)
    is_gain = found.outcome == outcomes.DIFFERENT and found.estimate < 1
    return outcomes.INCONCLUSIVE if is_gain else found.outcome


def objection_of(control: str, says_same: bool, assay: str = NONE) -> str:
    """Why controls with these outcomes do not let something be said; empty if they do.

    The same thing measured twice must come out the same before "the same" can be
    said of two things (A/A test: Kohavi et al., Trustworthy Online Controlled
    Experiments, 2020, ch. 19). If the pair itself differs, no difference is claimed
    either, because the harness alone produces one.

    And where a known difference did not come out beyond the margin, that none came out is no
    finding: the measurement lacks assay sensitivity (ICH E10, 2000, section 1.5).
    """
    if control == outcomes.DIFFERENT:
        return CONTROL_DIFFERS
    if not says_same:
        return ""
    if control != outcomes.EQUIVALENT:
        return NO_CONTROL if control == NONE else CONTROL_FAILED
    return "" if assay in (NONE, outcomes.DIFFERENT) else ASSAY
