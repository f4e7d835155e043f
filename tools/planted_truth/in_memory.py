"""Datasets whose numbers are planted directly, without logs: fast, for what is concluded alone.

The logs' way is walked by other scenarios (`trials.run_pipeline`). Here the tables of runs and
metrics are made as they would be parsed, and everything after them is the real analysis. Numbers
deviate from the truth by laws with and without the traits that spoil tests: on the log scale, in
arrays of the shape (replicates, levels, blocks, arms). The truth is the mean of an arm's log
cost, spikes included, before any run is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from parity.analysis import conclusions, evidence, tables
from parity.analysis.analysis import Analysis
from parity.analysis.contrast import Engine
from parity.analysis.dataset import Dataset
from parity.core.documents import Document
from parity.plan.plan import Plan
from parity.plan.system import kind_of
from parity.preview.simulated import NO_ANALYSIS, planned_runs, table_of
from parity.records import schema
from parity.runtimes import arms as known_arms
from planted_truth.plans import crossed
from planted_truth.study import DOUBLE, PLUS, REFERENCE, SYSTEM, WORK_PERCENT, sha256

BENCHMARK = "planted"
NODE_MIB = 16 * 1024
_BEGINNING = np.datetime64("2026-01-01T00:00:00")
TIME = ("time", "s", "lower")
# How a run ends that gives no number: its reason, and what the witness inside has said.
ENDINGS = {
    "timeout": ("timeout", "{}"),
    "refused": ("exit-status", "{}"),
    "failed inside": ("exit-status", '{"marker": ""}'),
}
# Student's t of so many degrees of freedom, brought to the standard deviation of the others.
_FREEDOM = {"t3": 3, "t5": 5}


def numbers_of(runs: pd.DataFrame, values: np.ndarray, **known: Any) -> pd.DataFrame:
    """What runs gave: `schema.METRICS`, a row for each number; `known`: metric, unit and others."""
    there = np.isfinite(values)
    shared = [column.name for column in schema.METRICS.columns if column.name in runs]
    columns = {name: runs.loc[there, name].to_numpy() for name in shared}
    columns |= {"value": values[there], "clock": "internal", "primary": True, "valid": True}
    return table_of(schema.METRICS, columns | known)


@dataclass(frozen=True)
class Layout:
    """A study in memory: its cases and their parameters, its arms, and the node of each block."""

    parameters: dict[str, dict[str, Any]]  # of each case, by its name
    arms: tuple[str, ...]  # those beside the A/A pair
    nodes: tuple[int, ...]
    margin: float | None
    metric: tuple[str, str, str] = TIME  # what the program measures: name, unit, which is better
    ending: str = "timeout"  # of `ENDINGS`, of the runs without a number
    looks: tuple[int, ...] = ()  # the numbers of blocks at which it is looked at; none for once

    @property
    def all_arms(self) -> tuple[str, ...]:
        return (REFERENCE, DOUBLE, *self.arms)

    def plan(self) -> Plan:
        """The plan; the order of runs plays no part in what is planted, and is always the same."""
        usual = {"benchmark": BENCHMARK, "margin": self.margin, "primary": [self.metric[0]]}
        control = {"arm": PLUS, "work_percent": WORK_PERCENT,
                   "parameters": {name: {} for name in self.parameters}}  # fmt: skip
        return crossed(
            "planted-memory",
            [{"case": name, "parameters": own, **usual} for name, own in self.parameters.items()],
            self.all_arms, len(self.nodes), looks=list(self.looks), attempts=1,
            positive_control=control if PLUS in self.arms else None,
            arm_titles={arm: known_arms()[arm].title for arm in self.all_arms},
            arm_runtimes={arm: known_arms()[arm].runtime for arm in self.all_arms},
            benchmark_titles={BENCHMARK: "Planted"}, benchmark_notes={BENCHMARK: ""},
        )  # fmt: skip


def dataset(layout: Layout, values: np.ndarray, stopped: np.ndarray | None = None) -> Dataset:
    """The dataset of these values: one attempt for each run, one after the other, a block a day.

    Args:
        values: shape (blocks, cases, arms), in the order of the layout; NaN for a run that
            was lost, or not made any more. There may be fewer blocks than are planned.
        stopped: why runs were not made any more, in the same shape; empty texts for the others.
    """
    plan, flat, count = layout.plan(), values.ravel(), len(values)
    measured = msgspec.structs.replace(plan, blocks=plan.blocks[:count])
    lost, (reason, said) = np.isnan(flat), ENDINGS[layout.ending]
    position = np.tile(np.arange(1, values[0].size + 1), count)
    days = np.repeat(np.arange(count), values[0].size).astype("timedelta64[D]")
    started = np.datetime_as_string(_BEGINNING + days + position.astype("timedelta64[s]"))
    runs = planned_runs(
        measured, position=position, stage=np.where(lost, "ran", "valid"),
        reason=np.where(lost, reason, ""), evidence=np.where(lost, said, "{}"),
        started=np.char.add(started, "+00:00"),
    )  # fmt: skip
    if stopped is not None:
        # As parsing shows runs that were not made any more.
        gone = stopped.ravel() != ""
        runs.loc[gone, "reason"] = stopped.ravel()[gone]
        nothing: dict[str, str | int] = {"attempt": 0, "stage": "planned"}
        nothing |= dict.fromkeys(("started", "binary_sha256", "closure_sha256"), "")
        for column, value in nothing.items():
            runs.loc[gone, column] = value
    nodes = [
        (plan.campaign, block.name, f"{SYSTEM}-{node}", phase, fact, value)
        for block, node in zip(measured.blocks, layout.nodes, strict=False)
        for phase in ("before", "after")
        for fact, value in (
            ("hostname", f"{SYSTEM}-{node}"), ("memory_total", f"{NODE_MIB * 1024} kB")
        )
    ]  # fmt: skip
    metric = dict(zip(("metric", "unit", "better"), layout.metric, strict=True))
    return Dataset(
        name="live/planted-memory", plan=plan, plan_sha256=sha256("plan"), kind=kind_of(["vm"]),
        runs=runs, metrics=numbers_of(runs, flat, **metric),
        nodes=pd.DataFrame(nodes, columns=[column.name for column in schema.NODES.columns]),
        images=tables.frame(schema.IMAGES, []),
    )  # fmt: skip


def analysed(made: Dataset) -> Analysis:
    """As much of a dataset's analysis as verdicts and looks rest on."""
    counted = evidence.counted_values(made.metrics, NO_ANALYSIS.exclusions)
    concluded, pairs = conclusions.conclude(Engine(made, evidence.numbers(counted)))
    return replace(NO_ANALYSIS, values=counted, conclusions=concluded, pairs=pairs)


