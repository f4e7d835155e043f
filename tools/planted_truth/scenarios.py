"""The planted studies, and what is promised of the conclusions that are drawn from each."""

from functools import partial
from itertools import groupby

import numpy as np
import pandas as pd

from parity.core.documents import Document
from planted_truth import promises, study
from planted_truth.comparisons import comparisons
from planted_truth.looks import sequential
from planted_truth.promises import LEVEL, Measure, Trials
from planted_truth.sketches import sketches
from planted_truth.study import CONTAINERS, PROCESSOR, SAME, Campaign, Misfortune, Noise, claims_of
from planted_truth.trials import Scenario, entries, one_of_logs

CASES = 25
# What the arms stand for: no effect, one at the margin to either side, and one far beyond it.
ARMS = dict(zip(("equal", "upper", "far", "lower"), CONTAINERS, strict=False))
ARMS |= {"double": study.DOUBLE, "plus": study.PLUS}
PROMISES = {
    "never": promises.at_most(0, 0.01),
    "edge": promises.at_most(LEVEL),
    "half": promises.at_most(LEVEL / 2),
    "always": promises.at_least(0.95),
    # An A/A pair that is the same shows a direction by chance, at 5 % to either side, and where
    # nearly nothing counts as an effect it then gates.
    "ungated": promises.at_least(1 - 2 * LEVEL, slack=0.05),
}
# STREAM's on the machine of the archives: from the first of five positions to the last.
DRIFT = 0.011


class Counted(Document, frozen=True):
    # `verdict`, `power`, `falsely equivalent`, `covered`, `unbiased`, `consistent`, `miscounted`.
    what: str
    arms: tuple[str, ...] = ()  # words of `ARMS`
    # What is claimed of the arms, and of its verdict a word of `PROMISES`.
    says: str = SAME
    verdict: str = ""
    promise: str = ""
    slack: float = 0.0  # of what is promised

    def measures(self, campaign: Campaign) -> list[Measure]:
        """What is counted, with the planted truth in words."""
        arms = tuple(ARMS[arm] for arm in self.arms)
        ratios = [campaign.ratio(arm) for arm in arms]
        match self.what:
            case "miscounted":
                return [promises.MISCOUNTED]
            case "verdict":
                planted, promise = ", ".join(map(promises.cost, ratios)), PROMISES[self.promise]
                return [promises.judged(planted, self.says, arms, self.verdict, promise)]
            case "power":
                return promises.proven(arms[0], 1.0, promises.NOT_CONTROLLED)
            case "falsely equivalent":
                # At the margin test and verdict may call it equivalent in 5 % of the cases.
                return promises.proven(arms[0], ratios[0], promises.at_most(LEVEL))
            case "unbiased":
                return [promises.unbiased(arms[0], ratios[0], self.slack)]
            case "covered":
                return [promises.covered(arms[0], ratios[0])]
        return [promises.consistent(arms[0], ratios[0])]


class LogScenario(Document, frozen=True):
    """An entry of `scenarios.yaml`: every arm is claimed to be the same, and what is counted."""

    name: str
    study: str  # its name
    about: str  # what is planted, in words, for the report
    noise: Noise
    ratios: dict[str, float]  # the true cost of each arm, by words of `ARMS`
    replicates: int
    counted: tuple[Counted, ...]
    blocks: int
    margin: float = 0.01
    benchmark: str = PROCESSOR
    misfortune: Misfortune = Misfortune()
    cases: int = CASES

    @property
    def campaign(self) -> Campaign:
        same = [(SAME, (ARMS[arm],)) for arm in self.ratios if arm not in ("double", "plus")]
        asked = [(each.says, tuple(ARMS[arm] for arm in each.arms))
                 for each in self.counted if each.verdict]  # fmt: skip
        return Campaign(
            self.study, self.benchmark, self.cases, self.blocks, self.margin, self.noise,
            {ARMS[arm]: ratio for arm, ratio in self.ratios.items()}, self.misfortune,
            tuple(dict.fromkeys([*same, *asked])),
        )  # fmt: skip

    def scenario(self) -> Scenario:
        campaign = self.campaign
        measured = [measure for each in self.counted for measure in each.measures(campaign)]
        size = (self.blocks, self.margin, self.cases, self.replicates)
        return Scenario(self.name, "logs", self.about, *size, measured,
                        lambda: partial(one_of_logs, campaign, claims_of(campaign)))  # fmt: skip


def scenarios() -> list[Scenario]:
    """All of them, in the order of the report."""
    from_logs = [entry.scenario() for entry in log_scenarios().values()]
    in_memory = [sketch.scenario() for sketch in sketches()]
    return [*from_logs, *in_memory, *comparisons(), *drifts(), *sequential()]


def log_scenarios() -> dict[str, LogScenario]:
    return {entry.name: entry for entry in entries(__file__, list[LogScenario])}


def drifts() -> list[Scenario]:
    """Runs that differ by their position alone, so that all that is estimated is an error.

    Blocks that fill whole squares, of which nothing may be left, and two that do not; each of the
    two may hold the arms two positions apart, as any two of five are on average.
    """
    about = (
        f"each run costs more the later it stands in its case, {100 * DRIFT:g} % from the first of "
        "five to the last, and deviates by nothing else"
    )
    # What is left of whole squares is what adding numbers of the machine leaves.
    off = promises.frequency(
        "the same", "estimates with an error", promises.at_most(0, 0.015),
        lambda trials: trials.comparisons["error"].abs() > 1e-12,
    )  # fmt: skip
    size = Measure(
        "the same", "mean size of the estimate's error",
        promises.around_zero(2 * 2 * DRIFT / 4 / 12),
        lambda trials: promises.mean(trials.comparisons["error"].abs()),
    )  # fmt: skip
    made = []
    for name, blocks, measure in (("drift", 10, off), ("drift, squares not filled", 12, size)):
        ratios = dict.fromkeys(CONTAINERS[:3], 1.0)
        campaign = Campaign("order", PROCESSOR, CASES, blocks, 0.01, Noise(0.0), ratios)
        # An early binding of the campaign of this turn.
        made.append(Scenario(name, "hazards", about, blocks, None, CASES, 500, [measure],
                             partial(partial, _errors, campaign)))  # fmt: skip
    return made


def _errors(campaign: Campaign, _number: int, seed: int) -> Trials:
    """The errors of each case: the mean over its blocks of what the positions differ."""
    step = DRIFT / (len(campaign.all_arms) - 1)
    planned: dict[str, list[int]] = {}
    for block in campaign.plan(seed).blocks:
        for case, runs in groupby(block.runs, key=lambda run: run.case):
            order = [run.arm for run in runs]
            apart = order.index(CONTAINERS[0]) - order.index(study.REFERENCE)
            planned.setdefault(case, []).append(apart)
    errors = [step * np.mean(each) for each in planned.values()]
    return Trials(comparisons=pd.DataFrame({"error": errors}))
