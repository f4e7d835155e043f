"""Comparisons by the rule of the analysis, and by the one before it on the same numbers.

Logs of costs are planted and given to `parity.analysis.decision.decide` and to its A/A gate: how
they come out of tables, the other scenarios ask. Before, two methods had to agree, the widened t of
`estimate.mean_of` and ranks, against the mean of both natives where the A/A pair had passed.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd

from parity.analysis.decision import Decision, decide, outcome_of
from parity.analysis.estimate import Typical, mean_of
from parity.analysis.outcomes import DIFFERENT, EQUIVALENT, INCONCLUSIVE
from parity.core.documents import Document
from planted_truth import promises
from planted_truth.in_memory import Chance
from planted_truth.promises import Measure, Observed, Trials, cost
from planted_truth.study import DOUBLE, REFERENCE
from planted_truth.trials import Scenario, entries

# What the arms beside the A/A pair stand for.
ARMS = ("equal", "upper", "lower", "far")
ALL = (REFERENCE, DOUBLE, *ARMS)
BATCH, REPLICATES = 100, 1000  # replicates that are drawn together, and all
# What the typical effect is under a law is drawn: the median of means of two blocks.
DRAWN = 200_000
Happened = Callable[[pd.DataFrame], pd.Series]
# What may be counted of an arm, by what it is called in the report: by the rule, and before.
COUNTED: Mapping[str, tuple[Happened, Happened | None]] = {
    "called the same": (
        lambda at: at["outcome"] == EQUIVALENT, lambda at: at["before"] == EQUIVALENT
    ),
    "called different": (
        lambda at: at["outcome"] == DIFFERENT, lambda at: at["before"] == DIFFERENT
    ),
    "95 % interval holds the truth": (
        lambda at: at["typical"].between(at["low95"], at["high95"]),
        lambda at: at["mean"].between(at["low95_before"], at["high95_before"]),
    ),
    "called the same if none lay far off": (lambda at: at["region"] == EQUIVALENT, None),
    "mean above its bound": (lambda at: at["mean"] > at["mean_high90"], None),
    "mean above its bound, a spike seen": (
        lambda at: (at["mean"] > at["mean_high90"])[at["spikes"] > 0], None
    ),
    "no spike seen": (lambda at: at["spikes"] == 0, None),
}  # fmt: skip
PROMISES = {
    "edge": promises.at_most(0.05),
    "covered": promises.at_least(0.95, slack=0.03),
    "": promises.NOT_CONTROLLED,
}


class Counted(Document, frozen=True):
    """What is counted of an arm: words of `ARMS`, `COUNTED` and `PROMISES`."""

    what: str
    arm: str = "equal"
    promise: str = ""


class Comparison(Document, frozen=True):
    """An entry of `comparisons.yaml`."""

    name: str
    about: str  # what is planted, in words
    blocks: tuple[int, ...]  # of each of the scenarios that it stands for
    chance: Chance
    ratios: dict[str, float]  # the true cost of each arm, by words of `ARMS`
    counted: tuple[Counted, ...]
    margin: float = 0.01
    of_mean: bool = False  # whether the mean costs so much, spikes included, or the typical run

    def scenarios(self) -> Iterator[Scenario]:
        """One for each number of blocks."""
        measures = [self._measure(each) for each in self.counted]
        for blocks in self.blocks:
            name, size = f"{self.name}, {blocks}", (blocks, self.margin, BATCH, REPLICATES)
            trial = partial(self._trial, blocks)
            yield Scenario(name, "comparisons", self.about, *size, measures, trial)

    def _trial(self, blocks: int) -> Callable[[int, int], Trials]:
        return partial(_one, self, blocks, self.truths())

    def _measure(self, counted: Counted) -> Measure:
        def observed(happened: Happened, trials: Trials) -> Observed:
            return promises.share_of(happened(trials.compared(counted.arm)))

        now, before = COUNTED[counted.what]
        planted = f"{cost(self.ratios[counted.arm])}{' on average' if self.of_mean else ''}"
        return Measure(planted, counted.what, PROMISES[counted.promise], partial(observed, now),
                       before and partial(observed, before))  # fmt: skip

    def truths(self) -> np.ndarray:
        """What each arm truly adds to the log of a cost: on average, and typically; (2, arms)."""
        costs = np.log([[self.ratios.get(word, 1.0) for word in ARMS]])
        none, random = np.zeros((1, len(ALL))), np.random.default_rng(0)
        pairs = self.chance.draw(random, none, (0, 0), ALL, DRAWN)[:, 0]
        off = np.median((pairs[..., 2:] - pairs[..., :1]).mean(axis=1), axis=0)
        means = costs if self.of_mean else costs - off
        return np.concatenate([means, means + off])


def _one(planted: Comparison, blocks: int, truths: np.ndarray, number: int, seed: int) -> Trials:
    """Several comparisons of each arm, decided by both rules."""
    random, means = np.random.default_rng(seed), np.append([0.0, 0.0], truths[0])[None]
    drawn = planted.chance.draw(random, means, (0,) * blocks, ALL, BATCH)[:, 0]
    rows = []
    for case, logs in enumerate(drawn):
        natives, arms = logs[:, :2].T, logs[:, 2:].T
        pair = natives[1] - natives[0]
        control = decide(pair, planted.margin)
        passed, _ = of_pair = _before(pair, planted.margin)
        is_one = passed.outcome == EQUIVALENT and passed.interval95[0] <= 0 <= passed.interval95[1]
        reference = natives.mean(axis=0) if is_one else natives[0]
        for arm, own, mean, typical in zip(ALL[2:], arms, *truths, strict=True):
            made = decide(own - natives, planted.margin).gated(control.as_control)
            before, _ = _before(own - reference, planted.margin)
            low, high = np.exp(before.interval95)
            rows.append({
                **made.columns(), "arm": arm, "study": number, "case": case,
                "mean": math.exp(mean), "typical": math.exp(typical), "low95_before": low,
                "high95_before": high, "before": before.gated(of_pair[1]).outcome,
            })  # fmt: skip
    return Trials(comparisons=pd.DataFrame(rows))


def _before(effects: np.ndarray, margin: float) -> tuple[Decision, str]:
    """What was decided before any gate, with the interval of the mean log; and as a control."""
    bound = math.log1p(margin)
    methods = mean_of(effects), Typical(effects[None], 1.0)
    both = [outcome_of(of.interval(0.9), of.interval(0.95), (-bound, bound)) for of in methods]
    outcome = both[0] if both[0] == both[1] else INCONCLUSIVE
    made = Decision(interval95=methods[0].interval(0.95), outcome=outcome)
    return made, DIFFERENT if DIFFERENT in both else outcome


def comparisons() -> list[Scenario]:
    planted = entries(__file__, list[Comparison])
    return [scenario for entry in planted for scenario in entry.scenarios()]
