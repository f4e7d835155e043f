"""A factor of two levels crossed with the container, and which of them has an effect.

Torrez, Randles and Priedhorsky (CANOPIE-HPC 2019, section IV-A) saw a difference of 1.8 %
between the bare machine and every container, and it was that of a library which only one
side had linked. Where both levels of such a factor are run in every arm, the effect of the
factor and that of the container are told apart, and so is whether one depends on the other.

The effect of the container within each level is a comparison like any other
(`tables.COMPARISONS`); the effects of the factor, both main effects and the interaction
stand in `tables.FACTORIAL`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.comparisons import NEEDS_TWO, assay, references, rested
from parity.analysis.dataset import Dataset
from parity.analysis.decision import NONE, WITHOUT_CONTROL, Decision
from parity.analysis.ledger import objection_to_losses
from parity.analysis.pairing import ByCase, Numbers
from parity.analysis.statistics.factorial import two_by_two
from parity.analysis.statistics.sequential import strictest
from parity.plan.plan import Case, Plan

LEVEL, LEVEL_OVERALL = "level", "level-overall"
ARM_OVERALL, INTERACTION = "arm-overall", "interaction"
# Where a program runs is no property of it: such cases are no levels of a factor.


@dataclass(frozen=True)
class Crossing:
    """Two cases of a benchmark that differ in one factor alone.

    Attributes:
        low, high: levels of the factor, in alphabetical order.
        cases: the case of each.
        margin: the margin that both cases share.
    """

    benchmark: str
    metric: str
    factor: str
    low: str
    high: str
    cases: tuple[str, str]
    margin: float


class Effect(NamedTuple):
    """One effect of a crossing: a row of `tables.FACTORIAL`."""

    crossing: Crossing
    arm: str
    effect: str
    identity: str
    decision: Decision

    def columns(self) -> dict[str, Any]:
        """The row."""
        named = ("benchmark", "metric", "factor", "low", "high")
        return {
            **{name: getattr(self.crossing, name) for name in named},
            "cases": " ".join(self.crossing.cases),
            "arm": self.arm,
            "effect": self.effect,
            "identity": self.identity,
            **self.decision.columns(),
        }


def crossings(plan: Plan) -> list[Crossing]:
    """The factors of two levels whose cases are compared by ratios, in the order of the plan."""
    margins = {(c.case, c.metric): c.margin for c in plan.comparisons}
    found = []
    for benchmark in dict.fromkeys(case.benchmark for case in plan.cases):
        cases = [case for case in plan.cases if case.benchmark == benchmark]
        for factor in _factors(cases):
            for low, high in _matched(cases, factor):
                found += [
                    Crossing(
                        benchmark, metric, factor, low.parameters[factor],
                        high.parameters[factor], (low.name, high.name), margin,
                    )
                    for metric in low.primary
                    if (margin := margins.get((low.name, metric))) is not None
                    and margin == margins.get((high.name, metric))
                ]  # fmt: skip
    return found


def _factors(cases: Sequence[Case]) -> list[str]:
    """Parameters of these cases that take two values, both of them words."""
    keys = [key for key, value in cases[0].parameters.items() if isinstance(value, str)]
    levels = {key: {case.parameters.get(key) for case in cases} for key in keys}
    return [
        key
        for key, values in levels.items()
        if len(values) == 2 and all(isinstance(value, str) for value in values)
    ]


def _matched(cases: Sequence[Case], factor: str) -> Iterator[tuple[Case, Case]]:
    """Pairs of cases that are alike in all but the factor, the low level first."""
    groups: dict[tuple[tuple[str, str], ...], list[Case]] = {}
    for case in cases:
        rest = sorted((k, str(v)) for k, v in case.parameters.items() if k != factor)
        groups.setdefault(tuple(rest), []).append(case)
    for group in groups.values():
        if len(group) == 2:
            low, high = sorted(group, key=lambda case: str(case.parameters[factor]))
            yield low, high


def effects(dataset: Dataset, by_case: ByCase) -> pd.DataFrame:
    """All effects of all such factors (`tables.FACTORIAL`)."""
    rows = [
        effect.columns()
        for crossing in crossings(dataset.plan)
        for effect in _of_crossing(dataset, crossing, by_case)
    ]
    return tables.frame(tables.FACTORIAL, rows)


def _of_crossing(dataset: Dataset, crossing: Crossing, by_case: ByCase) -> list[Effect]:
    """The effects of one factor, after the gates.

    What the A/A pair must show is that the factor has the same effect in both of its arms,
    and for a container's own effect, that the pair has none itself.
    """
    of_cases = [by_case.get((case, crossing.metric), Numbers()) for case in crossing.cases]
    plan, arms_of = dataset.plan, [dataset.arms_of(case) for case in crossing.cases]
    arms = [arm for arm in arms_of[0] if arm in arms_of[1] and arm != plan.positive_arm]
    of_pair = _crossed(dataset, crossing, of_cases, plan.double) if plan.double in arms else []
    control = {each.effect: each.decision for each in of_pair}
    gates = {name: control.get(name, WITHOUT_CONTROL) for name in (ARM_OVERALL, INTERACTION)}
    natives = references(dataset, *gates.values())
    with_natives = [each.with_reference(natives) for each in of_cases]
    assayed = _assay(dataset, crossing, with_natives)
    found = []
    for arm in arms:
        found.append(_level(dataset, crossing, of_cases, arm))
        if arm == plan.double:
            found += of_pair
        elif arm != plan.reference:
            found += _crossed(dataset, crossing, with_natives, arm)
    return [
        each
        if each.arm == plan.double and each.effect in gates
        else each._replace(
            decision=each.decision.gated(
                gates[ARM_OVERALL if each.effect == ARM_OVERALL else INTERACTION].as_control,
                assayed,
            )
        )
        for each in found
    ]


def _assay(dataset: Dataset, crossing: Crossing, of_cases: Sequence[Numbers]) -> str:
    """The outcome of the first positive control of both cases that shows no difference."""
    there = [
        assay(dataset, case, crossing.metric, crossing.margin, of_case)
        for case, of_case in zip(crossing.cases, of_cases, strict=True)
    ]
    return next((each for each in there if each not in (NONE, outcomes.DIFFERENT)), there[0])


def _level(dataset: Dataset, crossing: Crossing, of_cases: Sequence[Numbers], arm: str) -> Effect:
    """The cost ratio of the high level to the low one in an arm."""
    low, high = (each.costs(arm) for each in of_cases)
    logs = {block: high[block] - low[block] for block in sorted(low.keys() & high.keys())}
    objection = _objection(dataset, crossing, of_cases, arm)
    return Effect(crossing, arm, LEVEL, "", _decided(dataset, crossing, arm, objection, logs))


def _crossed(
    dataset: Dataset, crossing: Crossing, of_cases: Sequence[Numbers], arm: str
) -> list[Effect]:
    """Both main effects and the interaction, over the blocks that hold all four runs."""
    reference = dataset.plan.reference
    frame = pd.DataFrame(
        [
            (block, level, side, cost)
            for level, each in zip((crossing.low, crossing.high), of_cases, strict=True)
            for side in (reference, arm)
            for block, cost in each.costs(side).items()
        ],
        columns=["block", "first", "second", "log"],
    )
    found = two_by_two(frame, (crossing.low, crossing.high), (reference, arm))
    same = dataset.identity(crossing.cases, (arm, reference), found.blocks)
    parts = {LEVEL_OVERALL: found.first, ARM_OVERALL: found.second, INTERACTION: found.interaction}
    objection = _objection(dataset, crossing, of_cases, arm)
    made = []
    for effect, logs in parts.items():
        by_block = dict(zip(found.blocks, logs.tolist(), strict=True))
        decision = _decided(dataset, crossing, arm, objection, by_block)
        made.append(Effect(crossing, arm, effect, same, decision))
    return made


def _objection(dataset: Dataset, crossing: Crossing, of_cases: Sequence[Numbers], arm: str) -> str:
    """What the losses of either case have against the effects of an arm."""
    arms = (arm, dataset.plan.reference)
    objections = [
        objection_to_losses(dataset, of_case, case, arms)
        for case, of_case in zip(crossing.cases, of_cases, strict=True)
    ]
    return next(filter(None, objections), "")


def _decided(
    dataset: Dataset,
    crossing: Crossing,
    arm: str,
    objection: str,
    logs: Mapping[str, float],
) -> Decision:
    """The decision on the logs of blocks, before the A/A gate."""
    levels = strictest(dataset.levels(case, arm) for case in crossing.cases)
    decision = rested(dataset, logs, crossing.margin, objection, levels)
    few = decision.outcome == outcomes.TOO_FEW_BLOCKS
    return replace(decision, reason=NEEDS_TWO) if few else decision
