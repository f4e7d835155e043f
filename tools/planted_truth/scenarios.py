"""The planted studies, and what is promised of the conclusions that are drawn from each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from parity.core.documents import Document
from planted_truth import promises
from planted_truth.looks import sequential
from planted_truth.promises import LEVEL, Measure, Observed, Promise, Trials
from planted_truth.sketches import sketches
from planted_truth.study import (
    CONTAINERS,
    DOUBLE,
    PLUS,
    PROCESSOR,
    REFERENCE,
    SAME,
    Campaign,
    Claimed,
    Effects,
    Misfortune,
    Noise,
)  # fmt: skip
from planted_truth.trials import FromLogs, Scenario

CASES = 25
# What the arms stand for: no effect, one at the margin to either side, and one far beyond it.
ARMS = dict(zip(("equal", "upper", "far", "lower"), CONTAINERS, strict=False))
ARMS |= {"double": DOUBLE, "plus": PLUS}
PROMISES = {
    "never": promises.never(),
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
    """What is counted of a scenario.

    Attributes:
        what: a function of `measures`, as `_counted` calls it.
        arms: words of `ARMS`.
        says, verdict, promise: of what is claimed of the arms, and a word of `PROMISES`.
        slack: of what is promised.
    """

    what: str
    arms: tuple[str, ...] = ()
    says: str = SAME
    verdict: str = ""
    promise: str = ""
    slack: float = 0.0


class LogScenario(Document, frozen=True):
    """An entry of `scenarios.yaml`: every arm is claimed to be the same, and what is counted.

    Attributes:
        study: its name.
        about: what is planted, in words, for the report.
        ratios: the true cost of each arm, by words of `ARMS`.
    """

    name: str
    study: str
    about: str
    noise: Noise
    ratios: dict[str, float]
    replicates: int
    counted: tuple[Counted, ...]
    blocks: int
    margin: float = 0.01
    benchmark: str = PROCESSOR
    misfortune: Misfortune = Misfortune()

    def scenario(self) -> Scenario:
        """With what makes one of its studies, through the whole pipeline."""
        campaign = self.campaign()
        measured = [measure for each in self.counted for measure in _counted(campaign, each)]
        size = (campaign.blocks, self.margin, CASES, self.replicates)
        return Scenario(self.name, "logs", self.about, *size, measured, FromLogs(campaign))

    def campaign(self) -> Campaign:
        """Its studies."""
        same = [Claimed(SAME, (ARMS[arm],)) for arm in self.ratios if arm not in ("double", "plus")]
        asked = [
            Claimed(each.says, tuple(ARMS[arm] for arm in each.arms))
            for each in self.counted
            if each.verdict
        ]
        ratios = {ARMS[arm]: ratio for arm, ratio in self.ratios.items()}
        effects = Effects(self.noise, ratios, self.misfortune)
        claims = tuple(dict.fromkeys([*same, *asked]))
        return Campaign(
            self.study, self.benchmark, CASES, self.blocks, self.margin, effects, claims
        )


def _counted(campaign: Campaign, each: Counted) -> list[Measure]:
    """What is counted, with the planted truth in words."""
    arms = tuple(ARMS[arm] for arm in each.arms)
    ratios = [campaign.ratio(arm) for arm in arms]
    if each.what == "miscounted":
        return [promises.miscounted()]
    if each.what == "verdict":
        planted = ", ".join(map(promises.cost, ratios))
        promise = PROMISES[each.promise]
        return [promises.judged(planted, each.says, arms, each.verdict, promise)]
    (arm,), (ratio,) = arms, ratios
    if each.what == "power":
        return promises.power(arm)
    if each.what == "falsely equivalent":
        return promises.falsely_equivalent(arm, ratio)
    if each.what == "unbiased":
        return [promises.unbiased(arm, ratio, each.slack)]
    return [{"covered": promises.covered, "consistent": promises.consistent}[each.what](arm, ratio)]


def scenarios() -> list[Scenario]:
    """All of them, in the order of the report."""
    in_memory = [each.scenario() for each in sketches()]
    return [*log_scenarios().values(), *in_memory, *drifts(), *sequential()]


def log_scenarios() -> dict[str, Scenario]:
    """Those through the whole pipeline, by name."""
    text = Path(__file__).with_suffix(".yaml").read_bytes()
    entries = msgspec.yaml.decode(text, type=list[LogScenario])
    return {entry.name: entry.scenario() for entry in entries}


def drifts() -> list[Scenario]:
    """Blocks that fill whole squares, of which nothing may be left, and two that do not.

    Each of the two may hold the arms two positions apart, as any two of five are on average.
    """
    two_left = promises.around_zero(2 * 2 * DRIFT / 4 / 12)
    size = "mean size of the estimate's error"
    return [
        _drift("drift", 10, "estimates with an error", promises.never(0.015), _off),
        _drift("drift, squares not filled", 12, size, two_left, _size),
    ]


def _drift(
    name: str,
    blocks: int,
    measured: str,
    promise: Promise,
    observe: Callable[[pd.DataFrame], Observed],
) -> Scenario:
    """Runs that differ by their position alone, so that every estimate but none is an error."""
    about = (
        f"each run costs more the later it stands in its case, {100 * DRIFT:g} % from the first of "
        "five to the last, and deviates by nothing else"
    )
    effects = Effects(Noise(0.0), dict.fromkeys(CONTAINERS[:3], 1.0))
    campaign = Campaign("order", PROCESSOR, 25, blocks, 0.01, effects, ())
    measure = Measure("the same", measured, promise, lambda trials: observe(trials.comparisons))
    size = (blocks, None, campaign.cases, 500)
    return Scenario(
        name, "hazards", about, *size, [measure], lambda _golden: partial(_errors, campaign)
    )


def _errors(campaign: Campaign, _number: int, seed: int) -> Trials:
    """The errors of each case: the mean over its blocks of what the positions differ."""
    step = DRIFT / (len(campaign.all_arms) - 1)
    planned: dict[str, list[int]] = {}
    for block in campaign.plan(seed).blocks:
        for case, runs in groupby(block.runs, key=lambda run: run.case):
            order = [run.arm for run in runs]
            planned.setdefault(case, []).append(order.index(CONTAINERS[0]) - order.index(REFERENCE))
    errors = [step * np.mean(each) for each in planned.values()]
    return Trials(comparisons=pd.DataFrame({"error": errors}))


def _size(errors: pd.DataFrame) -> Observed:
    return promises.mean(errors["error"].abs())


def _off(errors: pd.DataFrame) -> Observed:
    # What is left of whole squares is what adding numbers of the machine leaves.
    return promises.share(int((errors["error"].abs() > 1e-12).sum()), len(errors))
