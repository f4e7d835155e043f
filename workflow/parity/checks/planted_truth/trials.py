"""Replicates of a scenario, each through the whole real pipeline, and what they say together.

Planted logs are gathered, parsed, analysed and judged as real ones are.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from parity.analysis import dataset
from parity.analysis.analysis import analyse
from parity.analysis.ledger import run_stages
from parity.checks.planted_truth.acceptance import Observed
from parity.checks.planted_truth.campaign import (
    SYSTEM,
    Campaign,
    Claims,
    claims_of,
    image_records,
)
from parity.checks.planted_truth.measures import Measure, Trials
from parity.checks.planted_truth.raw_logs import Planted, plant
from parity.checks.planted_truth.scenarios import Scenario
from parity.claims.verdicts import judge
from parity.plan.plan import PLAN, write_plan
from parity.records import schema
from parity.records.dataset import parse_dataset
from parity.records.gather import gather_blocks, gather_raw
from parity.software.images import IMAGES, without_location, write_images

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
    outcome = run_pipeline(campaign, claims, golden, seed)
    return Trials(
        comparisons=outcome.comparisons.assign(
            planted=outcome.comparisons["arm"].map(campaign.effects.ratio)
        ),
        verdicts=outcome.verdicts,
        runs=len(outcome.planted.endings),
        miscounted=miscounted(outcome),
    )


@dataclass(frozen=True)
class Outcome:
    """What the pipeline made of one planted study.

    Attributes:
        comparisons: `tables.COMPARISONS` of the metric that arms are compared by.
        verdicts: one row per claim: case, says, arms, verdict.
        stages: one row per planned run: block, run, stage, reason.
        planted: what was planted.
    """

    comparisons: pd.DataFrame
    verdicts: pd.DataFrame
    stages: pd.DataFrame
    planted: Planted


def run_pipeline(campaign: Campaign, claims: Claims, golden: Path, seed: int) -> Outcome:
    """Plant a campaign, and take its logs through everything that real logs go through.

    Args:
        claims: those about the campaign.
        golden: folder of the golden outputs.
    """
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as place:
        planted = plant(campaign, golden, Path(place) / "blocks", seed)
        folder = Path(place) / "live" / planted.plan.campaign
        collect(planted, folder)
        loaded = dataset.load(folder)
    analysis = analyse(loaded)
    judged = judge(claims.register, loaded, analysis, ()).verdicts
    found = analysis.comparisons
    return Outcome(
        comparisons=found[found["metric"] == campaign.printer.metric].reset_index(drop=True),
        verdicts=_of_claims(judged, claims),
        stages=run_stages(loaded, analysis.pairs, analysis.exclusions),
        planted=planted,
    )


def collect(planted: Planted, folder: Path) -> None:
    """Gather and parse blocks into a dataset, as the rules of workflow/rules/collect.smk do."""
    records = folder / "records"
    records.mkdir(parents=True)
    write_plan(folder / PLAN, planted.plan)
    write_images(folder / IMAGES, without_location(image_records()))
    schema.write(schema.RAW, gather_raw(planted.folders), records / "raw.parquet")
    blocks = gather_blocks(planted.folders, SYSTEM)
    schema.write(schema.BLOCKS, blocks, records / "blocks.parquet")
    parse_dataset(folder, records)


def _of_claims(judged: pd.DataFrame, claims: Claims) -> pd.DataFrame:
    """The verdicts with what their claims are about."""
    rows = [
        (case, claimed.says, claimed.arms, verdict)
        for name, verdict in judged[["claim", "verdict"]].itertuples(index=False, name=None)
        for case, claimed in [claims.about[name]]
    ]
    return pd.DataFrame(rows, columns=["case", "says", "arms", "verdict"])


def miscounted(outcome: Outcome) -> int:
    """How many planned runs the ledger does not show exactly once, at their stage and reason."""
    wrong = dict(outcome.planted.endings)
    paired = _in_pairs(outcome)
    for row in outcome.stages.itertuples(index=False):
        key = (str(row.block), str(row.run))
        expected = wrong.get(key)
        if expected and expected[0] == "valid":
            expected = ("analysed", "") if key in paired else ("valid", "no-pair")
        if expected == (row.stage, row.reason):
            del wrong[key]
    return len(wrong) + max(0, len(outcome.stages) - len(outcome.planted.endings))


def _in_pairs(outcome: Outcome) -> set[tuple[str, str]]:
    """The planted valid runs that have a valid partner in their block and case."""
    plan, endings = outcome.planted.plan, outcome.planted.endings
    paired = set()
    for block in plan.blocks:
        valid: dict[str, dict[str, str]] = {}
        for run in block.runs:
            if endings[block.name, run.name][0] == "valid":
                valid.setdefault(run.case, {})[run.arm] = run.name
        for of_case in valid.values():
            if plan.reference in of_case and len(of_case) > 1:
                paired |= {(block.name, run) for run in of_case.values()}
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
