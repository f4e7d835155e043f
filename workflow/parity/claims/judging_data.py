"""What the rules look at: a dataset's comparisons, found as the register selects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.analysis import Analysed
from parity.analysis.dataset import Place
from parity.analysis.decision import NONE, assay_of, decide
from parity.analysis.identity import Digests, hashes, identity, in_blocks
from parity.analysis.ledger import objection_to_losses
from parity.analysis.pairing import Asked, Numbers, Pair, numbers, pairs
from parity.analysis.sample import Sample, sample
from parity.claims.published import Published
from parity.core.wording import listed
from parity.plan.plan import Case, Plan

CONTAINERS = "containers"
_SOME_MARGIN = 1.0  # `pairs` takes a comparison with a margin for a ratio, whatever it is.
NO_CASE, DECLARED_ABSENT, NO_LEVEL, NOT_AT_ONCE, NO_METRIC, CASE_IS_THERE = range(6)


@dataclass(frozen=True)
class Selection:
    """The `cells` of a test.

    Attributes:
        parameters: values of a case's parameters, which choose cases.
        levels: those that the published statement speaks of, which choose nothing.
        arms: names, or None for every arm whose runtime is not the reference's.
        against: the arm to compare with; empty for the plan's reference.
    """

    benchmark: str
    metric: str
    parameters: Mapping[str, tuple[Any, ...]]
    levels: Mapping[str, tuple[Any, ...]]
    arms: tuple[str, ...] | None
    against: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Selection:
        """The selection of a checked entry of the register."""
        parameters = {
            name: tuple(value) if isinstance(value, list) else (value,)
            for name, value in entry.get("parameters", {}).items()
        }
        return cls(
            benchmark=entry["benchmark"],
            metric=entry["metric"],
            parameters=parameters,
            levels={name: tuple(levels) for name, levels in entry.get("levels", {}).items()},
            arms=None if entry["arms"] == CONTAINERS else tuple(entry["arms"]),
            against=entry.get("against", ""),
        )


@dataclass(frozen=True)
class Absent:
    """A comparison that the dataset does not hold, and why.

    Attributes:
        near: how near the dataset comes to holding it, from `NO_CASE` to `CASE_IS_THERE`. Of
            several datasets the nearest says why.
    """

    metric: str
    arm: str
    against: str
    reason: str
    near: int = CASE_IS_THERE


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
        natives: the arms whose mean a ratio to the reference is to, as the analysis compares;
            empty for the reference alone.
        places: where and when each block ran; empty where that is not known.
        losses, pair_losses: what the runs that do not count have against any conclusion, on
            this comparison and on the A/A pair.
        positive: the arm of the positive control; empty if it is not run in this case.
        positive_losses: what the lost runs of that one have against it.
        ratio: whether the plan compares by ratios.
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
    natives: tuple[str, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    losses: str = ""
    pair_losses: str = ""
    positive: str = ""
    positive_losses: str = ""
    ratio: bool = True

    @cached_property
    def objection(self) -> str:
        """What losses, or nodes and sessions that differ, have against any conclusion."""
        return self.losses or self._sample(True, *self._sides(control=False)).objection

    @cached_property
    def pair_objection(self) -> str:
        """What the same have against a conclusion on the A/A pair."""
        return self.pair_losses or self._sample(True, *self._sides(control=True)).objection

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.numbers.unit

    @cached_property
    def blocks(self) -> int:
        """Blocks that hold a value of both arms, and for a ratio one above zero."""
        usable = self.numbers.costs if self.ratio else self.numbers.of
        return len(usable(self.arm).keys() & usable(self.against).keys())

    def values(self, arm: str) -> list[float]:
        """The values of an arm that count."""
        return list(self.numbers.of(arm).values())

    def effects(self, ratio: bool = True, control: bool = False) -> np.ndarray:
        """Logs of the cost ratio, or differences in the unit, in the order of time.

        As in the analysis: one of each block, or of each node or session that blocks share.

        Args:
            control: of the A/A pair in this case instead of the arm.
        """
        return self._sample(ratio, *self._sides(control)).effects

    def _sample(self, ratio: bool, arm: str, against: str) -> Sample:
        by_block = {pair.block: pair.effect for pair in self._pairs(ratio, arm, against)}
        return sample(by_block, self.places)

    def _sides(self, control: bool) -> tuple[str, str]:
        """The arm and what it is compared with: this cell's, or those of the A/A pair."""
        return (self.pair[1], self.pair[0]) if control else (self.arm, self.against)

    def assay(self, margin: float) -> str:
        """Outcome of the positive control at a margin; `none` where there is none."""
        if not self.positive:
            return NONE
        found = self._sample(True, self.positive, self.pair[0])
        objection = self.positive_losses or found.objection
        return assay_of(decide(found.effects, margin).without_claim(objection))

    def logs_by_number(self, control: bool = False) -> dict[int, float]:
        """Logs of the cost ratio by the number of the block.

        Cases of different node counts lie in different blocks; those of one number are
        independent allocations, which may be put beside each other at will.
        """
        return {
            self.number_of[pair.block]: pair.effect
            for pair in self._pairs(True, *self._sides(control))
        }

    def costs(self, arm: str) -> dict[int, float]:
        """Logs of what an arm costs by the number of the block."""
        return {self.number_of[block]: log for block, log in self.numbers.costs(arm).items()}

    def _pairs(self, ratio: bool, arm: str, against: str) -> list[Pair]:
        compared, margin = self.numbers, None
        if ratio:
            margin = _SOME_MARGIN
            if against in self.natives and arm not in self.natives:
                compared = self.numbers.with_reference(self.natives)
        return pairs(compared, Asked(self.case, self.metric, arm, against, margin))


