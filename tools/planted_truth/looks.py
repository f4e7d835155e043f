"""Studies with looks: measured in stages, each look stopping what is decided.

The numbers are planted in the tables of the records. At each look the real analysis sees the
blocks so far, and what it stops has no numbers in the blocks after it, as the runner would leave
them. Each case is a replicate of its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
import pandas as pd

from parity.analysis import conclusions
from parity.analysis.looks import stops, waiting
from parity.analysis.outcomes import DIFFERENT, EQUIVALENT
from parity.core.documents import Document
from parity.plan.looks import OUT_OF_TIME, Stop
from planted_truth import in_memory, promises
from planted_truth.in_memory import Chance, Layout
from planted_truth.promises import Measure, Trials, cost, covered, frequency
from planted_truth.study import CONTAINERS, DOUBLE
from planted_truth.trials import Scenario, entries

# Each look has nearly half as many blocks again as the one before it.
LOOKS = (6, 9, 13, 18, 25, 36)
MARGIN = 0.01
ARMS = dict(zip(("equal", "upper", "lower"), CONTAINERS, strict=False)) | {"double": DOUBLE}
CASES, REPLICATES = 20, 600  # replicates that are analysed together, and all
# What may happen to an arm, by what it is called in the report.
HAPPENED: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "called the same in the end": lambda at: at["outcome"] == EQUIVALENT,
    "called the same at a look, but not in the end": (
        lambda at: at["ever_equivalent"] & (at["outcome"] != EQUIVALENT)
    ),
    "ever called the same": lambda at: at["ever_equivalent"],
    "ever called different": lambda at: at["ever_different"],
    "run in every block": lambda at: at["stopped"] == "",
    "once": lambda at: at["once"] == EQUIVALENT,
}


def walked(layout: Layout, values: np.ndarray, time: float = math.inf) -> pd.DataFrame:
    """The comparisons of all blocks in the end, after every look has stopped what it stops.

    They are `tables.CONCLUSIONS`, and of each of them whether it was `ever_equivalent` or
    `ever_different` at a look, how many blocks were `made`, and why it was `stopped`.

    Args:
        values: what runs would give if none was stopped, in the shape (blocks, cases, arms).
        time: for how many of all these runs there is time. Then cases wait for each other.
    """
    cases, arms = list(layout.parameters), layout.all_arms
    measured, reasons = values.copy(), np.full(values.shape, "", dtype=object)
    stopped: tuple[Stop, ...] = ()
    at_looks: list[pd.Series] = []
    left, seconds = time * values.size, dict.fromkeys(product(cases, arms), 1.0)

    def leave(stop: Stop, blocks: slice) -> None:
        # What was stopped before has its reason already, from its own look on.
        place = blocks, cases.index(stop.case), arms.index(stop.arm)
        reasons[place], measured[place] = stop.reason, np.nan

    for look, following in pairwise((*layout.looks, len(values))):
        dataset = in_memory.dataset(layout, measured[:look], reasons[:look])
        table = in_memory.analysed(dataset).comparisons
        at_looks.append(table.set_index(["case", "arm"])["outcome"])
        compared = conclusions.of_table(table)
        stopped = stops(dataset.plan, compared, stopped)
        for stop in stopped:
            leave(stop, slice(look, None))
        if math.isinf(time):
            continue
        stage, room = following - look, left - (reasons[:look] == "").sum()
        for stop in waiting(dataset.plan, stage, compared, stopped, seconds, room):
            leave(stop, slice(look, following))
        for block in range(look, following):
            if (reasons[: block + 1] == "").sum() > left:
                reasons[block][reasons[block] == ""], measured[block] = OUT_OF_TIME, np.nan
    outcomes, made = pd.concat(at_looks, axis=1), (reasons == "").sum(axis=0)
    why = {(stop.case, stop.arm): stop.reason for stop in stopped}
    keys = list(zip(table["case"], table["arm"], strict=True))
    return table.assign(
        ever_equivalent=(outcomes == EQUIVALENT).any(axis=1).loc[keys].to_numpy(),
        ever_different=(outcomes == DIFFERENT).any(axis=1).loc[keys].to_numpy(),
        made=[int(made[cases.index(case), arms.index(arm)]) for case, arm in keys],
        stopped=[why.get(key, "") for key in keys],
    )


class Counted(Document, frozen=True):
    what: str  # a word of `HAPPENED`, `covered`, `blocks in all` or `blocks of one look`
    arm: str = "equal"
    # What is promised of it; without either it is only shown.
    at_most: float | None = None
    at_least: float | None = None
    slack: float = 0.02

    def measure(self, ratio: float, once: int) -> Measure:
        """What is counted and promised of an arm of that cost; `once`: blocks of one look."""
        arm, promise, words = ARMS[self.arm], promises.NOT_CONTROLLED, self.what
        if self.at_most is not None:
            promise = promises.at_most(self.at_most, self.slack)
        elif self.at_least is not None:
            promise = promises.at_least(self.at_least)
        if words == "covered":
            return covered(arm, ratio)
        if words.startswith("blocks "):
            of, which = (LOOKS[-1], "in all") if words == "blocks in all" else (once, "of one look")
            words = f"blocks until stopped, of {of} {which}"
            return Measure(
                cost(ratio), words, promise,
                lambda trials: promises.mean(trials.compared(arm)["made"] / of),
            )  # fmt: skip
        words = f"the same, looked at once after {once}" if words == "once" else words
        happened = HAPPENED[self.what]
        return frequency(cost(ratio), words, promise, lambda trials: happened(trials.compared(arm)))


class LookScenario(Document, frozen=True):
    """An entry of `looks.yaml`."""

    name: str
    about: str
    deviation: float  # standard deviation of the log ratio of two runs of a block
    ratios: dict[str, float]  # the true cost of each arm, by words of `ARMS`
    counted: tuple[Counted, ...]
    once: int = LOOKS[-1]  # how many blocks a study has that is looked at once, beside it
    time: float = math.inf  # for which part of all runs there is time

    def scenario(self) -> Scenario:
        measures = [each.measure(self.ratios[each.arm], self.once) for each in self.counted]
        size = (LOOKS[-1], MARGIN, CASES, REPLICATES)
        return Scenario(
            self.name, "looks", self.about, *size, measures, lambda: partial(_one, self)
        )


def _one(planted: LookScenario, number: int, seed: int) -> Trials:
    """One study with looks, and the same numbers looked at once; its number tells its cases."""
    costs = {ARMS[arm]: ratio for arm, ratio in planted.ratios.items()}
    parameters = {f"case-{place}": {"replicate": place} for place in range(CASES)}
    others = tuple(arm for arm in costs if arm != DOUBLE)
    # All blocks are on one node.
    layout = Layout(parameters, others, (0,) * LOOKS[-1], MARGIN, looks=LOOKS)
    logs = np.log([[costs.get(arm, 1.0) for arm in layout.all_arms]] * CASES)
    chance, random = Chance(run=planted.deviation / math.sqrt(2)), np.random.default_rng(seed)
    drawn = chance.draw(random, logs, layout.nodes, layout.all_arms, 1)[0]
    values = 100 * np.exp(drawn).transpose(1, 0, 2)
    simple = replace(layout, looks=(), nodes=layout.nodes[: planted.once])
    once = in_memory.analysed(in_memory.dataset(simple, values[: planted.once])).comparisons
    once = once.rename(columns={"outcome": "once"})[["case", "arm", "once"]]
    found = walked(layout, values, planted.time).merge(once, on=["case", "arm"])
    ratios = found["arm"].map(lambda arm: costs.get(arm, 1.0))
    return Trials(comparisons=found.assign(planted=ratios, study=number))


def sequential() -> list[Scenario]:
    """Scatter that is soon decided, that is hardly, and that never is; and a pair that differs."""
    return [entry.scenario() for entry in entries(__file__, list[LookScenario])]
