"""Scenarios in memory: one claim, and what it must and must not become under several truths.

Each replicate of each truth is a case of its own, or a row of cases where the claim is about
several levels of a factor. The analysis and the verdicts are the real ones.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from parity.analysis import conclusions, evidence, tables
from parity.analysis.analysis import Analysis
from parity.analysis.contrast import Engine
from parity.analysis.dataset import Dataset
from parity.claims.cells import JudgingData
from parity.claims.register import Register
from parity.claims.verdicts import judge
from parity.core.documents import Document
from planted_truth import in_memory, promises
from planted_truth.in_memory import BENCHMARK, Chance, Layout, Metric
from planted_truth.promises import LEVEL, Measure, Promise, Trials, frequency
from planted_truth.study import entry, register_of
from planted_truth.trials import Scenario

# Replicates that are analysed together.
BATCH = 8
RATIO, ADDED, SHARE, ENDED = "ratio", "added", "share", "ended"
_CENTRE = 100.0
# What a claim may become, and how often. The slack is what an interval of 400 replicates may
# reach beyond a rate that may lie at its limit, or at zero.
PROMISES = {
    "never": promises.never(slack=0.015),
    "edge": promises.at_most(LEVEL, slack=0.03),
    # The power that designs are usually made for (Cohen, Statistical Power Analysis, 1988).
    "often": promises.at_least(0.8),
    "always": promises.at_least(0.95),
    "not-controlled": promises.not_controlled(),
}


class Truth(Document, frozen=True):
    """What is true, and what the claim may become then.

    Attributes:
        planted: the truth in words; unique within a scenario.
        promises: by verdict a name of `PROMISES`.
        costs: by arm, at each level or at all: the ratio to the reference, what is added to
            it, the share of runs in which something happens (`share`), or that give no number
            (`ended`); nothing for other arms.
    """

    planted: str
    promises: dict[str, str]
    costs: dict[str, float | tuple[float, ...]] = msgspec.field(default_factory=dict)
    chance: Chance = Chance()


class Sketch(Document, frozen=True):
    """One claim under several truths; an entry of `sketches.yaml`.

    Attributes:
        part: of the report.
        about: the design in words, for the report.
        test: the claim's rule with its options.
        arms: those that it is about; each beside the A/A pair.
        present: further arms of the study.
        along: the factor, if there is one.
        planned_margin: at which the study compares, and its A/A pair must not differ.
        cost: how `Truth.costs` are meant.
        ending: of `in_memory.ENDINGS`, of the runs without a number.
        control: the arm whose cells have to show the opposite, if one has to.
        replicates: of each truth, in a full validation; more where a rate may truly lie at its
            limit, which a wide interval cannot show.
        published: line of config/published/claims.csv that the rule refers to.
    """

    name: str
    part: str
    about: str
    test: dict[str, Any]
    arms: tuple[str, ...]
    truths: tuple[Truth, ...]
    blocks: int = 20
    present: tuple[str, ...] = ()
    along: str = "level"
    levels: tuple[int | str, ...] = (1,)
    nodes: int = 1
    planned_margin: float = 0.01
    cost: str = RATIO
    ending: str = "timeout"
    control: str = ""
    replicates: int = 400
    published: str = ""

    def scenario(self) -> Scenario:
        """With a measure for each promise."""
        percent = self.test.get("margin_percent")
        return Scenario(
            name=self.name,
            part=self.part,
            about=self.about,
            blocks=self.blocks,
            margin=None if percent is None else percent / 100,
            cases=BATCH,
            replicates=self.replicates,
            measures=[
                self._measure(number, verdict, PROMISES[word])
                for number, truth in enumerate(self.truths)
                for verdict, word in truth.promises.items()
            ],
            trial=lambda _golden: partial(_one, self, self._register()),
        )

    @property
    def layout(self) -> Layout:
        """The study of one batch."""
        parameters = {
            f"{truth}-{replicate}-{place}": {
                "truth": truth, "replicate": replicate, self.along: level,
            }
            for truth in range(len(self.truths))
            for replicate in range(BATCH)
            for place, level in enumerate(self.levels)
        }  # fmt: skip
        node_of = tuple(number % self.nodes for number in range(self.blocks))
        metric = {
            RATIO: Metric(),
            ADDED: Metric("used", "MiB"),
            SHARE: Metric("seen", "1", "neither"),
            ENDED: Metric(),
        }[self.cost]
        margin = self.planned_margin if self.cost == RATIO else None
        arms = (*self.arms, *self.present)
        return Layout(parameters, arms, node_of, margin, metric, self.ending)

    def _measure(self, number: int, verdict: str, promise: Promise) -> Measure:
        truth, key = self.truths[number], str(number)

        def has_ended_so(trials: Trials) -> pd.Series:
            return trials.verdicts.loc[trials.verdicts["says"] == key, "verdict"] == verdict

        measured = f"{self.test['rule']} {verdict}"
        return frequency(truth.planted, measured, promise, has_ended_so)

    def _register(self) -> Register:
        """A claim for each replicate of each truth, each of a study and so a family of its own."""
        numbers = [(truth, each) for truth in range(len(self.truths)) for each in range(BATCH)]
        published = [
            self.published.format(claim=f"t{truth}-{replicate}", study=f"s{truth}-{replicate}")
            for truth, replicate in numbers
            if self.published
        ]
        entries = [
            entry(f"t{truth}-{replicate}", f"s{truth}-{replicate}", self._test(truth, replicate))
            for truth, replicate in numbers
        ]
        return register_of(entries, published)

    def _test(self, truth: int, replicate: int) -> dict[str, Any]:
        """The claim's rule about the cells of one replicate."""
        cells = {
            "benchmark": BENCHMARK,
            "metric": self.layout.metric.name,
            "parameters": {"truth": truth, "replicate": replicate},
        }
        test = {**self.test, "cells": {**cells, "arms": list(self.arms)}}
        return test | ({"control": {**cells, "arms": [self.control]}} if self.control else {})

    def costs(self, truth: Truth) -> np.ndarray:
        """The costs in the shape (levels, arms)."""
        nothing = 1.0 if self.cost == RATIO else 0.0
        made = np.full((len(self.levels), len(self.layout.all_arms)), nothing)
        for arm, cost in truth.costs.items():
            made[:, self.layout.all_arms.index(arm)] = cost
        return made

    def values(self, truth: Truth, random: np.random.Generator) -> np.ndarray:
        """What the runs of a truth give, in the shape (replicates, levels, blocks, arms)."""
        layout, costs = self.layout, self.costs(truth)
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
    judged = judge(register, [JudgingData(*judging(sketch.layout, values))], ()).verdicts
    says = judged["claim"].str.removeprefix("t").str.split("-")
    verdicts = pd.DataFrame(
        {"study": number, "case": says.str[1], "says": says.str[0], "verdict": judged["verdict"]}
    )
    return Trials(verdicts=verdicts)


def judging(layout: Layout, values: np.ndarray) -> tuple[Dataset, Analysis]:
    """The dataset, and as much of its analysis as verdicts rest on."""
    dataset = in_memory.dataset(layout, values)
    nothing = {name: tables.frame(table, []) for name, table in tables.TABLES.items()}
    counted = evidence.counted_values(dataset.metrics, nothing["exclusions"])
    concluded, pairs = conclusions.conclude(Engine(dataset, evidence.numbers(counted)))
    known = nothing | {"values": counted, "conclusions": concluded, "pairs": pairs}
    return dataset, Analysis(**known)


def sketches() -> list[Sketch]:
    """All of them, in the order of the report."""
    return msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes(), type=list[Sketch])
