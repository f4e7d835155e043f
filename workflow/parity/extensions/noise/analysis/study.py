"""The tables of noise of one dataset, from its plan, the numbers that count, and its events."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import tables
from parity.analysis.methods import resampled
from parity.extensions.noise.analysis import durations, replay
from parity.extensions.noise.analysis.durations import Key, Window, interrupted, parts_of
from parity.plan.plan import PLAN, read_plan
from parity.records import events, schema
from parity.records.events import LOOKED, PERIOD, QUOTA

# What the events of one run give, with its unit; less is better.
RETURN_LEVEL, SLOWDOWN = ("duration_return_level", "s"), ("slowdown", "1")
MILLISECOND = ("millisecond_detours_per_second", "1/s")
RANKS_OF_RUNS = replay.RANKS[::5]  # simulated for each run by itself, too, for claims to compare
# The same with events of a told length besides, once a second, where that is often in a run.
INJECTED, STEP_TIME = "injected-noise", ("time", "s")
INJECTED_US, INJECTED_PER_SECOND, LONG_SECONDS = (10, 100, 2000, 10000), 1, 10
VALUES = schema.tables_beside(__file__)
SHOWN = schema.tables_beside(str(Path(__file__).parents[1] / "report/tables.py"))


@dataclass(frozen=True)
class _Recorded:
    """What a dataset holds of one case: its runs by arm and block, and where their events are."""

    case: str
    runs: pd.DataFrame  # sorted; of each its id (`run`), and its numbers by metric
    folder: Path

    def blocks(self, arm: str) -> list[str]:
        return [block for of_arm, block in self.runs.index if of_arm == arm]

    def windows(self, arm: str, block: str) -> list[Window]:
        seconds: Any = self.runs.at[(arm, block), LOOKED]
        return durations.split(block, seconds, *events.of_run(self.folder, self.case, arm, block))

    def keys(self) -> list[Key]:
        """The windows of all arms, each once."""
        looked = zip(self.runs.index, self.runs[LOOKED], strict=True)
        return sorted({(block, part) for (_, block), s in looked for part in range(parts_of(s))})

    def value(
        self, case: str, arm: str, block: str, metric: tuple[str, str], value: float
    ) -> dict[str, Any]:
        """A row of `event_values`."""
        return {
            "case": case, "metric": metric[0], "arm": arm, "block": block,
            "run": self.runs.at[(arm, block), "run"], "value": value, "unit": metric[1],
            "better": "lower",
        }  # fmt: skip


def shown(dataset: Path, recorded: Path) -> dict[str, pd.DataFrame]:
    """The tables that are shown of the folder of an analysed dataset (room `report`), by name.

    `recorded`: the folder that `write_events` wrote. Raises UserError: no plan, or a broken one.
    """
    plan = read_plan(dataset / PLAN)
    nodes = schema.read(schema.NODES, dataset / "records/nodes.parquet").to_pandas()
    ticks = {float(hz) for hz in nodes.loc[nodes["fact"] == "config_hz", "value"] if hz}
    hz = ticks.pop() if len(ticks) == 1 else None  # nodes that differ have no tick in common
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in SHOWN}
    for case in _recorded(dataset, recorded):
        keys, found = case.keys(), dict[str, durations.Quantiles]()
        place_of, often = {key: place for place, key in enumerate(keys)}, resampled(len(keys))
        # The events of one arm are in memory at a time.
        for arm in (arm for arm in plan.arms if case.blocks(arm)):
            names = {"case": case.case, "arm": arm}
            windows = [each for block in case.blocks(arm) for each in case.windows(arm, block)]
            found[arm] = durations.quantiles(windows, place_of, often)
            made["return_levels"].append(names | durations.return_level(windows))
            if limit := _limit(case, arm):
                made["quota_law"].append(names | durations.quota_law(windows, *limit, hz))
            for step in replay.STEPS:
                delays = replay.delays(windows, step)
                made["replay"] += [names | row for row in replay.replay(windows, delays)]
        for arm, of_arm in found.items():
            reference = None if arm == plan.reference else found.get(plan.reference)
            rows = of_arm.beside(reference, len(keys))
            made["quantiles"] += [{"case": case.case, "arm": arm} | row for row in rows]
    return {name: tables.frame(SHOWN[name], rows) for name, rows in made.items()}


def of_runs(dataset: Path, recorded: Path) -> dict[str, pd.DataFrame]:
    """What the events of each run give as its values, which claims compare; as `shown`."""
    plan, made = read_plan(dataset / PLAN), list[dict[str, Any]]()
    for case in _recorded(dataset, recorded):
        for arm in (arm for arm in plan.arms if case.blocks(arm)):
            runs = {block: case.windows(arm, block) for block in case.blocks(arm)}
            for block, run in runs.items():
                rate, level = durations.millisecond_rate(run), durations.level_of(run)
                made.append(case.value(case.case, arm, block, MILLISECOND, rate))
                if level is not None:
                    made.append(case.value(case.case, arm, block, RETURN_LEVEL, level))
            is_long = _median_looked(runs) >= 1e9 * LONG_SECONDS
            for step in replay.STEPS:
                for ranks, block, slowdown in (found := list(_slowdowns(runs, step))):
                    name = replay_case(case.case, ranks, step)
                    made.append(case.value(name, arm, block, SLOWDOWN, slowdown))
                for us in INJECTED_US if is_long and arm in plan.aa_pair else ():
                    made += _step_times(case, arm, step, us, found)
            for us in INJECTED_US if is_long and arm == plan.reference else ():
                more = {
                    block: [interrupted(each, INJECTED_PER_SECOND, 1000 * us) for each in run]
                    for block, run in runs.items()
                }
                for step in replay.STEPS:
                    rows = _step_times(case, arm, step, us, _slowdowns(more, step))
                    made += [row | {"arm": INJECTED} for row in rows]
    return {"event_values": tables.frame(VALUES["event_values"], made)}


def replay_case(case: str, ranks: int, step: float) -> str:
    """How the simulation of a program with the events of a case is called among cases."""
    return f"{case}-replay-{ranks}-{step:g}"


def injected_case(case: str, ranks: int, step: float, microseconds: int) -> str:
    """The same of a program that meets events of so many µs besides."""
    return f"{case}-injected-{ranks}-{step:g}-{microseconds}"


def _recorded(dataset: Path, folder: Path) -> Iterator[_Recorded]:
    """The cases that looked for a known time, of the values that count."""
    values = schema.read(tables.VALUES, dataset / "analysis/values.parquet").to_pandas()
    there = values.loc[values["metric"] == LOOKED, "case"]
    for case, rows in values[values["case"].isin(there)].groupby("case"):
        runs = rows.pivot(index=["arm", "block", "run"], columns="metric", values="value")
        yield _Recorded(str(case), runs.reset_index("run"), folder)


def _limit(case: _Recorded, arm: str) -> tuple[int, int] | None:
    """Quota and period in µs of an arm whose runs all had the same limit of less than a CPU."""
    told = case.runs.loc[[arm]].reindex(columns=[QUOTA, PERIOD]).fillna(0)
    periods = [round(1e6 * period) for period in told[PERIOD]]
    quotas = [round(quota * period) for quota, period in zip(told[QUOTA], periods, strict=True)]
    ((quota, period), *others) = {*zip(quotas, periods, strict=True)}
    return (quota, period) if not others and 0 < quota < period else None


def _slowdowns(
    of_runs: Mapping[str, list[Window]], step: float
) -> Iterator[tuple[int, str, float]]:
    """Ranks, block and slowdown by its run alone, of as many ranks as runs say something of."""
    # Either all runs of an arm say it or none, so that no run is left out for what it recorded.
    delays = replay.delays([window for run in of_runs.values() for window in run], step)
    own = np.repeat(np.eye(len(of_runs)), [len(run) for run in of_runs.values()], axis=1)
    slowdowns, looked = replay.slowdowns(delays, own), _median_looked(of_runs)
    for ranks in RANKS_OF_RUNS:
        column = slowdowns[:, replay.RANKS.index(ranks)]
        if ranks * delays.step * np.median(column) <= looked:
            for block, value in zip(of_runs, column, strict=True):
                yield ranks, block, float(value)


def _median_looked(of_runs: Mapping[str, list[Window]]) -> float:
    """How long a run looked, ns."""
    return float(np.median([sum(w.duration for w in run) for run in of_runs.values()]))


def _step_times(
    case: _Recorded, arm: str, step: float, us: int, found: Iterable[tuple[int, str, float]]
) -> Iterator[dict[str, Any]]:
    """How long a step takes on several ranks, beside or with more events of so many µs."""
    for ranks, block, slowdown in found:
        if ranks > 1:  # one waits for nobody
            name = injected_case(case.case, ranks, step, us)
            yield case.value(name, arm, block, STEP_TIME, slowdown * step)


ADDED = tables.Added(VALUES, of_runs)