@dataclass(frozen=True)
class JudgingData(Analysed):
    """A dataset and its analysis, as the rules see them."""

    @property
    def plan(self) -> Plan:
        """The plan of the dataset."""
        return self.dataset.plan

    @cached_property
    def numbers(self) -> dict[tuple[str, str], Numbers]:
        """The values that count, by case and metric."""
        return numbers(self.analysis.values)

    @cached_property
    def by_difference(self) -> frozenset[tuple[str, str]]:
        """Case and metric of what the plan compares by differences; all else is by ratios."""
        return frozenset((c.case, c.metric) for c in self.plan.comparisons if c.margin is None)

    @cached_property
    def hashes(self) -> dict[tuple[str, str, str], Digests]:
        """What each run ran."""
        return hashes(self.dataset.final_runs)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Number of each block."""
        return {block.name: block.number for block in self.plan.blocks}

    @cached_property
    def memory_mib(self) -> float | None:
        """MemTotal of the smallest node, MiB; None if no node says it in kB."""
        nodes = self.dataset.nodes
        said = nodes.loc[nodes["fact"] == "memory_total", "value"].unique()
        sizes = [float(text.removesuffix("kB")) / 1024 for text in said if text.endswith("kB")]
        return min(sizes, default=None)

    def is_of_same_system(self, other: JudgingData) -> bool:
        """Whether both were measured on the same kind of system with the same processor.

        Two machines may go by the same name, and their data are never judged together.
        """
        one, two = self.dataset, other.dataset
        return one.kind == two.kind and _processors(one.nodes) == _processors(two.nodes)

    @cached_property
    def unsteady(self) -> frozenset[str]:
        """Cases in which the A/A pair differs from itself by the plan's own comparisons."""
        return frozenset(
            key[0]
            for key, compared in self.compared.items()
            if compared.control and compared.decision.as_control == outcomes.DIFFERENT
        )

    def cell(self, case: str, metric: str, arm: str, against: str) -> Cell:
        """A comparison of two arms of the plan in one of its cases."""
        planned = self.plan.case(case)
        of_case = self.numbers.get((case, metric), Numbers())
        common = of_case.of(arm).keys() & of_case.of(against).keys()
        reference, positive = self.plan.reference, self.plan.positive_arm
        positive = positive if positive in self.plan.arms_of(case) else ""
        return Cell(
            benchmark=planned.benchmark,
            case=case,
            metric=metric,
            arm=arm,
            against=against,
            parameters=planned.parameters,
            numbers=of_case,
            number_of=self.number_of,
            identity=identity(in_blocks(self.hashes, case, (arm, against), common)),
            shortage=self.dataset.shortage(case, (arm, against)),
            pair=(reference, self.plan.double),
            natives=self.natives.get((case, metric), ()),
            places=self.dataset.places,
            losses=self._losses(case, metric, (arm, against)),
            pair_losses=self._losses(case, metric, (self.plan.double, reference)),
            positive=positive,
            positive_losses=self._losses(case, metric, (positive, reference)) if positive else "",
            ratio=(case, metric) not in self.by_difference,
        )

    def _losses(self, case: str, metric: str, arms: tuple[str, str]) -> str:
        of_case = self.numbers.get((case, metric), Numbers())
        ratio = (case, metric) not in self.by_difference
        return objection_to_losses(self.dataset, of_case, case, arms, ratio)

    def not_run(self, case: str, arm: str) -> str:
        """Why no run of an arm of the plan was even possible here; empty if one was."""
        reasons = self.dataset.reasons.get((case, arm), [])
        if reasons and all(reason.startswith(outcomes.NOT_TESTED) for reason in reasons):
            return f"{arm}: {reasons[0].partition(': ')[2]}"
        return ""


