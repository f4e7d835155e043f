"""Replicates of a scenario, each through the whole real pipeline, and what they say together.

Planted logs are gathered, parsed, analysed and judged as real ones are.
"""

import gc
import math
import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import pandas as pd

from parity.analysis import dataset
from parity.analysis.analysis import analyse
from parity.analysis.descriptive import run_stages
from parity.claims.cells import JudgingData
from parity.claims.register import Register
from parity.claims.verdicts import judge
from parity.plan.plan import PLAN, write_plan
from parity.records.dataset import gather_records, parse_dataset
from parity.software.images import IMAGES, without_location, write_images
from planted_truth.logs import Planted, image_records, plant
from planted_truth.promises import Measure, Observed, Trials
from planted_truth.study import SYSTEM, Campaign

YES, NO, TOO_FEW, SHOWN = "yes", "NO", "too few", "–"
E = TypeVar("E")


@dataclass(frozen=True)
class Result:
    """One line of the report, of the scenario of that name; and what the rule before gave."""

    scenario: str
    measure: Measure
    observed: Observed
    before: Observed | None = None

    @property
    def holds(self) -> str:
        """Whether the promise holds: yes, no, or too few replicates to tell; a dash for none."""
        if not self.measure.promise.is_kept:
            return SHOWN
        if self.measure.promise.refuted_by(self.observed):
            return NO
        return YES if self.measure.promise.holds_for(self.observed) else TOO_FEW


@dataclass(frozen=True)
class Scenario:
    """What is planted, and what is promised of it."""

    name: str  # part of its seed
    part: str  # of the report: `logs`, `rules`, `comparisons`, `hazards` or `looks`
    about: str  # what is planted, in words
    blocks: int  # of each study
    margin: float | None  # of what is claimed; None if that has none
    cases: int  # replicates of one study
    replicates: int  # of a full validation
    measures: Sequence[Measure]
    trial: Callable[[], Callable[[int, int], Trials]]  # makes one study of its number and seed


def entries(module: str, kind: type[E]) -> E:
    """What stands in the YAML file beside a module, in the order of the report."""
    return msgspec.yaml.decode(Path(module).with_suffix(".yaml").read_bytes(), type=kind)


def validate(
    scenarios: Iterable[Scenario], seed: int, effort: float = 1.0, workers: int = 1
) -> Iterator[Result]:
    """Check every promise of every scenario; the same seed, the same results.

    `effort`: part of the full number of replicates. `workers`: processes that share the work; they
    do not change the results.
    """
    for scenario in scenarios:
        trials = make_trials(scenario, seed, effort, workers)
        for measure in scenario.measures:
            before = measure.before and measure.before(trials)
            yield Result(scenario.name, measure, measure.observe(trials), before)


