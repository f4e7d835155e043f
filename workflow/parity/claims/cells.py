"""The comparisons that a test looks at, found in a dataset; or why they are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parity.analysis import outcomes
from parity.analysis.analysis import Analysis
from parity.analysis.dataset import Dataset
from parity.analysis.identity import Hashes, hashes, identity
from parity.analysis.pairing import Numbers, numbers, pairs
from parity.claims.published import Published

CLUSTER = "slurm"


@dataclass(frozen=True)
class Absent:
    """A comparison that the dataset does not hold, and why."""

    metric: str
    arm: str
    against: str
    reason: str


@dataclass(frozen=True)
class Cell:
    """One comparison: an arm against another in one case.

    Attributes:
        parameters: those of the case, factor levels included.
        numbers: the values of every arm in this case.
        number_of: number of each block.
        identity: whether both ran the same binary, a name from `parity.analysis.identity`.
        shortage: the commonest reason why a run does not count; empty if all do.
        pair: reference and double, the two arms of the A/A pair.
    """

    benchmark: str
    case: str
    metric: str
    arm: str
    against: str
    parameters: Mapping[str, Any]
    numbers: Numbers
    number_of: Mapping[str, int]
    identity: str
    shortage: str
    pair: tuple[str, str]

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.numbers.unit

    @cached_property
    def blocks(self) -> int:
        """Blocks that hold a value of both arms."""
        return len(self.values(self.arm).keys() & self.values(self.against).keys())

    def values(self, arm: str) -> Mapping[str, float]:
        """The values of an arm that count, by block."""
        return self.numbers.by_arm.get(arm, {})

    def effects(self, ratio: bool = True) -> np.ndarray:
        """Logs of the cost ratio, or differences in the unit, in the order of blocks."""
        return np.array([row["effect"] for row in self._pairs(self.arm, self.against, ratio)])

    def control_effects(self, ratio: bool = True) -> np.ndarray:
        """The same of the A/A pair in this case."""
        reference, double = self.pair
        return np.array([row["effect"] for row in self._pairs(double, reference, ratio)])

    def logs_by_number(self) -> dict[int, float]:
        """Logs of the cost ratio by the number of the block.

        Cases of different node counts lie in different blocks; those of one number are
        independent allocations, which may be put beside each other at will.
        """
        return self._by_number(self.arm, self.against)

    def control_logs(self) -> dict[int, float]:
        """The same of the A/A pair in this case."""
        reference, double = self.pair
        return self._by_number(double, reference)

    def _by_number(self, arm: str, against: str) -> dict[int, float]:
        rows = self._pairs(arm, against, True)
        return {self.number_of[row["block"]]: row["effect"] for row in rows}

    def costs(self, arm: str) -> dict[int, float]:
        """Logs of what an arm costs by the number of the block: of the value, or of its inverse."""
        sign = -1.0 if self.numbers.better == "higher" else 1.0
        return {
            self.number_of[block]: sign * float(np.log(value))
            for block, value in self.values(arm).items()
            if value > 0
        }

    def _pairs(self, arm: str, against: str, ratio: bool) -> list[dict[str, Any]]:
        comparison = {
            "case": self.case,
            "metric": self.metric,
            "arm": arm,
            "reference": against,
            # `pairs` takes a comparison with a margin for a ratio, whatever the margin.
            "margin": 1.0 if ratio else None,
        }
        return pairs(self.numbers, comparison)


@dataclass(frozen=True)
class Material:
    """A dataset, its analysis and its kind of system, as the rules see them.

    Attributes:
        label: kind of the system, such as vm.
    """

    dataset: Dataset
    analysis: Analysis
    label: str

    @property
    def cluster(self) -> bool:
        """Whether it was measured on a real cluster."""
        return self.label == CLUSTER

    @cached_property
    def numbers(self) -> dict[tuple[str, str], Numbers]:
        """The values that count, by case and metric."""
        return numbers(self.analysis.values)

    @cached_property
    def hashes(self) -> Hashes:
        """What each run ran."""
        return hashes(self.dataset.final_runs)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Number of each block."""
        return {block["block"]: block["number"] for block in self.dataset.plan.blocks}

    @cached_property
    def memory_mib(self) -> float | None:
        """MemTotal of the smallest node, MiB; None if no node says it in kB."""
        nodes = self.dataset.nodes
        said = nodes.loc[nodes["fact"] == "memory_total", "value"].unique()
        sizes = [float(text.removesuffix("kB")) / 1024 for text in said if text.endswith("kB")]
        return min(sizes, default=None)

    @property
    def pair(self) -> tuple[str, str]:
        """Reference and double."""
        return self.dataset.plan.reference, self.dataset.double

    def cell(self, case: Mapping[str, Any], metric: str, arm: str, against: str) -> Cell:
        """A comparison of two arms of the plan in one of its cases."""
        found = self.numbers.get((case["case"], metric), Numbers())
        both = [
            {"block": block, "case": case["case"], "arm": arm, "reference": against}
            for block in found.by_arm.get(arm, {}).keys() & found.by_arm.get(against, {}).keys()
        ]
        return Cell(
            benchmark=case["benchmark"],
            case=case["case"],
            metric=metric,
            arm=arm,
            against=against,
            parameters=case["parameters"],
            numbers=found,
            number_of=self.number_of,
            identity=identity(self.hashes, both),
            shortage=self._shortage(case["case"], (arm, against)),
            pair=self.pair,
        )

    def not_run(self, case: str, arm: str) -> str:
        """Why no run of an arm of the plan was even possible here; empty if one was."""
        runs = self.dataset.final_runs
        reasons = runs.loc[(runs["case"] == case) & (runs["arm"] == arm), "reason"]
        if len(reasons) and reasons.str.startswith(outcomes.NOT_TESTED).all():
            return f"{arm}: {reasons.iloc[0].partition(': ')[2]}"
        return ""

    def _shortage(self, case: str, arms: Sequence[str]) -> str:
        runs = self.dataset.final_runs
        of_case = runs[(runs["case"] == case) & runs["arm"].isin(arms) & (runs["reason"] != "")]
        return sorted(of_case["reason"].mode())[0] if len(of_case) else ""


@dataclass(frozen=True)
class Scope:
    """What one test looks at.

    Attributes:
        cells: the comparisons that the dataset holds.
        absent: those that it does not hold.
        values: the claim's published numbers by `<metric>/<runtime>`.
    """

    material: Material
    cells: tuple[Cell, ...]
    absent: tuple[Absent, ...]
    values: Mapping[str, Published]

    def between(self, cell: Cell, arm: str, against: str) -> Cell:
        """The comparison of two other arms in the same case."""
        case = {key: getattr(cell, key) for key in ("benchmark", "case", "parameters")}
        return self.material.cell(case, cell.metric, arm, against)
