"""Many replicates of a scenario, each through the whole pipeline, and what they say together."""

from __future__ import annotations

import gc
import math
import multiprocessing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from parity.checks.planted_truth import pipeline
from parity.checks.planted_truth.acceptance import Observed
from parity.checks.planted_truth.campaign import Campaign
from parity.checks.planted_truth.claims import Claims, claims_of
from parity.checks.planted_truth.measures import Measure, Trials
from parity.checks.planted_truth.pipeline import Outcome
from parity.checks.planted_truth.scenarios import Scenario

YES, NO, TOO_FEW = "yes", "NO", "too few"


@dataclass(frozen=True)
class Result:
    """One line of the report.

    Attributes:
        scenario: its name.
    """

    scenario: str
    measure: Measure
    observed: Observed

    @property
    def holds(self) -> str:
        """Whether the promise holds: yes, no, or too few replicates to tell."""
        if self.measure.promise.refuted_by(self.observed):
            return NO
        return YES if self.measure.promise.holds_for(self.observed) else TOO_FEW


def validate(
    scenarios: Iterable[Scenario], golden: Path, seed: int, effort: float = 1.0, workers: int = 1
) -> Iterator[Result]:
    """Check every promise of every scenario; the same seed, the same results.

    Args:
        golden: folder of the golden outputs.
        effort: part of the full number of replicates.
        workers: processes that share the work; they do not change the results.
    """
    for scenario in scenarios:
        trials = make_trials(scenario, golden, seed, effort, workers)
        for measure in scenario.measures:
            yield Result(scenario.name, measure, measure.observe(trials))


def make_trials(
    scenario: Scenario, golden: Path, seed: int, effort: float = 1.0, workers: int = 1
) -> Trials:
    """All replicates of a scenario: as many planted studies as its cases need."""
    studies = math.ceil(effort * scenario.replicates / scenario.campaign.cases)
    name = int.from_bytes(scenario.name.encode(), "big")
    seeds = [
        int(np.random.SeedSequence([seed, name, number]).generate_state(1)[0])
        for number in range(studies)
    ]
    one = partial(_one, scenario.campaign, claims_of(scenario.campaign), golden)
    with _cheap_collection():
        if workers == 1:
            return _together([one(each) for each in seeds])
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            return _together(pool.map(one, seeds, chunksize=1))


@contextmanager
def _cheap_collection() -> Iterator[None]:
    """Keep all that exists now out of garbage collection.

    statsmodels collects at every adjustment for several tests, and each time would walk
    through all modules: 20 ms for every claim.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _one(campaign: Campaign, claims: Claims, golden: Path, seed: int) -> Trials:
    outcome = pipeline.run(campaign, claims, golden, seed)
    truth = outcome.comparisons["arm"].map(campaign.truth.ratio)
    return Trials(
        comparisons=outcome.comparisons.assign(truth=truth),
        verdicts=outcome.verdicts,
        runs=len(outcome.planted.endings),
        miscounted=miscounted(outcome),
    )


def miscounted(outcome: Outcome) -> int:
    """How many planned runs the ledger does not show exactly once, at their stage and reason."""
    wrong = dict(outcome.planted.endings)
    paired = _in_pairs(outcome)
    for row in outcome.stages.itertuples(index=False):
        key = (row.block, row.run)
        expected = wrong.get(key)
        if expected and expected[0] == "valid":
            expected = ("analysed", "") if key in paired else ("valid", "no-pair")
        if expected == (row.stage, row.reason):
            del wrong[key]
    return len(wrong) + max(0, len(outcome.stages) - len(outcome.planted.endings))


def _in_pairs(outcome: Outcome) -> set[tuple[str, str]]:
    """The valid runs of the story that have a valid partner in their block and case."""
    plan, endings = outcome.planted.plan, outcome.planted.endings
    paired = set()
    for block in plan.blocks:
        valid: dict[str, dict[str, str]] = {}
        for run in block["runs"]:
            if endings[block["block"], run["run"]][0] == "valid":
                valid.setdefault(run["case"], {})[run["arm"]] = run["run"]
        for of_case in valid.values():
            if plan.reference in of_case and len(of_case) > 1:
                paired |= {(block["block"], run) for run in of_case.values()}
    return paired


def _together(parts: list[Trials]) -> Trials:
    """All studies as one; cases of different studies are told apart by the study's number."""
    tables = {
        name: pd.concat(
            [getattr(part, name).assign(study=number) for number, part in enumerate(parts)],
            ignore_index=True,
        )
        for name in ("comparisons", "verdicts")
    }
    counts = {name: sum(getattr(part, name) for part in parts) for name in ("runs", "miscounted")}
    return Trials(**tables, **counts)
