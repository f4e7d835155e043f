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

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import comparisons, identity, outcomes, tables
from parity.analysis.dataset import Dataset
from parity.analysis.pairing import Numbers, numbers
from parity.analysis.statistics.factorial import TwoByTwo, two_by_two
from parity.plan.plan import Plan

LEVEL, LEVEL_OVERALL = "level", "level-overall"
ARM_OVERALL, INTERACTION = "arm-overall", "interaction"
# Where a program runs is no property of it: such cases are no levels of a factor.
PLACES = ("nodes", "ranks")


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


def crossings(plan: Plan) -> list[Crossing]:
    """The factors of two levels whose cases are compared by ratios, in the order of the plan."""
    margins = {(c["case"], c["metric"]): c["margin"] for c in plan.comparisons}
    found = []
    for benchmark in dict.fromkeys(case["benchmark"] for case in plan.cases):
        cases = [case for case in plan.cases if case["benchmark"] == benchmark]
        for factor in _factors(cases):
            for low, high in _matched(cases, factor):
                found += [
                    Crossing(
                        benchmark, metric, factor, low["parameters"][factor],
                        high["parameters"][factor], (low["case"], high["case"]), margin,
                    )
                    for metric in low["primary"]
                    if (margin := margins.get((low["case"], metric))) is not None
                    and margin == margins.get((high["case"], metric))
                ]  # fmt: skip
    return found


def _factors(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Parameters of these cases that take two values, both of them words."""
    keys = [key for key in cases[0]["parameters"] if key not in PLACES]
    levels = {key: {case["parameters"].get(key) for case in cases} for key in keys}
    return [
        key
        for key, values in levels.items()
        if len(values) == 2 and all(isinstance(value, str) for value in values)
    ]


def _matched(
    cases: Sequence[Mapping[str, Any]], factor: str
) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pairs of cases that are alike in all but the factor, the low level first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for case in cases:
        rest = sorted((k, str(v)) for k, v in case["parameters"].items() if k != factor)
        groups.setdefault(tuple(rest), []).append(case)
    for group in groups.values():
        if len(group) == 2:
            low, high = sorted(group, key=lambda case: case["parameters"][factor])
            yield low, high


def effects(dataset: Dataset, values: pd.DataFrame) -> pd.DataFrame:
    """All effects of all such factors (`tables.FACTORIAL`)."""
    found, recorded = numbers(values), identity.hashes(dataset.final_runs)
    rows = [
        row
        for crossing in crossings(dataset.plan)
        for row in _of_crossing(dataset, crossing, found, recorded)
    ]
    return tables.frame(tables.FACTORIAL, rows)


def _of_crossing(
    dataset: Dataset,
    crossing: Crossing,
    found: Mapping[tuple[str, str], Numbers],
    recorded: identity.Hashes,
) -> list[dict[str, Any]]:
    """The rows of one factor, after the A/A gate.

    What the A/A pair must show is that the factor has the same effect in both of its arms,
    and for a container's own effect, that the pair has none itself.
    """
    of_cases = [found.get((case, crossing.metric), Numbers()) for case in crossing.cases]
    reference, rows = dataset.plan.reference, []
    both = set(dataset.arms_of(crossing.cases[0])) & set(dataset.arms_of(crossing.cases[1]))
    for arm in (arm for arm in dataset.plan.arms if arm in both):
        rows.append(_row(crossing, arm, LEVEL, _level(of_cases, arm), ""))
        if arm != reference:
            rows += _crossed(crossing, of_cases, arm, reference, recorded)
    control = {row["effect"]: row["outcome"] for row in rows if row["arm"] == dataset.double}
    gates = {ARM_OVERALL: control.get(ARM_OVERALL)}
    return [
        row if _is_control(row, dataset.double) else comparisons.gated(row, _known(gate))
        for row in rows
        for gate in [gates.get(row["effect"], control.get(INTERACTION))]
    ]


def _is_control(row: Mapping[str, Any], double: str) -> bool:
    return row["arm"] == double and row["effect"] in (ARM_OVERALL, INTERACTION)


def _known(outcome: str | None) -> list[str]:
    return [] if outcome is None else [outcome]


def _level(of_cases: Sequence[Numbers], arm: str) -> dict[str, float]:
    """Log of the cost ratio of the high level to the low one in an arm, by block."""
    low, high = (_costs(each, arm) for each in of_cases)
    return {block: high[block] - low[block] for block in sorted(low.keys() & high.keys())}


def _costs(found: Numbers, arm: str) -> dict[str, float]:
    """Logs of the costs of an arm by block: of a rate, that of its inverse."""
    sign = -1.0 if found.better == "higher" else 1.0
    values = found.by_arm.get(arm, {})
    return {block: sign * math.log(value) for block, value in values.items() if value > 0}


def _crossed(
    crossing: Crossing,
    of_cases: Sequence[Numbers],
    arm: str,
    reference: str,
    recorded: identity.Hashes,
) -> list[dict[str, Any]]:
    """Both main effects and the interaction, over the blocks that hold all four runs."""
    frame = pd.DataFrame(
        [
            (block, level, side, cost)
            for level, each in zip((crossing.low, crossing.high), of_cases, strict=True)
            for side in (reference, arm)
            for block, cost in _costs(each, side).items()
        ],
        columns=["block", "first", "second", "log"],
    )
    if (frame.groupby("block").size() == 4).any():
        found = two_by_two(frame, (crossing.low, crossing.high), (reference, arm))
    else:  # no block holds all four runs
        nothing = np.array([])
        found = TwoByTwo((), nothing, nothing, nothing)
    pairs = [
        {"block": block, "case": case, "arm": arm, "reference": reference}
        for case in crossing.cases
        for block in found.blocks
    ]
    same = identity.identity(recorded, pairs)
    parts = {LEVEL_OVERALL: found.first, ARM_OVERALL: found.second, INTERACTION: found.interaction}
    return [
        _row(crossing, arm, effect, dict(zip(found.blocks, logs.tolist(), strict=True)), same)
        for effect, logs in parts.items()
    ]


def _row(
    crossing: Crossing, arm: str, effect: str, logs: Mapping[str, float], same: str
) -> dict[str, Any]:
    result = comparisons.tested(list(logs.values()), crossing.margin)
    few = result["outcome"] == outcomes.TOO_FEW_BLOCKS
    return {
        "benchmark": crossing.benchmark,
        "metric": crossing.metric,
        "factor": crossing.factor,
        "cases": " ".join(crossing.cases),
        "low": crossing.low,
        "high": crossing.high,
        "arm": arm,
        "effect": effect,
        "margin": crossing.margin,
        "reason": "needs two blocks" if few else "",
        "identity": same,
        **result,
    }
