"""From what the register selects to the comparisons of a dataset, or why they are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.claims import terms
from parity.claims.cells import Absent, Material, Scope
from parity.claims.published import Published
from parity.claims.selection import Selection
from parity.plan.plan import Plan


def resolve(
    chosen: Selection, material: Material, against: str, values: Mapping[str, Published]
) -> Scope:
    """The comparisons of a selection.

    Args:
        against: the arm to compare with where the selection names none; empty for the
            plan's reference.
    """
    plan = material.dataset.plan
    base = chosen.against or against or plan.reference
    cases, reason = _cases(chosen, material)
    arms = chosen.arms if chosen.arms is not None else _containers(plan)
    if reason:
        absent = (
            Absent(chosen.metric, terms.listed(chosen.arms or ("containers",)), base, reason),
        )
        return Scope(material, (), absent, values)
    cells, missing = [], []
    for arm in arms:
        for case in cases:
            if reason := _arm_missing(material, case["case"], arm, base):
                missing.append(Absent(chosen.metric, arm, base, reason))
            else:
                cells.append(material.cell(case, chosen.metric, arm, base))
    return Scope(material, tuple(cells), tuple(dict.fromkeys(missing)), values)


def _containers(plan: Plan) -> tuple[str, ...]:
    native = plan.arm_runtimes[plan.reference]
    return tuple(arm for arm in plan.arms if plan.arm_runtimes[arm] != native)


def _cases(chosen: Selection, material: Material) -> tuple[list[Mapping[str, Any]], str]:
    """The cases of a selection, or why there are none."""
    plan, benchmark = material.dataset.plan, chosen.benchmark
    cases = [case for case in plan.cases if case["benchmark"] == benchmark]
    if not cases:
        declared = [e["reason"] for e in plan.not_tested if e.get("benchmark") == benchmark]
        return [], ": ".join([f"the dataset holds no case of {benchmark}", *declared[:1]])
    for name, wanted in chosen.parameters.items():
        there = {str(case["parameters"][name]) for case in cases if name in case["parameters"]}
        if missing := [value for value in wanted if str(value) not in there]:
            return (
                [],
                f"the dataset holds no case of {benchmark} with {name} {terms.listed(missing)}",
            )
    fitting = [case for case in cases if _fits(case["parameters"], chosen.parameters)]
    if not fitting:
        asked = terms.listed(f"{name} {terms.listed(v)}" for name, v in chosen.parameters.items())
        return [], f"no case of {benchmark} has {asked} at once"
    if not any(
        (case["case"], chosen.metric) in material.numbers or chosen.metric in case["primary"]
        for case in fitting
    ):
        return [], f"{benchmark} gives no {chosen.metric} here"
    return fitting, ""


def _fits(parameters: Mapping[str, Any], wanted: Mapping[str, Sequence[Any]]) -> bool:
    return all(
        str(parameters.get(name)) in {str(value) for value in values}
        for name, values in wanted.items()
    )


def _arm_missing(material: Material, case: str, arm: str, base: str) -> str:
    """Why a comparison cannot be made here; empty if it can."""
    plan, dataset = material.dataset.plan, material.dataset
    for side in dict.fromkeys((arm, base)):
        if side not in plan.arms:
            declared = dataset.not_tested(case).get(side)
            return f"{side}: {declared}" if declared else f"the dataset has no arm {side}"
        if reason := material.not_run(case, side):
            return reason
    return ""
