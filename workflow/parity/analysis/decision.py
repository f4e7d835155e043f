"""What is concluded about one ratio or difference: decided here, and nowhere else.

By Student's t and by the exact signed-rank test beside it, or not at all: a conclusion that one of
two fitting methods does not draw hangs on the method. Overlap of intervals and the absence of a
significant difference decide nothing (Altman & Bland, BMJ 1995).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from parity.analysis import estimate, outcomes
from parity.analysis.estimate import Effects, Interval
from parity.analysis.sequential import ONE_LOOK, Levels

CONTROL_FAILED = "A/A pair not equivalent"
CONTROL_DIFFERS = "A/A pair differs"
NO_CONTROL = "no A/A pair"
ASSAY = "this measurement could not have seen a difference"
# Below these many blocks the signed-rank test cannot reject at 5 % two-sided, or at 5 % one-sided
# twice: 2/2^6 and 2/2^5 are the smallest p that flipping the signs of all effects can give.
FEWEST_FOR_A_DIFFERENCE = 6
FEWEST_FOR_EQUIVALENCE = 5
FEW = f"fewer than {FEWEST_FOR_A_DIFFERENCE} blocks"
FEW_FOR_EQUIVALENCE = f"fewer than {FEWEST_FOR_EQUIVALENCE} blocks"
# Followed by what the rank test says.
METHOD = "hangs on the method: the rank test says"
# The gate where there is no A/A pair, or no positive control.
NONE = "none"
UNKNOWN: Interval = (math.nan, math.nan)
CLAIMS = (outcomes.EQUIVALENT, outcomes.DIFFERENT)


@dataclass(frozen=True)
class Decision:
    """A ratio or a difference, and what follows from it. NaN stands for what is not known.

    Attributes:
        blocks: the sample size.
        units: how many numbers it rests on: blocks, or means of blocks that share something.
        estimate, interval95, interval90: the ratio, or the difference in its unit.
        margin: of a ratio 0.01 means within (1/1.01, 1.01), of a difference it is a bound in
            its unit; None where no equivalence is sought.
        p_equivalence: of the two one-sided tests.
        smallest_margin: the margin that would just have passed, in the terms of `margin`;
            infinite where none would.
        outcome: a name of `parity.analysis.outcomes`.
        robust_estimate, robust_interval95, robust_interval90, robust_outcome: the same by ranks
            (Hodges & Lehmann's centre with the exact signed-rank interval).
        gate: outcome of the A/A pair at the same margin, or `none`.
        reason: why the outcome is no claim; empty if it is one.
        by_t: the outcome by t alone, before any objection.
    """

    blocks: int = 0
    estimate: float = math.nan
    interval95: Interval = UNKNOWN
    interval90: Interval = UNKNOWN
    margin: float | None = None
    p_equivalence: float = math.nan
    smallest_margin: float = math.nan
    outcome: str = outcomes.TOO_FEW_BLOCKS
    robust_estimate: float = math.nan
    robust_interval95: Interval = UNKNOWN
    robust_interval90: Interval = UNKNOWN
    robust_outcome: str = outcomes.TOO_FEW_BLOCKS
    gate: str = NONE
    reason: str = ""
    units: int = 0
    by_t: str = outcomes.TOO_FEW_BLOCKS

    @property
    def as_control(self) -> str:
        """The outcome by which an A/A pair gates others.

        A difference that few blocks, losses, clusters or the other method do not let us claim
        is no reason to trust the harness.
        """
        seen = (self.outcome, self.by_t, self.robust_outcome)
        return outcomes.DIFFERENT if outcomes.DIFFERENT in seen else self.outcome

    @property
    def as_assay(self) -> str:
        """The outcome of a positive control: a cost beyond the margin is all it must show."""
        is_gain = self.outcome == outcomes.DIFFERENT and self.estimate < 1
        return outcomes.INCONCLUSIVE if is_gain else self.outcome

    def without_claim(self, objection: str) -> Decision:
        """The decision with what an objection leaves of it; an empty one leaves all."""
        if not objection or self.outcome not in CLAIMS:
            return self
        # What is withheld still gates others (`as_control`), whatever test it came from.
        by_t = self.outcome
        return replace(self, outcome=outcomes.INCONCLUSIVE, reason=objection, by_t=by_t)

    def gated(self, control: str, assay: str = NONE) -> Decision:
        """The decision as far as the outcomes of the A/A pair and the positive control allow."""
        says_same = self.outcome == outcomes.EQUIVALENT
        return replace(self.without_claim(objection_of(control, says_same, assay)), gate=control)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Decision:
        """The decision in a row of a table, as `columns` gave it."""
        ends = {name: (row[low], row[high]) for name, (low, high) in _ENDS.items()}
        margin = None if math.isnan(row["margin"]) else row["margin"]
        return cls(**{name: row[name] for name in _ALONE} | ends | {"margin": margin})

    def columns(self) -> dict[str, Any]:
        """The columns that tables have of a decision; what is infinite is not known there."""
        columns = {name: getattr(self, name) for name in _ALONE}
        for name, ends in _ENDS.items():
            columns |= zip(ends, getattr(self, name), strict=True)
        infinite = {name for name, value in columns.items() if value in (-math.inf, math.inf)}
        return columns | dict.fromkeys(infinite, math.nan)


# The columns of each interval of a decision, and what is a column as it is.
_ENDS = {
    "interval95": ("low95", "high95"),
    "interval90": ("low90", "high90"),
    "robust_interval95": ("robust_low95", "robust_high95"),
    "robust_interval90": ("robust_low90", "robust_high90"),
}
_ALONE = tuple(field.name for field in fields(Decision) if field.name not in (*_ENDS, "gate"))
UNDECIDED = Decision()
# What stands in the place of the A/A pair's decision where there is no such pair.
WITHOUT_CONTROL = Decision(outcome=NONE)


def decide(
    effects: Effects, margin: float | None, ratio: bool = True, levels: Levels = ONE_LOOK
) -> Decision:
    """The decision on the mean of effects, one for each block.

    Args:
        effects: logs of cost ratios, or differences in their unit.
        margin: None where the effects are only reported.
        ratio: whether the effects are logs of ratios.
        levels: those of the look at which this is decided. What is called 95 % and 90 % here
            holds at all looks together.

    Raises:
        ValueError: an effect is no finite number.
    """
    values = np.asarray(effects, dtype=float)
    shown: Callable[[float], float] = math.exp if ratio else float
    if len(values) < 2:
        alone = shown(values[0]) if len(values) else math.nan
        return Decision(len(values), alone, margin=margin, units=len(values))
    if not np.isfinite(values).all():
        raise ValueError("effects must be finite: pairs without a usable number are dropped before")
    mean = estimate.mean_of(values)
    shares = [1 - 2 * level for level in (levels.other, levels.same)]
    by_t = [mean.interval(share) for share in shares]
    by_ranks = [estimate.rank_interval(values, share) for share in shares]
    ends = [(shown(low), shown(high)) for low, high in (*by_t, *by_ranks)]
    reported = Decision(
        blocks=len(values),
        units=len(values),
        estimate=shown(mean.value),
        interval95=ends[0],
        interval90=ends[1],
        margin=margin,
        outcome=outcomes.REPORTED,
        by_t=outcomes.REPORTED,
        robust_estimate=shown(estimate.rank_estimate(values)),
        robust_interval95=ends[2],
        robust_interval90=ends[3],
        robust_outcome=outcomes.REPORTED,
    )
    if margin is None:
        return reported
    bound = math.log1p(margin) if ratio else margin
    outcome, robust = (
        outcome_of(inner, outer, (-bound, bound)) for outer, inner in (by_t, by_ranks)
    )
    if outcome == outcomes.DIFFERENT and len(values) < FEWEST_FOR_A_DIFFERENCE:
        objection = FEW
    elif len(values) < FEWEST_FOR_EQUIVALENCE:
        objection = FEW_FOR_EQUIVALENCE
    else:
        objection = "" if robust == outcome else f"{METHOD} {robust}"
    widest = max(abs(end) for _, inner in (by_t, by_ranks) for end in inner)
    return replace(
        reported,
        p_equivalence=levels.adjusted(mean.p_within(bound)),
        smallest_margin=math.expm1(widest) if ratio else widest,
        outcome=outcomes.INCONCLUSIVE if objection else outcome,
        by_t=outcome,
        robust_outcome=robust,
        reason=objection,
    )


def decide_change(fresh: np.ndarray, archived: np.ndarray, margin: float) -> Decision:
    """Whether two sets of log ratios have the same mean within a margin of their ratio.

    By Welch's intervals, which rest on the variances of both: the two one-sided tests of
    equivalence at 5 % (Schuirmann 1987) for two samples (Dannenberg, Dette & Munk, Biometrika
    81, 1994). In fewer than FEWEST_FOR_A_DIFFERENCE blocks of either, nothing differs.
    """
    inner, outer = (estimate.welch_interval(fresh, archived, share) for share in (0.9, 0.95))
    bound, fewest = math.log1p(margin), min(len(fresh), len(archived))
    outcome = outcome_of(inner, outer, (-bound, bound))
    few = outcome == outcomes.DIFFERENT and fewest < FEWEST_FOR_A_DIFFERENCE
    decision = Decision(
        blocks=fewest,
        estimate=math.exp(fresh.mean() - archived.mean()),
        interval95=(math.exp(outer[0]), math.exp(outer[1])),
        interval90=(math.exp(inner[0]), math.exp(inner[1])),
        margin=margin,
        smallest_margin=math.expm1(max(abs(end) for end in inner)),
        outcome=outcome,
    )
    return decision.without_claim(FEW if few else "")


def outcome_of(inner: Interval, outer: Interval, within: Interval) -> str:
    """Whether a number is equivalent to nothing, differs from it, or neither.

    Args:
        inner: the interval that has to lie within for equivalence, of 90 % as a rule: then the two
            one-sided tests pass at 5 % (Westlake 1981; Schuirmann 1987).
        outer: the interval that has to lie wholly outside for a difference; of 95 %.
        within: the margin's two ends; one of them is infinite for a one-sided bound.
    """
    low, high = within
    if low < inner[0] and inner[1] < high:
        return outcomes.EQUIVALENT
    if outer[1] < low or outer[0] > high:
        return outcomes.DIFFERENT
    return outcomes.INCONCLUSIVE


def objection_of(control: str, says_same: bool, assay: str = NONE) -> str:
    """Why controls with these outcomes do not let something be said; empty if they do.

    The same thing measured twice must come out the same before "the same" can be
    said of two things (A/A test: Kohavi et al., Trustworthy Online Controlled
    Experiments, 2020, ch. 19). If the pair itself differs, no difference is claimed
    either, because the harness alone produces one; without a pair nobody knows whether it does.

    And where a known difference did not come out beyond the margin, that none came out is no
    finding: the measurement lacks assay sensitivity (ICH E10, 2000, section 1.5).
    """
    if control == outcomes.DIFFERENT:
        return CONTROL_DIFFERS
    if control == NONE:
        return NO_CONTROL
    if not says_same:
        return ""
    if control != outcomes.EQUIVALENT:
        return CONTROL_FAILED
    return "" if assay in (NONE, outcomes.DIFFERENT) else ASSAY
