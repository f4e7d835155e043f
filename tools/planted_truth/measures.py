"""What is counted over the replicates of a planted study, and what is promised of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.analysis.statistics.power import gated_power, tost_power
from parity.claims.terms import CONTRADICTED, SUPPORTED
from planted_truth import acceptance
from planted_truth.acceptance import Observed, Promise
from planted_truth.campaign import MORE, SAME, Campaign

LEVEL = 0.05
_CLAIM = {SAME: "claim of equivalence", MORE: "claim of a higher cost"}


@dataclass(frozen=True)
class Trials:
    """What became of replicates of one scenario; empty is what it does not look at.

    Attributes:
        comparisons: one row per study, case and arm, with the `planted` ratio.
        verdicts: one row per study, case and claim.
        runs: number of planned runs.
        miscounted: how many of them the ledger does not show exactly once, where it should.
    """

    comparisons: pd.DataFrame = field(default_factory=pd.DataFrame)
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    runs: int = 0
    miscounted: int = 0

    def compared(self, arm: str) -> pd.DataFrame:
        """The comparisons of one arm; each is of a case of its own, so independent."""
        of_arm = self.comparisons[self.comparisons["arm"] == arm]
        return of_arm.set_index(["study", "case"])

    def judged(self, says: str, arms: tuple[str, ...]) -> pd.Series:
        """The verdicts on what is claimed of these arms; one for each case."""
        wanted = (self.verdicts["says"] == says) & (self.verdicts["arms"] == arms)
        return self.verdicts[wanted].set_index(["study", "case"])["verdict"]


@dataclass(frozen=True)
class Measure:
    """Something that is counted over the replicates.

    Attributes:
        planted: the truth, in words.
        measured: what is counted, in words.
        observe: counts it.
    """

    planted: str
    measured: str
    promise: Promise
    observe: Callable[[Trials], Observed]


def cost(ratio: float) -> str:
    """A planted ratio in words."""
    return "the same" if ratio == 1 else f"{100 * (ratio - 1):+.3g} %"


def frequency(
    planted: str, measured: str, promise: Promise, happened: Callable[[Trials], pd.Series]
) -> Measure:
    """In how many of the cases something happened."""

    def observe(trials: Trials) -> Observed:
        cases = happened(trials)
        return acceptance.share(int(cases.sum()), len(cases))

    return Measure(planted, measured, promise, observe)


def judged(planted: str, says: str, arms: tuple[str, ...], word: str, promise: Promise) -> Measure:
    """How often a claim about arms gets a verdict."""
    measured = f"{_CLAIM[says]} {word}"
    return frequency(planted, measured, promise, lambda trials: trials.judged(says, arms) == word)


def _passed(planted: str, arm: str, beside: str, promise: Promise) -> Measure:
    """How often the equivalence test alone passes."""
    return frequency(
        planted,
        f"equivalence test passed, without the A/A gate{beside}",
        promise,
        lambda trials: trials.compared(arm)["p_equivalence"] < LEVEL,
    )


def falsely_equivalent(arm: str, ratio: float) -> list[Measure]:
    """At the margin: test and verdict may call it equivalent in 5 % of the cases."""
    limit = acceptance.at_most(LEVEL)
    return [
        _passed(cost(ratio), arm, "", limit),
        judged(cost(ratio), SAME, (arm,), SUPPORTED, limit),
    ]


def power(campaign: Campaign, arm: str) -> list[Measure]:
    """For an equal arm: how often it is proven, beside the closed forms for plain t.

    Nothing is promised of it: what widens plain t and the rank test beside it take power.
    """
    design = (campaign.effects.noise.of_a_pair, campaign.blocks, campaign.margin)
    alone, gated = (f" (plain t: {100 * f(*design):.3g} %)" for f in (tost_power, gated_power))
    shown = acceptance.not_controlled()
    claim = judged("the same", SAME, (arm,), SUPPORTED, shown)
    return [
        _passed("the same", arm, alone, shown),
        replace(claim, measured=claim.measured + gated),
    ]


def covered(arm: str, ratio: float) -> Measure:
    """How often the 95 % interval holds the planted ratio, of which it promises 95 %."""

    def is_inside(trials: Trials) -> pd.Series:
        rows = trials.compared(arm).dropna(subset=["low95"])
        return rows["planted"].between(rows["low95"], rows["high95"])

    promise = acceptance.at_least(0.95, slack=0.03)
    return frequency(cost(ratio), "95 % interval holds the truth", promise, is_inside)


def unbiased(arm: str, ratio: float, slack: float = 0.0) -> Measure:
    """The mean error of the estimated log ratio: at most a twentieth of the margin of 1 %."""

    def observe(trials: Trials) -> Observed:
        rows = trials.compared(arm).dropna(subset=["estimate"])
        return acceptance.mean(np.log(rows["estimate"] / rows["planted"]))

    promise = acceptance.unbiased(0.0005, slack)
    return Measure(cost(ratio), "mean error of the estimate", promise, observe)


def consistent(arm: str, ratio: float) -> Measure:
    """How often the verdict and the analysis, from which figures are drawn, disagree."""

    def is_apart(trials: Trials) -> pd.Series:
        outcomes = trials.compared(arm)["outcome"]
        verdicts = trials.judged(SAME, (arm,)).reindex(outcomes.index)
        apart = (verdicts == SUPPORTED) != (outcomes == EQUIVALENT)
        return apart | ((verdicts == CONTRADICTED) != (outcomes == DIFFERENT))

    measured = "verdict other than the analysis's outcome"
    return frequency(cost(ratio), measured, acceptance.never(), is_apart)


def miscounted() -> Measure:
    """The runs that the ledger does not show once, at the stage and with the reason planted."""

    def observe(trials: Trials) -> Observed:
        return acceptance.share(trials.miscounted, trials.runs)

    return Measure("each run's fate", "runs not counted once as such", acceptance.never(), observe)
