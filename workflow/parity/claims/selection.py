"""Which comparisons of a dataset a test looks at, and why it does not hold some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parity.claims.cells import Cell, JudgingData
from parity.claims.published import Published
from parity.core.wording import listed
from parity.plan.plan import Case, Plan
from parity.runtimes import every_arm

CONTAINERS = "containers"
NO_CASE, DECLARED_ABSENT, NO_LEVEL, NOT_AT_ONCE, NO_METRIC, CASE_IS_THERE = range(6)


@dataclass(frozen=True)
class Selection:
    """The `cells` of a test.

    Attributes:
        parameters: values of a case's parameters, which choose cases.
        levels: those that the published statement speaks of, which choose nothing.
        arms: names, or None for every plain arm whose runtime is not the reference's.
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
    """The arms of other runtimes, but for those that do something to the program as well.

    What a limit, a neighbour or a network costs is no container's cost.
    """
    native, known = plan.arm_runtimes[plan.reference], every_arm()
    others = [arm for arm in plan.arms if plan.arm_runtimes[arm] != native]
    return [name for name in others if not (arm := known.get(name)) or arm.unlimited is arm]


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
        (case.name, chosen.metric) in data.engine.by_case or chosen.metric in case.primary
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
