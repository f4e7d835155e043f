"""What is counted over the replicates of a planted study, what is promised, and what holds."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.claims.terms import CONTRADICTED, SUPPORTED
from planted_truth.study import MORE, SAME

LEVEL = 0.05
_CLAIM = {SAME: "claim of equivalence", MORE: "claim of a higher cost"}
# Some 150 promises are checked at once; with 95 % several would look broken every time.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Observed:
    """An estimate from so many replicates, with its 99 % Monte-Carlo interval."""

    replicates: int
    value: float
    low: float
    high: float


def share(successes: int, replicates: int) -> Observed:
    """A share with the interval of Clopper & Pearson (Biometrika 1934); ValueError: of none."""
    if replicates < 1:
        raise ValueError("a share of nothing")
    low, high = proportion_confint(successes, replicates, 1 - CONFIDENCE, method="beta")
    return Observed(replicates, successes / replicates, float(low), float(high))


def mean(values: ArrayLike) -> Observed:
    numbers = np.asarray(values, dtype=float)
    centre = float(numbers.mean())
    low, high = stats.t.interval(CONFIDENCE, len(numbers) - 1, centre, stats.sem(numbers))
    return Observed(len(numbers), centre, float(low), float(high))


@dataclass(frozen=True)
class Promise:
    """A range that the truth is promised to lie in.

    A promise is refuted if the whole Monte-Carlo interval lies outside of its range. It
    holds if, more than that, the whole interval lies inside the range widened by `slack`:
    that not enough replicates were made to refute it is no reason to believe it. A rate
    that may be exactly at its limit needs a slack; others need none.
    """

    text: str
    low: float
    high: float
    slack: float = 0.0
    is_kept: bool = True  # whether it is promised at all; what is not controlled is only shown

    def refuted_by(self, observed: Observed) -> bool:
        """Whether the promise is certainly broken."""
        return observed.high < self.low or observed.low > self.high

    def holds_for(self, observed: Observed) -> bool:
        inside = self.low - self.slack <= observed.low and observed.high <= self.high + self.slack
        return inside and not self.refuted_by(observed)


NOT_CONTROLLED = Promise("not controlled", 0.0, 1.0, is_kept=False)


def at_most(limit: float, slack: float = 0.02) -> Promise:
    """A rate that must not exceed a limit, at which it may lie exactly; 0: not even once."""
    return Promise(f"≤ {100 * limit:.3g} %" if limit else "none", 0.0, limit, slack)


def at_least(limit: float, slack: float = 0.005) -> Promise:
    return Promise(f"≥ {100 * limit:.3g} %", limit, 1.0, slack)


def around_zero(within: float, slack: float = 0.0) -> Promise:
    """A mean error of at most so much to either side."""
    return Promise(f"0 ± {100 * within:.3g} %", -within, within, slack)


@dataclass(frozen=True)
class Trials:
    """What became of replicates of one scenario; empty is what it does not look at.

    Of `comparisons` there is a row per study, case and arm, with the `planted` ratio; of `verdicts`
    one per study, case and claim. Of so many planned `runs` the ledger should show each once.
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
        wanted = (self.verdicts["says"] == says) & (self.verdicts["arms"] == arms)
        return self.verdicts[wanted].set_index(["study", "case"])["verdict"]


@dataclass(frozen=True)
class Measure:
    """Something that is counted over the replicates: the truth and it in words, and how."""

    planted: str
    measured: str
    promise: Promise
    observe: Callable[[Trials], Observed]
    # The same by the rule before, of which nothing is promised.
    before: Callable[[Trials], Observed] | None = None


def cost(ratio: float) -> str:
    return "the same" if ratio == 1 else f"{100 * (ratio - 1):+.3g} %"


def share_of(cases: pd.Series) -> Observed:
    return share(int(cases.sum()), len(cases))


def frequency(
    planted: str, measured: str, promise: Promise, happened: Callable[[Trials], pd.Series]
) -> Measure:
    return Measure(planted, measured, promise, lambda trials: share_of(happened(trials)))


def judged(planted: str, says: str, arms: tuple[str, ...], word: str, promise: Promise) -> Measure:
    measured = f"{_CLAIM[says]} {word}"
    return frequency(planted, measured, promise, lambda trials: trials.judged(says, arms) == word)


def proven(arm: str, ratio: float, promise: Promise) -> list[Measure]:
    """How often an arm is proven to cost the same, by the test alone and by the verdict."""
    by_test = frequency(
        cost(ratio), "equivalence test passed, without the A/A gate", promise,
        lambda trials: trials.compared(arm)["p_equivalence"] < LEVEL,
    )  # fmt: skip
    return [by_test, judged(cost(ratio), SAME, (arm,), SUPPORTED, promise)]


def covered(arm: str, ratio: float) -> Measure:
    """How often the 95 % interval holds the planted ratio, of which it promises 95 %."""

    def is_inside(trials: Trials) -> pd.Series:
        rows = trials.compared(arm)
        # So few nodes or sessions that differ leave no interval.
        rows = rows[np.isfinite(rows["low95"].to_numpy(float, na_value=np.nan))]
        inside: pd.Series = rows["planted"].between(rows["low95"], rows["high95"])
        return inside

    promise = at_least(0.95, slack=0.03)
    return frequency(cost(ratio), "95 % interval holds the truth", promise, is_inside)


def unbiased(arm: str, ratio: float, slack: float = 0.0) -> Measure:
    """The mean error of the estimated log ratio: at most a twentieth of the margin of 1 %."""

    def observe(trials: Trials) -> Observed:
        rows = trials.compared(arm).dropna(subset=["estimate"])
        return mean(np.log(rows["estimate"] / rows["planted"]))

    return Measure(cost(ratio), "mean error of the estimate", around_zero(0.0005, slack), observe)


def consistent(arm: str, ratio: float) -> Measure:
    """How often the verdict and the analysis, from which figures are drawn, disagree."""

    def is_apart(trials: Trials) -> pd.Series:
        outcomes = trials.compared(arm)["outcome"]
        verdicts = trials.judged(SAME, (arm,)).reindex(outcomes.index)
        apart = (verdicts == SUPPORTED) != (outcomes == EQUIVALENT)
        return apart | ((verdicts == CONTRADICTED) != (outcomes == DIFFERENT))

    measured = "verdict other than the analysis's outcome"
    return frequency(cost(ratio), measured, at_most(0, 0.01), is_apart)


# The runs that the ledger does not show once, at the stage and with the reason planted.
MISCOUNTED = Measure(
    "each run's fate", "runs not counted once as such", at_most(0, 0.01),
    lambda trials: share(trials.miscounted, trials.runs),
)  # fmt: skip
