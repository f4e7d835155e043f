"""What is counted over the replicates of a planted study, and what is promised of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.analysis.statistics.power import gated_power, tost_power
from parity.checks.planted_truth import acceptance
from parity.checks.planted_truth.acceptance import Observed, Promise
from parity.checks.planted_truth.campaign import MORE, SAME, Campaign
from parity.claims.terms import CONTRADICTED, SUPPORTED

LEVEL = 0.05
_TESTED = "equivalence test passed, without the A/A gate"
_CLAIM = {SAME: "claim of equivalence", MORE: "claim of a higher cost"}


@dataclass(frozen=True)
class Trials:
    """What became of all replicates of one scenario.

    Attributes:
        comparisons: one row per case and arm, with the `planted` ratio.
        verdicts: one row per case and claim.
        runs: number of planned runs.
        miscounted: how many of them the ledger does not show exactly once, where it should.
    """

    comparisons: pd.DataFrame
    verdicts: pd.DataFrame
    runs: int
    miscounted: int

    def compared(self, arm: str) -> pd.DataFrame:
        """The comparisons of one arm; each is of a case of its own, so independent."""
        return self.comparisons[self.comparisons["arm"] == arm]

    def judged(self, says: str, arms: tuple[str, ...]) -> pd.Series:
        """The verdicts on what is claimed of these arms; one for each case."""
        wanted = (self.verdicts["says"] == says) & (self.verdicts["arms"] == arms)
        return self.verdicts.loc[wanted, "verdict"]


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


def judged(planted: str, says: str, arms: tuple[str, ...], word: str, promise: Promise) -> Measure:
    """How often a claim about arms gets a verdict."""

    def observe(trials: Trials) -> Observed:
        verdicts = trials.judged(says, arms)
        return acceptance.share(int((verdicts == word).sum()), len(verdicts))

    return Measure(planted, f"{_CLAIM[says]} {word}", promise, observe)


def tested(planted: str, arm: str, promise: Promise) -> Measure:
    """How often the equivalence test alone passes."""

    def observe(trials: Trials) -> Observed:
        passed = trials.compared(arm)["p_equivalence"] < LEVEL
        return acceptance.share(int(passed.sum()), len(passed))

    return Measure(planted, _TESTED, promise, observe)


def falsely_equivalent(arm: str, ratio: float) -> list[Measure]:
    """At the margin: test and verdict may call it equivalent in 5 % of the cases."""
    limit, planted = acceptance.at_most(LEVEL), cost(ratio)
    return [tested(planted, arm, limit), judged(planted, SAME, (arm,), SUPPORTED, limit)]


def never(planted: str, says: str, arm: str, word: str) -> Measure:
    """A verdict that must not be given even once."""
    return judged(planted, says, (arm,), word, acceptance.never())


def power(campaign: Campaign, arm: str) -> list[Measure]:
    """For an equal arm: what the planner promises for this campaign's blocks and noise."""
    design = (campaign.effects.noise.of_a_pair, campaign.blocks, campaign.margin)
    alone, gated = (
        acceptance.near(power_of(*design), 0.05) for power_of in (tost_power, gated_power)
    )
    return [
        tested("the same", arm, alone),
        judged("the same", SAME, (arm,), SUPPORTED, gated),
    ]


def covered(arm: str, ratio: float, highest: float = 0.97) -> Measure:
    """How often the 95 % interval holds the planted ratio."""

    def observe(trials: Trials) -> Observed:
        rows = trials.compared(arm).dropna(subset=["low95"])
        inside = (rows["low95"] <= rows["planted"]) & (rows["planted"] <= rows["high95"])
        return acceptance.share(int(inside.sum()), len(rows))

    promise = acceptance.between(0.93, highest)
    return Measure(cost(ratio), "95 % interval holds the truth", promise, observe)


def unbiased(arm: str, ratio: float, within: float = 0.0005) -> Measure:
    """The mean error of the estimated log ratio."""

    def observe(trials: Trials) -> Observed:
        rows = trials.compared(arm).dropna(subset=["estimate"])
        return acceptance.mean(np.log(rows["estimate"] / rows["planted"]))

    return Measure(cost(ratio), "mean error of the estimate", acceptance.unbiased(within), observe)


def consistent(arm: str, ratio: float) -> Measure:
    """How often the verdict and the analysis, from which figures are drawn, disagree."""

    def observe(trials: Trials) -> Observed:
        outcomes = trials.compared(arm).set_index(["study", "case"])["outcome"]
        chosen = (trials.verdicts["says"] == SAME) & (trials.verdicts["arms"] == (arm,))
        verdicts = trials.verdicts[chosen].set_index(["study", "case"])["verdict"]
        verdicts = verdicts.reindex(outcomes.index)
        apart = (verdicts == SUPPORTED) != (outcomes == EQUIVALENT)
        apart |= (verdicts == CONTRADICTED) != (outcomes == DIFFERENT)
        return acceptance.share(int(apart.sum()), len(apart))

    measured = "verdict other than the analysis's outcome"
    return Measure(cost(ratio), measured, acceptance.never(), observe)


def miscounted() -> Measure:
    """The runs that the ledger does not show once, at the stage and with the reason planted."""

    def observe(trials: Trials) -> Observed:
        return acceptance.share(trials.miscounted, trials.runs)

    return Measure("each run's fate", "runs not counted once as such", acceptance.never(), observe)
