"""A ladder of arms, each of which adds one thing to the one before, and what that costs.

The rungs are the arms of one runtime, in the order of the plan; the first stands on the
reference. Full runtimes do not build on each other, so each is held against the top of
the ladder, which has, one by one, what they are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from parity.analysis import comparisons, decision, tables
from parity.analysis.dataset import Dataset
from parity.analysis.pairing import Asked, ByCase, Numbers, pairs
from parity.plan.plan import Plan

LADDER = "ladder"  # the runtime of the rungs


def rungs(plan: Plan, arms: Sequence[str]) -> list[str]:
    """The rungs among these arms, from the lowest; none where the plan has no ladder."""
    return [arm for arm in arms if plan.arm_runtimes[arm] == LADDER]


def order(plan: Plan, arms: Sequence[str]) -> list[str]:
    """The arms from bare to full runtimes: the A/A pair, the rungs, all others."""
    pair = [arm for arm in (plan.reference, plan.double) if arm in arms]
    first = [*pair, *rungs(plan, arms)]
    return [*first, *(arm for arm in arms if arm not in first)]


def steps(dataset: Dataset, by_case: ByCase) -> pd.DataFrame:
    """Each rung over the one before, and each other arm over the top (`tables.RUNGS`)."""
    rows = list[dict[str, Any]]()
    for (case, metric), margin in dataset.margins.items():
        if margin is not None and rungs(dataset.plan, dataset.arms_of(case)):
            of_case = by_case.get((case, metric), Numbers())
            control = Asked(case, metric, dataset.plan.double, dataset.plan.reference, margin)
            rows += _of_case(dataset, of_case, control)
    return tables.frame(tables.RUNGS, rows)


def _of_case(dataset: Dataset, of_case: Numbers, control: Asked) -> list[dict[str, Any]]:
    """The rows of one case and metric; `control` is its A/A pair."""
    plan = dataset.plan
    arms = [arm for arm in dataset.arms_of(control.case) if arm != plan.positive_arm]
    ladder = rungs(plan, arms)
    of_pair = comparisons.decided(dataset, control, pairs(of_case, control), of_case)
    gate = of_pair if of_pair.blocks else decision.WITHOUT_CONTROL
    with_natives = of_case.with_reference(comparisons.references(dataset, gate))
    assay = comparisons.assay(dataset, *control[:2], control.margin, with_natives)
    gates = gate.as_control, assay
    rows = []
    for arm in (arm for arm in arms if arm != plan.reference):
        stands_on = [plan.reference, *_below(dataset, ladder, arm)]
        candidates = [control._replace(arm=arm, reference=each) for each in reversed(stands_on)]
        # The nearest that it has pairs with; the reference if there is none.
        asked = next((each for each in candidates if pairs(of_case, each)), candidates[-1])
        paired = pairs(of_case if arm == plan.double else with_natives, asked)
        decided = comparisons.decided(dataset, asked, paired, of_case)
        sides, blocks = (arm, asked.reference), [pair.block for pair in paired]
        rows.append(
            {
                "case": asked.case,
                "metric": asked.metric,
                "arm": arm,
                "before": asked.reference,
                "identity": dataset.identity([asked.case], sides, blocks),
                **(decided if arm == plan.double else decided.gated(*gates)).columns(),
            }
        )
    return rows


def _below(dataset: Dataset, ladder: list[str], arm: str) -> list[str]:
    """The rungs that an arm may stand on; the A/A pair stands on the ground."""
    if arm == dataset.plan.double:
        return []
    return ladder[: ladder.index(arm)] if arm in ladder else ladder
