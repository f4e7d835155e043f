"""What follows from the events of runs, as cases and numbers that the rules of claims can look at.

A simulated program stands beside the benchmark whose events it meets, as a benchmark of its own
(`<benchmark>-replay`) with a case for each number of ranks and each length of a step. Its number
in a block follows from the run of that block, so blocks, pairs and gates are those of the runs.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec.structs import replace as changed

from parity.analysis.outcomes import NOT_TESTED
from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark
from parity.claims.cells import JudgingData
from parity.extensions.noise.analysis import study
from parity.extensions.noise.analysis.replay import STEPS
from parity.plan.plan import Case, Plan
from parity.records import schema

SHORT = "its runs are too short to say anything of so many ranks"
_GRID = {"ranks": {"enum": list(study.RANKS_OF_RUNS)}, "step_seconds": {"enum": list(STEPS)}}


def with_replays(known: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks, with what the analysis makes of events as metrics and benchmarks."""
    made, metrics = dict(known), (study.RETURN_LEVEL, study.MILLISECOND, study.SLOWDOWN)
    *own, slowdown = (Quantity(metric, metric, unit) for metric, unit in metrics)
    for name, benchmark in known.items():
        if benchmark.has_events:
            made[name] = _like(benchmark, metrics=(*benchmark.metrics, *own))
            parameters = {**benchmark.parameters, **_GRID}
            replayed = {"name": f"{name}-replay", "metrics": (slowdown,), "parameters": parameters}
            made[f"{name}-replay"] = _like(benchmark, **replayed)
    return made


def _like(benchmark: Benchmark, **changed: Any) -> Any:
    return type("Derived", (type(benchmark),), changed)()


def extended(data: JudgingData, folder: Path) -> JudgingData:
    """The dataset of a folder with what its analysis says of events (`event_values`)."""
    path = folder / "analysis/event_values.parquet"
    return with_events(data, schema.read(study.VALUES["event_values"], path).to_pandas())


def with_events(data: JudgingData, values: pd.DataFrame) -> JudgingData:
    """A dataset with the numbers (`event_values`) that follow from its events, and their cases."""
    told = set(values[["case", "arm"]].itertuples(index=False, name=None))
    there = {case for case, _ in told}
    derived = {name: case for name, case in _cases(data.plan).items() if name in there}
    runs = [data.dataset.runs]
    for name, (of, _) in derived.items():
        own = data.dataset.runs[data.dataset.runs["case"] == of].assign(case=name)
        silent = own["final"] & ~own["arm"].isin([arm for case, arm in told if case == name])
        silent &= own["reason"] == ""
        own.loc[silent, ["stage", "reason", "detail"]] = ("planned", NOT_TESTED, SHORT)
        runs.append(own)
    if derived:
        plan, every = _planned(data.plan, derived), pd.concat(runs, ignore_index=True)
        data = replace(data, dataset=replace(data.dataset, plan=plan, runs=every))
    if len(values):
        together = pd.concat([data.analysis.values, values], ignore_index=True)
        data = replace(data, analysis=replace(data.analysis, values=together))
    return data


def _cases(plan: Plan) -> dict[str, tuple[str, Case]]:
    """Every simulation that could be of the plan's cases, with the case that it is of."""
    made = {}
    for case, ranks, step in product(plan.cases, study.RANKS_OF_RUNS, STEPS):
        name = study.replay_case(case.name, ranks, step)
        made[name] = case.name, changed(
            case, name=name, benchmark=f"{case.benchmark}-replay", margin=None, primary=(),
            parameters=case.parameters | {"ranks": ranks, "step_seconds": step}, differences=(),
        )  # fmt: skip
    return made


def _planned(plan: Plan, derived: Mapping[str, tuple[str, Case]]) -> Plan:
    """The plan with these cases, in the blocks and arms of those that they are of."""
    pairs, blocks = [(name, of) for name, (of, _) in derived.items()], []
    for block in plan.blocks:
        every = product(block.runs, pairs)
        more = [changed(run, case=name) for run, (name, of) in every if run.case == of]
        blocks.append(changed(block, runs=(*block.runs, *more)))
    cases = (*plan.cases, *(case for _, case in derived.values()))
    return changed(plan, cases=cases, blocks=tuple(blocks))


DECLARED, EXTENDED = with_replays, extended