def _processors(nodes: pd.DataFrame) -> set[str]:
    return set(nodes.loc[nodes["fact"] == "cpu_model", "value"])


@dataclass(frozen=True)
class Scope:
    """What one test looks at.

    Attributes:
        cells: the comparisons that the dataset holds.
        absent: those that it does not hold.
        values: the claim's published numbers by `<metric>/<runtime>`.
    """

    data: JudgingData
    cells: tuple[Cell, ...]
    absent: tuple[Absent, ...]
    values: Mapping[str, Published]


def resolve(
    chosen: Selection, data: JudgingData, against: str, values: Mapping[str, Published]
) -> Scope:
    """The comparisons of a selection, or why they are not there.

    Args:
        against: the arm to compare with where the selection names none; empty for the
            plan's reference.
    """
    base = chosen.against or against or data.plan.reference
    cases, near, reason = _cases(chosen, data)
    if reason:
        arms = listed(chosen.arms or (CONTAINERS,))
        return Scope(data, (), (Absent(chosen.metric, arms, base, reason, near),), values)
    cells, missing = [], []
    for arm in _containers(data.plan) if chosen.arms is None else chosen.arms:
        for case in cases:
            if reason := _arm_missing(data, case.name, arm, base):
                missing.append(Absent(chosen.metric, arm, base, reason))
            else:
                cells.append(data.cell(case.name, chosen.metric, arm, base))
    return Scope(data, tuple(cells), tuple(dict.fromkeys(missing)), values)


def nearest(scopes: Sequence[Scope]) -> list[Absent]:
    """Why no dataset holds a cell: the reasons of those that come nearest to it, each once."""
    every = [absent for scope in scopes for absent in scope.absent]
    near = max((absent.near for absent in every), default=NO_CASE)
    return list(dict.fromkeys(absent for absent in every if absent.near == near))


def _containers(plan: Plan) -> list[str]:
    native = plan.arm_runtimes[plan.reference]
    return [arm for arm in plan.arms if plan.arm_runtimes[arm] != native]


def _cases(chosen: Selection, data: JudgingData) -> tuple[list[Case], int, str]:
    """The cases of a selection, or how near the dataset comes and why there are none.

    Of several levels of a parameter one is enough; the coverage says which are missing.
    """
    benchmark = chosen.benchmark
    cases = [case for case in data.plan.cases if case.benchmark == benchmark]
    none = f"the dataset holds no case of {benchmark}"
    if not cases:
        declared = [entry.reason for entry in data.plan.not_tested if entry.benchmark == benchmark]
        near = DECLARED_ABSENT if declared else NO_CASE
        return [], near, ": ".join([none, *declared[:1]])
    for name, wanted in chosen.parameters.items():
        there = {str(case.parameters[name]) for case in cases if name in case.parameters}
        if not any(str(value) in there for value in wanted):
            return [], NO_LEVEL, f"{none} with {name} {listed(wanted)}"
    fitting = [case for case in cases if _fits(case.parameters, chosen.parameters)]
    if not fitting:
        asked = listed(f"{name} {listed(values)}" for name, values in chosen.parameters.items())
        return [], NOT_AT_ONCE, f"no case of {benchmark} has {asked} at once"
    if not any(
        (case.name, chosen.metric) in data.numbers or chosen.metric in case.primary
        for case in fitting
    ):
        return [], NO_METRIC, f"{benchmark} gives no {chosen.metric} here"
    return fitting, CASE_IS_THERE, ""


def _fits(parameters: Mapping[str, Any], wanted: Mapping[str, Sequence[Any]]) -> bool:
    return all(
        str(parameters.get(name)) in {str(value) for value in values}
        for name, values in wanted.items()
    )


def _arm_missing(data: JudgingData, case: str, arm: str, base: str) -> str:
    """Why a comparison cannot be made here; empty if it can."""
    for side in dict.fromkeys((arm, base)):
        if side not in data.plan.arms:
            declared = data.dataset.not_tested(case).get(side)
            return f"{side}: {declared}" if declared else f"the dataset has no arm {side}"
        if reason := data.not_run(case, side):
            return reason
    return ""
