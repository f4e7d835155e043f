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

import numpy as np
import pandas as pd

from parity.analysis import conclusions, pairing, tables
from parity.analysis.contrast import Engine
from parity.analysis.dataset import Dataset
from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.analysis.stopping import stops
from parity.plan.looks import HOPELESS, Stop
from planted_truth import in_memory, promises
from planted_truth.in_memory import Chance, Layout
from planted_truth.promises import (
    LEVEL,
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
EQUAL, UPPER, LOWER = CONTAINERS[:3]
AT_MARGIN = {EQUAL: 1.0, UPPER: 1 + MARGIN, LOWER: 1 / (1 + MARGIN)}
# By the scatter in margins: power, and the mean number of blocks as a share of all and of as many
# as one look of the same power by plain t needs, which knew the scatter beforehand.
PROMISED = {
    1.0: (promises.at_least(0.8), promises.at_most(0.6, 0), promises.at_most(1.1, 0)),
    1.5: (promises.not_controlled(), promises.at_most(0.9, 0), promises.at_most(1.3, 0)),
}
EDGE, HALF = promises.at_most(LEVEL), promises.at_most(LEVEL / 2)
SHOWN = promises.not_controlled()
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
    counted = pairing.counted_values(dataset.metrics, excluded)
    concluded = conclusions.conclude(Engine(dataset, pairing.numbers(counted)))[0]
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
}


def _share(measured: str, promise: Promise, arm: str = EQUAL) -> Measure:
    """In how many cases something of `HAPPENED` is true of an arm."""
    happened = HAPPENED[measured]
    return frequency(
        cost(AT_MARGIN[arm]), measured, promise, lambda trials: happened(trials.compared(arm))
    )


def _blocks(of: int, whose: str, promise: Promise) -> Measure:
    """The mean number of blocks in which the arm that costs nothing was run."""

    def observe(trials: Trials) -> Observed:
        return promises.mean(trials.compared(EQUAL)["made"] / of)

    return Measure(cost(1.0), f"blocks until stopped, of {of} {whose}", promise, observe)


def _never_wrong() -> list[Measure]:
    """At the margin nothing may be concluded, at no look: one in twenty times the same."""
    return [
        each
        for arm in (UPPER, LOWER)
        for each in (
            _share("ever called the same", EDGE, arm),
            _share("ever called different", HALF, arm),
            covered(arm, AT_MARGIN[arm]),
        )
    ]


def _found(looked: Looked, power: Promise, blocks: Promise, of_once: Promise) -> list[Measure]:
    """Of an equal arm: how often it is proven, and in how many blocks; one look beside it."""
    alone = f"the same, looked at once after {looked.once}"
    return [
        _share("called the same in the end", power),
        frequency(
            cost(1.0), alone, SHOWN, lambda trials: trials.compared(EQUAL)["once"] == EQUIVALENT
        ),
        _blocks(LOOKS[-1], "in all", blocks),
        _blocks(looked.once, "of one look", of_once),
        _share("ever called different", HALF),
        _share("called the same at a look, but not in the end", SHOWN),
        covered(EQUAL, 1.0),
    ]


def sequential() -> list[Scenario]:
    """Scatter that is soon decided, that is hardly, and that never is; and a pair that differs."""
    # In as many blocks plain t of one look has the power that was seen with looks.
    return [_deciding(1.0, 22), _deciding(1.5, 27), _hopeless(), _pair_at_margin()]


def _deciding(margins: float, once: int) -> Scenario:
    """Pairs that scatter by so many margins, beside one look at so many blocks."""
    looked = Looked(margins * MARGIN, AT_MARGIN, once)
    return _scenario(
        f"looks, {margins:g} margins",
        f"the ratio of two runs of a block deviates by {margins:g} margins",
        looked,
        [*_found(looked, *PROMISED[margins]), *_never_wrong()],
    )


def _hopeless() -> Scenario:
    """Scatter of which 36 blocks decide nothing."""
    return _scenario(
        "looks, 10 margins",
        "the same, but by 10 margins, of which so many blocks decide nothing",
        Looked(10 * MARGIN, {EQUAL: 1.0}),
        [
            _share("given up", promises.at_least(0.95)),
            _blocks(LOOKS[-1], "in all", promises.at_most(0.65, 0)),
            _share("ever called the same", HALF),
            _share("ever called different", HALF),
        ],
    )


def _pair_at_margin() -> Scenario:
    """The A/A pair differs by exactly the margin: equal arms must hardly ever be found equal."""
    return _scenario(
        "looks, pair at margin",
        "by one margin; the A/A pair differs from itself by exactly the margin",
        Looked(MARGIN, {DOUBLE: 1 + MARGIN, EQUAL: 1.0}),
        [_share("ever called the same", EDGE)],
    )


def _scenario(name: str, about: str, looked: Looked, measured: list[Measure]) -> Scenario:
    size = (LOOKS[-1], MARGIN, CASES, REPLICATES)
    return Scenario(name, "looks", about, *size, measured, lambda _golden: partial(_one, looked))
