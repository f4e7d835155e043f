"""Turns a study into a plan: blocks, and in each the seeded order of its runs.

The same study gives the same plan, byte for byte. A block is named by what it does:
its id ends in a digest of its runs, their order and their parameters. So a study that
grows by more blocks keeps those it has, and one whose parameters change measures anew
and overwrites nothing.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

from parity.benchmarks import benchmarks
from parity.core.documents import canonical
from parity.core.spack_paths import DISTRIBUTION, SPACK
from parity.plan.plan import PLAN_VERSION, Block, Case, Design, Plan, PlannedComparison, Run
from parity.plan.study import Study
from parity.plan.williams import arm_order
from parity.runtimes import every_arm


def make_plan(study: Study) -> Plan:
    """The whole plan; pure and repeatable."""
    used = sorted({case.benchmark for case in study.cases})
    return Plan(
        **{field: getattr(study, field) for field in Design.__struct_fields__},
        version=PLAN_VERSION,
        campaign=study.campaign,
        arm_titles={name: _title(study, name) for name in study.arms},
        arm_runtimes={name: every_arm()[name].runtime for name in study.arms},
        benchmark_titles={name: benchmarks()[name].title for name in used},
        benchmark_notes={name: benchmarks()[name].note for name in used},
        blocks=tuple(
            _block(study, nodes, number)
            for number in range(1, study.blocks + 1)
            for nodes in study.node_counts
        ),
        comparisons=_comparisons(study),
    )


def _title(study: Study, name: str) -> str:
    """How figures call an arm; the positive control with what it does."""
    title, control = every_arm()[name].title, study.positive_control
    if control and name == control.arm:
        return f"{title}, {control.work_percent:g} % more work"
    return title


def _comparisons(study: Study) -> tuple[PlannedComparison, ...]:
    """Every arm with the reference, in each case and primary metric."""
    return tuple(
        PlannedComparison(
            case=case.name,
            metric=metric,
            arm=arm,
            reference=study.reference,
            # A difference in the metric's own unit has no margin of a ratio.
            margin=None if metric in case.differences else case.margin,
        )
        for case in study.cases
        for metric in case.primary
        for arm in study.arms_of(case.name)
        if arm != study.reference
    )


def _block(study: Study, nodes: int, number: int) -> Block:
    """One block: the cases of one node count in random order, arms one after the other.

    A block is one allocation, so its cases all need the same number of nodes. The arms of
    one case follow each other directly, in the order of a Williams square, so that slow drift
    of the machine falls on all of them alike; every arm runs once per case.
    """
    cases = [case for case in study.cases if case.nodes == nodes]
    # A study without allocations keeps the names it had before there were any.
    stratum = f"n{nodes}-" if study.places_ranks else ""
    # random.Random of a text is defined by the language and stable between versions.
    seed = f"{study.study}/{study.seed}/{stratum}"
    runs = tuple(
        Run(name=f"{case.name}.{arm}", case=case.name, arm=arm)
        for case in random.Random(f"{seed}{number}").sample(cases, len(cases))
        for arm in arm_order(study.arms_of(case.name), f"{seed}{case.name}", number)
    )
    name = f"{study.campaign}-{stratum}b{number:04d}-{_digest(study, cases, runs, number)}"
    return Block(name=name, number=number, nodes=nodes, runs=runs)


def _digest(study: Study, cases: list[Case], runs: tuple[Run, ...], number: int) -> str:
    """The end of a block's name: what it does, and nothing of what is concluded from it."""
    does: dict[str, Any] = {
        "study": study.study,
        "number": number,
        "attempts": study.attempts,
        "runs": runs,
        "cases": [
            {"case": case.name, "parameters": case.parameters, "timeout": case.timeout_seconds}
            for case in cases
        ],
    }
    # The programs of the first toolchain keep the names that blocks had before there were others.
    if study.provider not in (DISTRIBUTION, SPACK):
        does["provider"] = study.provider
    if study.positive_control:
        does["positive_control"] = study.positive_control
    return hashlib.sha256(canonical(does).encode()).hexdigest()[:8]
