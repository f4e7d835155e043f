"""What is concluded about one ratio or difference: decided here, and nowhere else.

One analysis decides (`VERSION`): the typical effect of blocks with its exact signed-rank interval,
against each of the references (`estimate.Typical`). Runs that lie far off stand beside it: how
often they come, and, where there are any, the interval of the mean, which has to lie within the
margin, too, before "the same" is said. Overlap of intervals and the absence of a significant
difference decide nothing (Altman & Bland, BMJ 1995).

Two things are said. The *answer* is a bound, which needs no margin: an end of the interval holds
whatever anybody wanted to show, before the data or after (the smallest margin that would have
passed is such an end: Campbell & Gustafson, Meta-Psychology 2021, DOI 10.15626/MP.2020.2506).
The *outcome* is that of two one-sided tests against the margin that was fixed, gated by controls.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from parity.analysis import estimate, outcomes
from parity.analysis.estimate import Effects, Interval
from parity.analysis.sequential import ONE_LOOK, Levels

# Raised whenever another analysis decides: claims are registered with it. 1 was Student's mean of
# both natives where they could be pooled, which the signed ranks had to confirm.
VERSION = 2
FIXED = "2026-11-26"  # the day since when it has been this one; earlier data were known by then
CONTROL_FAILED = "A/A pair not equivalent"
CONTROL_DIFFERS = "A/A pair differs"
NO_CONTROL = "no A/A pair"
ASSAY = "this measurement could not have seen a difference"
# Below these many blocks the signed-rank test cannot reject at 5 % two-sided, or at 5 % one-sided
# twice: 2/2^6 and 2/2^5 are the smallest p that flipping the signs of all effects can give.
FEWEST_FOR_A_DIFFERENCE = 6
FEWEST_FOR_EQUIVALENCE = 5
FEW = f"fewer than {FEWEST_FOR_A_DIFFERENCE} blocks"
SPIKES = "runs that lie far off leave the mean open"
METHOD = "hangs on the method: the other test says"  # and its verdict, where a rule has two
NONE = "none"  # The gate where there is no A/A pair, or no positive control.
UNKNOWN: Interval = (math.nan, math.nan)
CLAIMS = (outcomes.EQUIVALENT, outcomes.DIFFERENT)
NOTHING_CLAIMED = (outcomes.REPORTED, outcomes.TOO_FEW_BLOCKS, outcomes.NOT_TESTED)
WIDEST_BOUND = 0.10  # A bound above is no answer: nobody lives with a cost of that much unasked.


@dataclass(frozen=True)
class Decision:
    """A ratio or a difference, and what follows from it. NaN stands for what is not known.

    `estimate`, `interval95`, `interval90`: the typical ratio, or the difference in its unit.
    `margin`: of a ratio 0.01 means within (1/1.01, 1.01), of a difference it is a bound in its
    unit; None where no equivalence is sought. `mean90`: between what the mean lies if no run lies
    farther off than those that were seen: `interval90`, and where any does Student's interval, too
    (`estimate.mean_of`).
    """

    blocks: int = 0  # the sample size
    estimate: float = math.nan
    interval95: Interval = UNKNOWN
    interval90: Interval = UNKNOWN
    margin: float | None = None
    p_equivalence: float = math.nan  # of the two one-sided tests
    p_nothing: float = 1.0  # two-sided p that nothing is added; 1 where too few tell
    smallest_margin: float = math.nan  # that would just have passed; infinite where none would
    outcome: str = outcomes.TOO_FEW_BLOCKS  # a name of `parity.analysis.outcomes`
    spikes: int = 0  # units in which the arm lies far above what is typical, whatever the reference
    spike_rate: Interval = UNKNOWN  # exact 95 % interval of their share
    spike_size: float = math.nan  # the farthest, as a ratio or a difference from what is typical
    mean90: Interval = UNKNOWN
    reason: str = ""  # why the outcome is no claim; empty if it is one
    units: int = 0  # how many numbers it rests on: blocks, or means of blocks that share something
    region: str = outcomes.TOO_FEW_BLOCKS  # by the intervals alone, before any objection
    barred: bool = False  # whether `reason` leaves nothing to be said, no bound either

    @property
    def answer(self) -> str:
        """What can be said of the cost, without a margin: a name of `parity.analysis.outcomes`."""
        if self.outcome in NOTHING_CLAIMED:
            return self.outcome
        if self.barred:
            return outcomes.CANNOT_TELL
        (low, high), (_, most) = self.interval95, self.interval90
        if low > 1 or high < 1:
            return outcomes.COSTS if low > 1 else outcomes.SAVES
        return outcomes.AT_MOST if most <= 1 + WIDEST_BOUND else outcomes.CANNOT_TELL

    @property
    def as_control(self) -> str:
        """The outcome by which an A/A pair gates others.

        A difference that few blocks, losses or clusters do not let us claim is no reason to
        trust the harness; runs of a native that lie far off are none to doubt it.
        """
        if outcomes.DIFFERENT in (self.outcome, self.region):
            return outcomes.DIFFERENT
        return self.region if self.reason == SPIKES else self.outcome

    @property
    def as_assay(self) -> str:
        """The outcome of a positive control: a cost beyond the margin is all it must show."""
        is_gain = self.outcome == outcomes.DIFFERENT and self.estimate < 1
        return outcomes.INCONCLUSIVE if is_gain else self.outcome

    def without_claim(self, objection: str, barred: bool = False) -> "Decision":
        """What an objection leaves, an empty one all; `barred`: whether it is to bounds, too."""
        if not objection:
            return self
        # What is withheld still gates others (`as_control`), whatever test it came from.
        if self.outcome in CLAIMS:
            ended, region = outcomes.INCONCLUSIVE, self.outcome
            return replace(self, outcome=ended, reason=objection, region=region, barred=barred)
        is_said = barred and self.outcome not in NOTHING_CLAIMED
        return replace(self, reason=objection, barred=True) if is_said else self

    def gated(self, control: str, assay: str = NONE) -> "Decision":
        """The decision as far as the outcomes of the A/A pair and the positive control allow."""
        objection = objection_of(control, self.outcome == outcomes.EQUIVALENT, assay)
        return self.without_claim(objection, barred=objection in (CONTROL_DIFFERS, NO_CONTROL))

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Decision":
        """The decision in a row of a table, as `columns` gave it."""
        ends = {name: (row[low], row[high]) for name, (low, high) in _ENDS.items()}
        margin = None if math.isnan(row["margin"]) else row["margin"]
        return cls(**{name: row[name] for name in _ALONE} | ends | {"margin": margin})

    def columns(self) -> dict[str, Any]:
        """The columns that tables have of a decision; what is infinite is not known there."""
        columns = {name: getattr(self, name) for name in (*_ALONE, "answer")}
        if math.isinf(self.smallest_margin):
            columns["smallest_margin"] = math.nan
        for name, ends in _ENDS.items():
            interval = getattr(self, name)
            is_known = all(map(math.isfinite, interval))
            columns |= zip(ends, interval if is_known else UNKNOWN, strict=True)
        return columns


# The columns of each interval of a decision, and what is a column as it is.
_ENDS = {
    "interval95": ("low95", "high95"),
    "interval90": ("low90", "high90"),
    "spike_rate": ("spike_low95", "spike_high95"),
    "mean90": ("mean_low90", "mean_high90"),
}
_ALONE = tuple(field.name for field in fields(Decision) if field.name not in _ENDS)
UNDECIDED = Decision()
WITHOUT_CONTROL = Decision(outcome=NONE)  # In the place of the A/A pair's where there is no pair.


def decide(
    effects: Effects, margin: float | None, ratio: bool = True, levels: Levels = ONE_LOOK
) -> Decision:
    """The decision on the typical effect.

    Raises ValueError: an effect is no finite number. `effects`: logs of cost ratios, if `ratio`, or
    differences in their unit; shape (units,), or (references, units) where several references each
    have to agree. `margin`: None where they are only reported. `levels`: those of the look at which
    this is decided. What is called 95 % and 90 % here holds at all looks together.
    """
    rows = np.atleast_2d(np.asarray(effects, dtype=float))
    units, shown = rows.shape[1], math.exp if ratio else float
    if units < 2:
        alone = shown(rows.mean()) if units else math.nan
        return Decision(units, alone, margin=margin, units=units)
    if not np.isfinite(rows).all():
        raise ValueError("effects must be finite: pairs without a usable number are dropped before")
    centre = estimate.typical(rows)
    outer, inner = (centre.interval(1 - 2 * level) for level in (levels.other, levels.same))
    bound = 0.0 if margin is None else math.log1p(margin) if ratio else margin
    far = estimate.spikes(centre, bound)
    ends = [inner]
    if far.above or far.below:
        ends += (estimate.mean_of(row).interval(1 - 2 * levels.same) for row in rows)
    mean = min(low for low, _ in ends), max(high for _, high in ends)
    reported = Decision(
        blocks=units, units=units, estimate=shown(centre.value), interval95=_shown(outer, ratio),
        interval90=_shown(inner, ratio), margin=margin,
        p_nothing=levels.adjusted_both_ways(centre.p_outside(0.0)), outcome=outcomes.REPORTED,
        region=outcomes.REPORTED, spikes=far.above, spike_rate=far.rate,
        spike_size=shown(far.highest), mean90=_shown(mean, ratio),
    )  # fmt: skip
    if margin is None:
        return reported
    region = outcome_of(inner, outer, (-bound, bound))
    widest = max(map(abs, mean))
    is_few = region == outcomes.INCONCLUSIVE and units < FEWEST_FOR_A_DIFFERENCE
    is_spiky = region == outcomes.EQUIVALENT and widest >= bound
    objection = FEW if is_few else SPIKES if is_spiky else ""
    return replace(
        reported, p_equivalence=levels.adjusted(centre.p_within(bound)),
        smallest_margin=math.expm1(widest) if ratio else widest,
        outcome=outcomes.INCONCLUSIVE if objection else region, region=region, reason=objection,
    )  # fmt: skip


def _shown(ends: Interval, ratio: bool) -> Interval:
    """Ends as ratios; too few effects, or very many spikes, leave them open."""
    low, high = np.exp(ends).tolist() if ratio else ends
    return low, high


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
        blocks=fewest, estimate=math.exp(fresh.mean() - archived.mean()),
        interval95=(math.exp(outer[0]), math.exp(outer[1])),
        interval90=(math.exp(inner[0]), math.exp(inner[1])), margin=margin,
        smallest_margin=math.expm1(max(abs(end) for end in inner)), outcome=outcome,
    )  # fmt: skip
    return decision.without_claim(FEW if few else "")


def outcome_of(inner: Interval, outer: Interval, within: Interval) -> str:
    """Whether a number is equivalent to nothing, differs from it, or neither.

    `inner`: the interval that has to lie within for equivalence, of 90 % as a rule: then the two
    one-sided tests pass at 5 % (Westlake 1981; Schuirmann 1987). `outer`: that of 95 %, which has
    to lie wholly outside for a difference. `within`: the margin; one end of it may be infinite.
    """
    low, high = within
    if low < inner[0] and inner[1] < high:
        return outcomes.EQUIVALENT
    if outer[1] < low or outer[0] > high:
        return outcomes.DIFFERENT
    return outcomes.INCONCLUSIVE


def objection_of(control: str, says_same: bool, assay: str = NONE) -> str:
    """Why controls with these outcomes do not let something be said; empty if they do.

    The same thing measured twice must come out the same before "the same" can be said of two things
    (A/A test: Kohavi et al., Trustworthy Online Controlled Experiments, 2020, ch. 19). If the pair
    itself differs, no difference is claimed either, because the harness alone produces one; without
    a pair nobody knows whether it does. And where a known difference did not come out beyond the
    margin, that none came out is no finding: the measurement lacks assay sensitivity (ICH E10,
    2000, section 1.5).
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
