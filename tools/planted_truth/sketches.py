"""Scenarios in memory: one claim, and what it must and must not become under several truths.

Each replicate of each truth is a case of its own, or a row of cases where the claim is about
several levels of a factor. The analysis and the verdicts are the real ones.
"""

from functools import partial
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from parity.claims.cells import JudgingData
from parity.claims.register import Register
from parity.claims.verdicts import judge
from parity.core.documents import Document
from planted_truth import in_memory, promises
from planted_truth.in_memory import BENCHMARK, TIME, Chance, Layout
from planted_truth.promises import LEVEL, Measure, Promise, Trials, frequency
from planted_truth.study import entry, register_of
from planted_truth.trials import Scenario, entries

BATCH = 8  # replicates that are analysed together
RATIO, ADDED, SHARE, ENDED = "ratio", "added", "share", "ended"
METRICS = {RATIO: TIME, ADDED: ("used", "MiB", "lower"), SHARE: ("seen", "1", "neither"),
           ENDED: TIME}  # fmt: skip
_CENTRE = 100.0
# What a claim may become, and how often. The slack is what an interval of 400 replicates may
# reach beyond a rate that may lie at its limit, or at zero.
PROMISES = {
    "never": promises.at_most(0, slack=0.015),
    "edge": promises.at_most(LEVEL, slack=0.03),
    # The power that designs are usually made for (Cohen, Statistical Power Analysis, 1988).
    "often": promises.at_least(0.8),
    "always": promises.at_least(0.95),
    "not-controlled": promises.NOT_CONTROLLED,
}


class Truth(Document, frozen=True):
    """What is true, and what the claim may become then."""

    planted: str  # the truth in words; unique within a scenario
    promises: dict[str, str]  # by verdict a name of `PROMISES`
    # By arm, at each level or at all: the ratio to the reference, what is added to it, the share of
    # runs in which something happens, or that give no number; nothing for other arms.
    costs: dict[str, float | tuple[float, ...]] = msgspec.field(default_factory=dict)
    chance: Chance = Chance()


class Sketch(Document, frozen=True):
    """One claim under several truths; an entry of `sketches.yaml`."""

    name: str
    part: str  # of the report
    about: str  # the design in words, for the report
    test: dict[str, Any]  # the claim's rule with its options
    arms: tuple[str, ...]  # those that it is about; each beside the A/A pair
    truths: tuple[Truth, ...]
    blocks: int = 20
    present: tuple[str, ...] = ()  # further arms of the study
    along: str = "level"  # the factor, if there is one
    levels: tuple[int | str, ...] = (1,)
    nodes: int = 1
    cost: str = RATIO  # how `Truth.costs` are meant
    ending: str = "timeout"  # of `in_memory.ENDINGS`, of the runs without a number
    control: str = ""  # the arm whose cells have to show the opposite, if one has to
    # Of each truth, in a full validation; more where a rate may truly lie at its limit, which a
    # wide interval cannot show.
    replicates: int = 400
    published: str = ""  # line of config/published/claims.csv that the rule refers to

    def scenario(self) -> Scenario:
        percent = self.test.get("margin_percent")
        measures = [
            self._measure(number, verdict, PROMISES[word])
            for number, truth in enumerate(self.truths)
            for verdict, word in truth.promises.items()
        ]
        size = (self.blocks, None if percent is None else percent / 100, BATCH, self.replicates)
        return Scenario(self.name, self.part, self.about, *size, measures,
                        lambda: partial(_one, self, self._register()))  # fmt: skip

    @property
    def layout(self) -> Layout:
        every = product(range(len(self.truths)), range(BATCH), enumerate(self.levels))
        parameters = {
            f"{truth}-{replicate}-{place}": {
                "truth": truth, "replicate": replicate, self.along: level,
            }
            for truth, replicate, (place, level) in every
        }  # fmt: skip
        node_of = tuple(number % self.nodes for number in range(self.blocks))
        # At which the study compares, and its A/A pair must not differ.
        margin = 0.01 if self.cost == RATIO else None
        arms, metric = (*self.arms, *self.present), METRICS[self.cost]
        return Layout(parameters, arms, node_of, margin, metric, self.ending)

    def _measure(self, number: int, verdict: str, promise: Promise) -> Measure:
        def has_ended_so(trials: Trials) -> pd.Series:
            return trials.verdicts.loc[trials.verdicts["says"] == str(number), "verdict"] == verdict

        measured = f"{self.test['rule']} {verdict}"
        return frequency(self.truths[number].planted, measured, promise, has_ended_so)

    def _register(self) -> Register:
        """A claim for each replicate of each truth, each of a study and so a family of its own."""
        claims, published = [], []
        for truth, replicate in product(range(len(self.truths)), range(BATCH)):
            name, study = f"t{truth}-{replicate}", f"s{truth}-{replicate}"
            cells = {"benchmark": BENCHMARK, "metric": METRICS[self.cost][0],
                     "parameters": {"truth": truth, "replicate": replicate}}  # fmt: skip
            test = {**self.test, "cells": {**cells, "arms": list(self.arms)}}
            control = {"control": {**cells, "arms": [self.control]}} if self.control else {}
            claims.append(entry(name, study, test | control))
            published.append(self.published.format(claim=name, study=study))
        return register_of(claims, [line for line in published if line])

    def values(self, truth: Truth, random: np.random.Generator) -> np.ndarray:
        """What the runs of a truth give, in the shape (replicates, levels, blocks, arms)."""
        layout = self.layout
        costs = np.full((len(self.levels), len(layout.all_arms)), float(self.cost == RATIO))
        for arm, cost in truth.costs.items():
            costs[:, layout.all_arms.index(arm)] = cost
        if self.cost in (SHARE, ENDED):
            shape = (BATCH, len(self.levels), self.blocks, costs.shape[1])
            happens = (random.random(shape) < costs[:, None]).astype(float)
            return happens if self.cost == SHARE else np.where(happens, np.nan, 1.0)
        planted = np.log(costs) if self.cost == RATIO else costs
        drawn = truth.chance.draw(random, planted, layout.nodes, layout.all_arms, BATCH)
        return np.asarray(_CENTRE * np.exp(drawn) if self.cost == RATIO else _CENTRE + drawn)


def _one(sketch: Sketch, register: Register, number: int, seed: int) -> Trials:
    """One study, all truths beside each other; its number tells it from others."""
    random = np.random.default_rng(seed)
    # From (truths, replicates, levels, blocks, arms) to (blocks, cases, arms).
    values = np.stack([sketch.values(truth, random) for truth in sketch.truths])
    values = values.reshape(-1, *values.shape[3:]).transpose(1, 0, 2)
    made = in_memory.dataset(sketch.layout, values)
    judged = judge(register, [JudgingData(made, in_memory.analysed(made))], ()).verdicts
    truth, replicate = (judged["claim"].str.removeprefix("t").str.split("-").str[n] for n in (0, 1))
    known = {"study": number, "case": replicate, "says": truth, "verdict": judged["verdict"]}
    return Trials(verdicts=pd.DataFrame(known))


def sketches() -> list[Sketch]:
    return entries(__file__, list[Sketch])
