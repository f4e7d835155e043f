"""Datasets whose numbers are planted directly, without logs: fast, for what is concluded alone.

The logs' way is walked by other scenarios (`trials.run_pipeline`). Here the tables of runs and
metrics are made as they would be parsed, and everything after them is the real analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis.dataset import Dataset
from parity.plan.plan import (
    PLAN_VERSION,
    Block,
    Case,
    Plan,
    PlannedComparison,
    PositiveControl,
    Run,
)
from parity.plan.system_kind import kind_of
from parity.records import schema
from parity.runtimes import arms as known_arms
from planted_truth.campaign import DOUBLE, PLUS, REFERENCE, SYSTEM, sha256

BENCHMARK = "planted"
NODE_MIB = 16 * 1024
_BEGINNING = np.datetime64("2026-01-01T00:00:00")
# How a run ends that gives no number: its reason, and what the witness inside has said.
ENDINGS = {
    "timeout": ("timeout", "{}"),
    "refused": ("exit-status", "{}"),
    "failed inside": ("exit-status", '{"marker": ""}'),
}
_NUMBERS = ("int64", "double", "bool")


@dataclass(frozen=True)
class Metric:
    """What the planted program measures."""

    name: str = "time"
    unit: str = "s"
    better: str = "lower"


@dataclass(frozen=True)
class Layout:
    """A study in memory: its cases and their parameters, its arms, and the node of each block.

    Attributes:
        parameters: of each case, by its name.
        arms: those beside the A/A pair.
        ending: of `ENDINGS`, of the runs without a number.
        looks: the numbers of blocks at which it is looked at; none for once.
    """

    parameters: dict[str, dict[str, Any]]
    arms: tuple[str, ...]
    nodes: tuple[int, ...]
    margin: float | None
    metric: Metric = Metric()
    ending: str = "timeout"
    looks: tuple[int, ...] = ()

    @property
    def all_arms(self) -> tuple[str, ...]:
        """The A/A pair, and the arms beside it."""
        return (REFERENCE, DOUBLE, *self.arms)

    def plan(self) -> Plan:
        """The plan; the order of runs plays no part in what is planted, and is always the same."""
        cases = tuple(
            Case(
                name=name,
                benchmark=BENCHMARK,
                parameters=parameters,
                margin=self.margin,
                primary=(self.metric.name,),
                differences=(),
                timeout_seconds=60,
            )
            for name, parameters in self.parameters.items()
        )
        runs = tuple(
            Run(name=f"{case}.{arm}", case=case, arm=arm)
            for case in self.parameters
            for arm in self.all_arms
        )
        control = PositiveControl(
            arm=PLUS, work_percent=4, parameters={case: {} for case in self.parameters}
        )
        return Plan(
            version=PLAN_VERSION,
            campaign="planted-memory",
            study="planted",
            scale="memory",
            title="Planted truth: these numbers describe no machine",
            reproduces="nothing",
            seed=0,
            reference=REFERENCE,
            aa_pair=(REFERENCE, DOUBLE),
            arms=self.all_arms,
            cases=cases,
            attempts=1,
            not_tested=(),
            provider="system",
            positive_control=control if PLUS in self.arms else None,
            looks=self.looks,
            minutes=None,
            blocks_per_job=1,
            arm_titles={arm: known_arms()[arm].title for arm in self.all_arms},
            arm_runtimes={arm: known_arms()[arm].runtime for arm in self.all_arms},
            benchmark_titles={BENCHMARK: "Planted"},
            benchmark_notes={BENCHMARK: ""},
            blocks=tuple(
                Block(name=f"planted-memory-b{number:04d}", number=number, nodes=1, runs=runs)
                for number in range(1, len(self.nodes) + 1)
            ),
            comparisons=tuple(
                PlannedComparison(
                    case=case, metric=self.metric.name, arm=arm, reference=REFERENCE,
                    margin=self.margin,
                )
                for case in self.parameters
                for arm in self.all_arms[1:]
            ),
        )  # fmt: skip


def dataset(layout: Layout, values: np.ndarray, stopped: np.ndarray | None = None) -> Dataset:
    """The dataset of these values.

    Args:
        values: shape (blocks, cases, arms), in the order of the layout; NaN for a run that
            was lost, or not made any more. There may be fewer blocks than are planned.
        stopped: why runs were not made any more, in the same shape; empty texts for the others.
    """
    plan = layout.plan()
    runs = _runs(layout, plan, values)
    if stopped is not None:
        _stop(runs, stopped.ravel())
    return Dataset(
        name="live/planted-memory",
        plan=plan,
        plan_sha256=sha256("plan"),
        kind=kind_of(["vm"]),
        runs=runs,
        metrics=_metrics(layout, runs, values),
        nodes=_nodes(layout, plan, runs),
        images=_frame(schema.IMAGES, {}, 0),
    )


def _frame(table: schema.TableSchema, known: dict[str, Any], rows: int) -> pd.DataFrame:
    """A table with these columns; of all others empty texts, nulls, and zeros."""
    columns = {}
    for column in table.columns:
        is_number = str(column.type) in _NUMBERS
        nothing = (None if column.nullable else 0) if is_number else ""
        columns[column.name] = known.get(column.name, np.full(rows, nothing))
    return pd.DataFrame(columns)


def _runs(layout: Layout, plan: Plan, values: np.ndarray) -> pd.DataFrame:
    """One attempt for each run, one after the other, a block a day."""
    blocks, cases, arms = values.shape
    of_block = cases * arms
    names = np.array([run.name for run in plan.blocks[0].runs], dtype=object)
    measured = np.array([block.name for block in plan.blocks[:blocks]], dtype=object)
    lost = np.isnan(values).ravel()
    position = np.tile(np.arange(1, of_block + 1), blocks)
    reason, evidence = ENDINGS[layout.ending]
    days = np.repeat(np.arange(blocks), of_block).astype("timedelta64[D]")
    started = np.datetime_as_string(_BEGINNING + days + position.astype("timedelta64[s]"))
    known = {
        "campaign": np.full(values.size, plan.campaign, dtype=object),
        "block": np.repeat(measured, of_block),
        "block_number": np.repeat(np.arange(1, blocks + 1), of_block),
        "run": np.tile(names, blocks),
        "attempt": np.ones(values.size, dtype=int),
        "position": position,
        "benchmark": np.full(values.size, BENCHMARK, dtype=object),
        "case": np.tile(np.repeat(np.array(list(layout.parameters), object), arms), blocks),
        "arm": np.tile(np.array(layout.all_arms, object), blocks * cases),
        "final": np.ones(values.size, dtype=bool),
        "session": np.ones(values.size, dtype=int),
        "stage": np.where(lost, "ran", "valid").astype(object),
        "reason": np.where(lost, reason, "").astype(object),
        "evidence": np.where(lost, evidence, "{}").astype(object),
        "started": np.char.add(started, "+00:00").astype(object),
        "binary_sha256": np.full(values.size, sha256("binary"), dtype=object),
        "closure_sha256": np.full(values.size, sha256("closure"), dtype=object),
    }
    return _frame(schema.RUNS, known, values.size)


def _stop(runs: pd.DataFrame, stopped: np.ndarray) -> None:
    """Make runs into such as were not made any more, as parsing shows them."""
    gone = stopped != ""
    runs.loc[gone, "reason"] = stopped[gone]
    runs.loc[gone, "attempt"] = 0
    runs.loc[gone, "stage"] = "planned"
    for name in ("started", "binary_sha256", "closure_sha256"):
        runs.loc[gone, name] = ""


def _metrics(layout: Layout, runs: pd.DataFrame, values: np.ndarray) -> pd.DataFrame:
    there = runs[np.isfinite(values).ravel()]
    shared = [column.name for column in schema.METRICS.columns if column.name in runs]
    known: dict[str, Any] = {name: there[name].to_numpy() for name in shared}
    constants = {
        "metric": layout.metric.name,
        "unit": layout.metric.unit,
        "better": layout.metric.better,
        "clock": "internal",
    }
    known |= {name: np.full(len(there), text, object) for name, text in constants.items()}
    known["value"] = values.ravel()[np.isfinite(values).ravel()]
    known |= {name: np.ones(len(there), bool) for name in ("primary", "valid")}
    return _frame(schema.METRICS, known, len(there))


def _nodes(layout: Layout, plan: Plan, runs: pd.DataFrame) -> pd.DataFrame:
    """The memory of the node of each block that was measured, before and after it."""
    there, planned = set(runs["block"]), zip(plan.blocks, layout.nodes, strict=True)
    rows = [
        (plan.campaign, block.name, f"{SYSTEM}-{node}", phase, fact, value)
        for block, node in planned
        if block.name in there
        for phase in ("before", "after")
        for fact, value in (
            ("hostname", f"{SYSTEM}-{node}"),
            ("memory_total", f"{NODE_MIB * 1024} kB"),
        )
    ]
    return pd.DataFrame(rows, columns=[column.name for column in schema.NODES.columns])
