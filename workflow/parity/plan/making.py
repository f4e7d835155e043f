"""Turns a study into a plan: blocks, and in each the seeded order of its runs; the same each time.

A block is named by what it does: its id ends in a digest of its runs, their order and parameters.
So a study that grows keeps the blocks it has, and one that changes overwrites nothing.
"""

import hashlib
import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from parity.benchmarks.own_program import COMMAND, what_runs
from parity.core.documents import canonical
from parity.core.spack_paths import DISTRIBUTION, SPACK
from parity.plan.plan import PLAN_VERSION, Block, Design, Plan, PlannedComparison, Run
from parity.plan.study import Study
from parity.runtimes import every_arm


def make_plan(study: Study) -> Plan:
    """The whole plan; pure and repeatable."""
    used, node_counts = study.definitions, sorted({case.nodes for case in study.run_cases})
    of_node_counts = [_blocks_on(study, nodes) for nodes in node_counts]
    return Plan(
        **{field: getattr(study, field) for field in Design.__struct_fields__},
        version=PLAN_VERSION, campaign=study.campaign,
        arm_titles={name: _title(study, name) for name in study.arms},
        arm_runtimes={name: every_arm()[name].runtime for name in study.arms},
        benchmark_titles={name: each.title for name, each in used.items()},
        benchmark_notes={name: each.note for name, each in used.items()},
        blocks=tuple(sorted(chain.from_iterable(of_node_counts), key=lambda block: block.number)),
        # Every arm with the reference, in each case and primary metric.
        comparisons=tuple(
            PlannedComparison(
                case=case.name, metric=metric, arm=arm, reference=study.reference,
                # A difference in the metric's own unit has no margin of a ratio.
                margin=None if metric in case.differences else case.margin,
            )
            for case in study.cases for metric in case.primary
            for arm in study.arms_of(case.name) if arm != study.reference
        ),
    )  # fmt: skip


def _title(study: Study, name: str) -> str:
    """How figures call an arm: as the study does, the positive control with what it does."""
    for case in study.cases:
        if line := case.parameters.get(COMMAND, {}).get("as_given", {}).get(name):
            return str(line["title"])
    title, control = every_arm()[name].title, study.positive_control
    if control and name == control.arm:
        return f"{title}, {control.work_percent:g} % more work"
    return title


def _blocks_on(study: Study, nodes: int) -> list[Block]:
    """The blocks of one node count: its cases in random order, arms one after the other.

    A block is one allocation. The arms of a case follow each other directly, each once, in the
    order of a Williams square, so that slow drift of the machine falls on all of them alike.
    """
    cases = [case for case in study.run_cases if case.nodes == nodes]
    # A study without allocations keeps the names it had before there were any.
    stratum = f"n{nodes}-" if any(case.is_placed for case in study.cases) else ""
    # random.Random of a text is defined by the language and stable between versions.
    seed = f"{study.study}/{study.seed}/{stratum}"
    runs = {
        name: {arm: Run(f"{name}.{arm}", name, arm) for arm in study.arms_of(name)}
        for name in (case.name for case in cases)
    }
    # What all blocks of these cases do, and nothing of what is concluded from it.
    does: dict[str, Any] = {"study": study.study, "attempts": study.attempts}
    does["cases"] = [
        {"case": of.name, "parameters": what_runs(of.parameters), "timeout": of.timeout_seconds}
        for of in cases
    ]
    # The programs of the first toolchain keep the names that blocks had before there were others.
    if study.provider not in (DISTRIBUTION, SPACK):
        does["provider"] = study.provider
    if study.positive_control:
        does["positive_control"] = study.positive_control
    if study.is_paired:
        does["design"] = study.design
    blocks = []
    paired = [(arm, study.reference) for arm in study.arms if arm != study.reference]
    for number in range(1, study.blocks + 1):
        chance = random.Random(f"{seed}{number}")
        # The arms of each block of a number: all, as (); and another with the reference in each.
        together: list[tuple[str, ...]] = [] if study.is_paired else [()]
        if study.is_paired or study.pairs:
            together += chance.sample(paired, len(paired))
        for arms in together:
            ordered = tuple(
                by_arm[arm]
                for case, by_arm in chance.sample([*runs.items()], len(runs))
                if by_arm.keys() >= {*arms} and study.in_pairs(case) == bool(arms)
                for arm in arm_order(arms or tuple(by_arm), f"{seed}{case}{'/'.join(arms)}", number)
            )
            if ordered:
                done = canonical(does | {"number": number, "runs": ordered})
                digest = hashlib.sha256(done.encode()).hexdigest()[:8]
                name = f"{study.campaign}-{stratum}b{number:04d}-{digest}"
                blocks.append(Block(name=name, number=number, nodes=nodes, runs=ordered))
    return blocks


def arm_order(arms: Sequence[str], seed: str, number: int) -> tuple[str, ...]:
    """The arms in the order of one block: a row of a Williams square of k arms.

    (E. J. Williams, Australian Journal of Scientific Research A 2, 149-168, 1949.) In k blocks (k
    even) or 2k (k odd) each arm stands in each position equally often, and directly after each
    other one. So what drifts over the positions, and what an arm leaves behind for the next, falls
    on all alike; with independent shuffles only on average. Each design takes every sequence once,
    in random order, and labels the arms anew; an odd number of them has two Latin squares, one
    after the other. So any number of blocks holds each arm in each position equally often, but for
    at most one. `seed`: of the case, whatever the number of blocks. `number`: of a block, from 1.
    """
    design, place = divmod(number - 1, len(arms) * (1 + len(arms) % 2))
    return _design(tuple(arms), f"{seed}/{design}")[place]


@lru_cache(maxsize=1024)  # its blocks follow each other, between those of a study's other cases
def _design(arms: tuple[str, ...], seed: str) -> tuple[tuple[str, ...], ...]:
    """The orders of the arms in all blocks of one design: of each Latin square, shuffled, a row.

    The first row of a square is a zigzag: 0, 1, k-1, 2, k-2, ...; each further row adds one to
    all. The steps between its neighbours are all different if k is even; if it is odd, each that
    is there is there twice, and the others stand in a second square, the rows read backwards.
    """
    chance, size = random.Random(seed), len(arms)
    labelled = chance.sample(arms, size)
    zigzag = [(place + 1) // 2 * (-1) ** (place + 1) for place in range(size)]
    square = [[labelled[(arm + row) % size] for arm in zigzag] for row in range(size)]
    squares = [square] if size % 2 == 0 else [square, [row[::-1] for row in square]]
    return tuple(tuple(row) for rows in squares for row in chance.sample(rows, size))