def _set_signals() -> None:
    """What ends a process of the pool: not Ctrl-C, which is for us, but the pool at its end.

    Who imported Snakemake handles SIGTERM otherwise, and the pool waits for ever for its processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def make_trials(scenario: Scenario, seed: int, effort: float = 1.0, workers: int = 1) -> Trials:
    """All replicates of a scenario: as many planted studies as its cases need."""
    studies = range(math.ceil(effort * scenario.replicates / scenario.cases))
    name = int.from_bytes(scenario.name.encode(), "big")
    sequences = (np.random.SeedSequence([seed, name, number]) for number in studies)
    numbered = list(enumerate(int(each.generate_state(1)[0]) for each in sequences))
    one = scenario.trial()
    # statsmodels collects garbage at every adjustment for several tests, and each time would
    # walk through all modules: 20 ms for every claim.
    gc.freeze()
    try:
        if workers == 1:
            parts = [one(*each) for each in numbered]
        else:
            with multiprocessing.get_context("fork").Pool(workers, _set_signals) as pool:
                parts = pool.starmap(one, numbered, chunksize=1)
    finally:
        gc.unfreeze()
    together = {each.name: [getattr(part, each.name) for part in parts] for each in fields(Trials)}
    return Trials(**{
        name: sum(found) if isinstance(found[0], int) else pd.concat(found, ignore_index=True)
        for name, found in together.items()
    })  # fmt: skip


def one_of_logs(
    campaign: Campaign, claims: tuple[Register, pd.DataFrame], number: int, seed: int
) -> Trials:
    """One study from its raw logs; its number tells its cases from those of the others."""
    outcome = run_pipeline(campaign, claims, seed)
    planted = outcome.comparisons["arm"].map(campaign.ratio)
    return Trials(
        comparisons=outcome.comparisons.assign(planted=planted, study=number),
        verdicts=outcome.verdicts.assign(study=number),
        runs=len(outcome.planted.endings),
        miscounted=miscounted(outcome),
    )


@dataclass(frozen=True)
class Outcome:
    """What the pipeline made of one planted study."""

    comparisons: pd.DataFrame  # `tables.CONCLUSIONS` of the metric that arms are compared by
    verdicts: pd.DataFrame  # one row per claim: claim, verdict, case, says, arms
    stages: pd.DataFrame  # one row per planned run: block, run, stage, reason
    planted: Planted


def run_pipeline(campaign: Campaign, claims: tuple[Register, pd.DataFrame], seed: int) -> Outcome:
    """Plant a campaign, and take its logs through everything that real logs go through."""
    with tempfile.TemporaryDirectory(prefix="parity-planted-") as place:
        planted = plant(campaign, Path(place) / "blocks", seed)
        folder = Path(place) / "live" / planted.plan.campaign
        collect(planted, folder)
        loaded = dataset.load(folder)
    analysis, (register, about) = analyse(loaded), claims
    judged = judge(register, [JudgingData(loaded, analysis)], ()).verdicts
    compared = analysis.comparisons
    return Outcome(
        comparisons=compared[compared["metric"] == campaign.printer.metric],
        verdicts=judged[["claim", "verdict"]].merge(about, on="claim"),
        stages=run_stages(loaded, analysis.pairs, analysis.exclusions),
        planted=planted,
    )


def collect(planted: Planted, folder: Path) -> None:
    """Gather and parse blocks into a dataset, as the rules of workflow/rules/collect.smk do."""
    records = folder / "records"
    records.mkdir(parents=True)
    write_plan(folder / PLAN, planted.plan)
    write_images(folder / IMAGES, without_location(image_records()))
    gather_records(planted.folders, SYSTEM, records)
    parse_dataset(folder, records)


def miscounted(outcome: Outcome) -> int:
    """How many planned runs the ledger does not show exactly once, at their stage and reason."""
    plan, expected = outcome.planted.plan, dict(outcome.planted.endings)
    runs = [(block.name, run) for block in plan.blocks for run in block.runs]
    valid = {
        (block, run.case, run.arm) for block, run in runs if expected[block, run.name][0] == "valid"
    }

    def is_compared(block: str, case: str, arm: str) -> bool:
        # With each native that it shares a block with; of the reference, one arm has to be.
        if arm == plan.reference:
            return any(is_compared(block, case, other) for other in plan.arms if other != arm)
        natives = [
            native for native in plan.aa_pair if native != arm
            and any({(each.name, case, arm), (each.name, case, native)} <= valid
                    for each in plan.blocks)
        ]  # fmt: skip
        held = {(block, case, each) for each in (arm, *natives)}
        return bool(natives) and held <= valid

    for block, run in runs:
        if (block, run.case, run.arm) in valid:
            is_paired = is_compared(block, run.case, run.arm)
            expected[block, run.name] = ("analysed", "") if is_paired else ("valid", "no-pair")
    stages = outcome.stages[["block", "run", "stage", "reason"]]
    shown = set(stages.itertuples(index=False, name=None))
    wrong = [run for run, ending in expected.items() if (*run, *ending) not in shown]
    return len(wrong) + max(0, len(stages) - len(expected))