class Chance(Document, frozen=True):
    """What makes runs deviate; what differs between arms is by arm."""

    run: float = 0.006  # standard deviation from run to run
    block: float = 0.03  # standard deviation of what all runs of a block have in common
    law: str = "normal"  # or `t3`, `t5`, or `skewed`, which is exponential
    # How many times the usual an arm's runs deviate.
    times: dict[str, float] = msgspec.field(default_factory=dict)
    # The share of an arm's runs that something disturbs, and by how much.
    spikes: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    by_node: float = 0.0  # standard deviation of what an arm beside the A/A pair costs more by node
    serial: float = 0.0  # correlation of an arm's deviation with that in the block before
    # The share of an arm's slowest runs that are lost.
    lost: dict[str, float] = msgspec.field(default_factory=dict)

    def draw(
        self, random: np.random.Generator, costs: np.ndarray, blocks: Sequence[int],
        arms: Sequence[str], replicates: int,
    ) -> np.ndarray:  # fmt: skip
        """Logs of what runs cost; NaN for those that were lost.

        `costs`: the truth, in the shape (levels, arms). `blocks`: the node of each. `arms`: the
        A/A pair first.
        """
        shape = (replicates, costs.shape[0], len(blocks), len(arms))
        own = self.run * self._serial(self._law(random, shape))
        own *= np.array([self.times.get(arm, 1.0) for arm in arms])
        for arm, (share, size) in self.spikes.items():
            # The mean is that of all runs, disturbed ones included.
            own[..., arms.index(arm)] += size * ((random.random(shape[:-1]) < share) - share)
        if self.by_node:
            nodes = random.normal(0, self.by_node, (*shape[:2], 1 + max(blocks), len(arms) - 2))
            own[..., 2:] += nodes[:, :, list(blocks)]
        # Levels of a factor stand in the same blocks.
        together = random.normal(0, self.block, (replicates, 1, len(blocks)))
        logs = costs[:, None] + own + together[..., None]
        for arm, share in self.lost.items():
            place, gone = arms.index(arm), round(share * len(blocks))
            slowest = np.argsort(own[..., place], axis=2)[..., len(blocks) - gone :]
            np.put_along_axis(logs[..., place], slowest, np.nan, axis=2)
        return logs

    def _law(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if self.law == "skewed":
            return random.standard_exponential(shape) - 1
        if self.law not in _FREEDOM:
            return random.standard_normal(shape)
        freedom = _FREEDOM[self.law]
        return np.asarray(random.standard_t(freedom, shape) * np.sqrt(1 - 2 / freedom))

    def _serial(self, fresh: np.ndarray) -> np.ndarray:
        """The same from one block to the next: a stationary process of first order."""
        made = fresh.copy()
        for block in range(1, fresh.shape[2] if self.serial else 0):
            kept = np.sqrt(1 - self.serial**2) * fresh[:, :, block]
            made[:, :, block] = self.serial * made[:, :, block - 1] + kept
        return made
