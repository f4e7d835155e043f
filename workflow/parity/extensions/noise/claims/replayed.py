"""What follows from the events of runs, as cases and numbers that the rules of claims can look at.

A simulated program stands beside the benchmark whose events it meets, as a benchmark of its own
(`<benchmark>-replay`) with a case for each number of ranks and each length of a step. Its number
in a block follows from the run of that block, so blocks, pairs and gates are those of the runs.
Where a native run is long enough, an arm of its own (`injected-noise`) meets events of a told
length besides, in cases of `noise-replay`.
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
NOISE_REPLAY = "noise-replay"
_GRID = {"ranks": {"enum": list(study.RANKS_OF_RUNS)}, "step_seconds": {"enum": list(STEPS)}}
_INJECTED = {"events_per_second": {"enum": [study.INJECTED_PER_SECOND]},
             "duration_us": {"enum": list(study.INJECTED_US)}}  # fmt: skip


def with_replays(known: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks, with what the analysis makes of events as metrics and benchmarks."""
    made, metrics = dict(known), (study.RETURN_LEVEL, study.MILLISECOND, study.SLOWDOWN)
    *own, slowdown = (Quantity(metric, metric, unit) for metric, unit in metrics)
    step_time = Quantity(study.STEP_TIME[0], "time of a step", study.STEP_TIME[1])
    for name, benchmark in known.items():
        if benchmark.has_events:
            made[name] = _like(benchmark, metrics=(*benchmark.metrics, *own))
            parameters = {**benchmark.parameters, **_GRID}
            replayed = {"name": f"{name}-replay", "metrics": (slowdown,), "parameters": parameters}
            made[f"{name}-replay"] = _like(benchmark, **replayed)
            injected = {"metrics": (step_time,), "parameters": {**parameters, **_INJECTED}}
            made.setdefault(NOISE_REPLAY, _like(benchmark, name=NOISE_REPLAY, **injected))
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
    for name, (of, simulated) in derived.items():
        every = data.dataset.runs[data.dataset.runs["case"] == of].assign(case=name)
        own = pd.concat([
            every[every["arm"] == source].assign(arm=arm)
            for arm, source in _sources(data.plan, simulated).items()
        ])  # fmt: skip
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


def _sources(plan: Plan, case: Case) -> dict[str, str]:
    """The arms of a simulation, each with the one whose runs it is made of."""
    if case.benchmark == NOISE_REPLAY:
        return {arm: arm for arm in plan.aa_pair} | {study.INJECTED: plan.reference}
    return {arm: arm for arm in plan.arms}


def _cases(plan: Plan) -> dict[str, tuple[str, Case]]:
    """Every simulation that could be of the plan's cases, with the case that it is of."""
    made = {}
    for case, ranks, step in product(plan.cases, study.RANKS_OF_RUNS, STEPS):
        said = case.parameters | {"ranks": ranks, "step_seconds": step}
        known = [(study.replay_case(case.name, ranks, step), f"{case.benchmark}-replay", said)]
        for us in study.INJECTED_US:
            name = study.injected_case(case.name, ranks, step, us)
            met = {"events_per_second": study.INJECTED_PER_SECOND, "duration_us": us}
            known.append((name, NOISE_REPLAY, said | met))
        for name, benchmark, parameters in known:
            made[name] = case.name, changed(
                case, name=name, benchmark=benchmark, margin=None, primary=(),
                parameters=parameters, differences=(),
            )  # fmt: skip
    return made


def _planned(plan: Plan, derived: Mapping[str, tuple[str, Case]]) -> Plan:
    """The plan with these cases, in the blocks and arms of those that they are of."""
    made_of = [(case, of, _sources(plan, case)) for of, case in derived.values()]
    blocks = [
        changed(block, runs=(*block.runs, *(
            changed(run, case=case.name, arm=arm)
            for run in block.runs for case, of, sources in made_of if run.case == of
            for arm, source in sources.items() if run.arm == source
        )))
        for block in plan.blocks
    ]  # fmt: skip
    cases = (*plan.cases, *(case for _, case in derived.values()))
    if any(study.INJECTED in sources for *_, sources in made_of):
        plan = changed(
            plan, arms=(*plan.arms, study.INJECTED),
            arm_titles=plan.arm_titles | {study.INJECTED: "Injected noise"},
            arm_runtimes=plan.arm_runtimes | {study.INJECTED: plan.arm_runtimes[plan.reference]},
        )  # fmt: skip
    return changed(plan, cases=cases, blocks=tuple(blocks))


DECLARED, EXTENDED, ARMS = with_replays, extended, (study.INJECTED,)
