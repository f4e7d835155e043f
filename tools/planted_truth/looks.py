"""Studies with looks: measured in stages, each look stopping what is decided or never will be.

The numbers are planted in the tables of the records. At each look the real analysis sees the
blocks so far, and what it stops has no numbers in the blocks after it, as the runner would leave
them. Each case is a replicate of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from parity.analysis import conclusions, evidence, tables
from parity.analysis.contrast import Engine
from parity.analysis.dataset import Dataset
from parity.analysis.looks import stops
from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.core.documents import Document
from parity.plan.looks import HOPELESS, Stop
from planted_truth import in_memory, promises
from planted_truth.in_memory import Chance, Layout
from planted_truth.promises import (
    Measure,
    Observed,
    Promise,
    Trials,
    cost,
    covered,
    frequency,
)  # fmt: skip
from planted_truth.study import CONTAINERS, DOUBLE
from planted_truth.trials import Scenario

# Each look has nearly half as many blocks again as the one before it.
LOOKS = (6, 9, 13, 18, 25, 36)
MARGIN = 0.01
ARMS = dict(zip(("equal", "upper", "lower"), CONTAINERS, strict=False)) | {"double": DOUBLE}
# Replicates that are analysed together.
CASES = 20
REPLICATES = 600


@dataclass(frozen=True)
class Looked:
    """A study with looks whose truth is known.

    Attributes:
        deviation: standard deviation of the log ratio of two runs of a block.
        costs: by arm, the ratio to the reference.
        once: how many blocks a study has that is looked at once, beside it.
    """

    deviation: float
    costs: Mapping[str, float]
    once: int = LOOKS[-1]

    @property
    def layout(self) -> Layout:
        """The study of one batch, all blocks of it on one node."""
        arms = tuple(arm for arm in self.costs if arm != DOUBLE)
        parameters = {f"case-{number}": {"replicate": number} for number in range(CASES)}
        return Layout(parameters, arms, (0,) * LOOKS[-1], MARGIN, looks=LOOKS)

    def values(self, seed: int) -> np.ndarray:
        """What its runs would give if none was stopped, in the shape (blocks, cases, arms)."""
        arms = self.layout.all_arms
        logs = np.log([[self.costs.get(arm, 1.0) for arm in arms]] * CASES)
        chance = Chance(run=self.deviation / math.sqrt(2))
        random = np.random.default_rng(seed)
        drawn = chance.draw(random, logs, self.layout.nodes, arms, 1)[0]
        return np.asarray(100 * np.exp(drawn).transpose(1, 0, 2))


def walked(layout: Layout, values: np.ndarray) -> pd.DataFrame:
    """The comparisons of all blocks in the end, after every look has stopped what it stops.

    Args:
        values: as of `Looked.values`.

    Returns:
        `tables.CONCLUSIONS`, and of each of them: whether it was `ever_equivalent` or
        `ever_different` at a look, how many blocks were `made`, and why it was `stopped`.
    """
    cases, arms = list(layout.parameters), layout.all_arms
    measured, reasons = values.copy(), np.full(values.shape, "", dtype=object)
    stopped: dict[tuple[str, str], Stop] = {}
    said: list[pd.Series] = []
    for look in layout.looks:
        dataset = in_memory.dataset(layout, measured[:look], reasons[:look])
        table = concluded(dataset)
        said.append(table.set_index(["case", "arm"])["outcome"])
        compared = conclusions.of_table(table)
        for stop in stops(dataset.plan, compared, stopped.values(), layout.looks[-1]):
            stopped[stop.case, stop.arm] = stop
            place = slice(look, None), cases.index(stop.case), arms.index(stop.arm)
            # What was stopped before has its reason already, from its own look on.
            reasons[place] = stop.reason
            measured[place] = np.nan
    outcomes, made = pd.concat(said, axis=1), (reasons == "").sum(axis=0)
    keys = list(zip(table["case"], table["arm"], strict=True))
    return table.assign(
        ever_equivalent=(outcomes == EQUIVALENT).any(axis=1).loc[keys].to_numpy(),
        ever_different=(outcomes == DIFFERENT).any(axis=1).loc[keys].to_numpy(),
        made=[int(made[cases.index(case), arms.index(arm)]) for case, arm in keys],
        stopped=[stopped[key].reason if key in stopped else "" for key in keys],
    )


def concluded(dataset: Dataset) -> pd.DataFrame:
    """`tables.CONCLUSIONS` of a dataset, as a look makes them."""
    excluded = tables.frame(tables.TABLES["exclusions"], [])
    counted = evidence.counted_values(dataset.metrics, excluded)
    concluded = conclusions.conclude(Engine(dataset, evidence.numbers(counted)))[0]
    return concluded[concluded["form"] == conclusions.ARM].reset_index(drop=True)


def _one(looked: Looked, number: int, seed: int) -> Trials:
    """One study with looks, and the same numbers looked at once; its number tells its cases."""
    layout, values = looked.layout, looked.values(seed)
    found = walked(layout, values)
    simple = replace(layout, looks=(), nodes=layout.nodes[: looked.once])
    once = concluded(in_memory.dataset(simple, values[: looked.once]))
    keys = ["case", "arm"]
    found = found.merge(once[[*keys, "outcome"]].rename(columns={"outcome": "once"}), on=keys)
    planted = found["arm"].map(lambda arm: looked.costs.get(arm, 1.0))
    return Trials(comparisons=found.assign(planted=planted, study=number))


# What may happen to an arm, by what it is called in the report.
HAPPENED: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "called the same in the end": lambda at: at["outcome"] == EQUIVALENT,
    "called the same at a look, but not in the end": (
        lambda at: at["ever_equivalent"] & (at["outcome"] != EQUIVALENT)
    ),
    "ever called the same": lambda at: at["ever_equivalent"],
    "ever called different": lambda at: at["ever_different"],
    "given up": lambda at: at["stopped"] == HOPELESS,
    "once": lambda at: at["once"] == EQUIVALENT,
}


class Counted(Document, frozen=True):
    """What is counted of an arm.

    Attributes:
        what: a word of `HAPPENED`, `once`, `covered`, `blocks in all` or `blocks of one look`.
        at_most, at_least: what is promised of it.
    """

    what: str
    arm: str = "equal"
    at_most: float | None = None
    at_least: float | None = None
    slack: float = 0.02

    @property
    def promise(self) -> Promise:
        """What is promised; nothing, if it is only shown."""
        if self.at_most is not None:
            return promises.at_most(self.at_most, self.slack)
        return (
            promises.not_controlled() if self.at_least is None else promises.at_least(self.at_least)
        )

    def measure(self, looked: Looked) -> Measure:
        """What is counted and promised of a study."""
        arm, promise = ARMS[self.arm], self.promise
        ratio = looked.costs[arm]
        if self.what == "covered":
            return covered(arm, ratio)
        if self.what.startswith("blocks "):
            whole = self.what == "blocks in all"
            of = LOOKS[-1] if whole else looked.once
            words = f"blocks until stopped, of {of} {'in all' if whole else 'of one look'}"

            def observe(trials: Trials) -> Observed:
                return promises.mean(trials.compared(arm)["made"] / of)

            return Measure(cost(ratio), words, promise, observe)
        is_once = self.what == "once"
        happened = HAPPENED[self.what]
        words = f"the same, looked at once after {looked.once}" if is_once else self.what
        return frequency(cost(ratio), words, promise, lambda trials: happened(trials.compared(arm)))


class LookScenario(Document, frozen=True):
    """An entry of `looks.yaml`.

    Attributes:
        deviation: standard deviation of the log ratio of two runs of a block.
        ratios: the true cost of each arm, by words of `ARMS`.
        once: how many blocks a study has that is looked at once, beside it.
    """

    name: str
    about: str
    deviation: float
    ratios: dict[str, float]
    counted: tuple[Counted, ...]
    once: int = LOOKS[-1]

    def scenario(self) -> Scenario:
        """With what makes one of its studies."""
        costs = {ARMS[arm]: ratio for arm, ratio in self.ratios.items()}
        looked = Looked(self.deviation, costs, self.once)
        measures = [counted.measure(looked) for counted in self.counted]
        size = (LOOKS[-1], MARGIN, CASES, REPLICATES)
        made = partial(_one, looked)
        return Scenario(self.name, "looks", self.about, *size, measures, lambda _golden: made)


def sequential() -> list[Scenario]:
    """Scatter that is soon decided, that is hardly, and that never is; and a pair that differs."""
    text = Path(__file__).with_suffix(".yaml").read_bytes()
    return [entry.scenario() for entry in msgspec.yaml.decode(text, type=list[LookScenario])]
