"""A ladder of arms, each of which adds one thing to the one before, and what that costs.

The rungs are the arms of one runtime, in the order of the plan; the first stands on the
reference. Full runtimes do not build on each other, so each is held against the top of
the ladder, which has, one by one, what they are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from parity.analysis import comparisons, tables
from parity.analysis.dataset import Dataset
from parity.analysis.identity import Hashes, hashes, identity
from parity.analysis.pairing import Numbers, numbers, pairs
from parity.plan.plan import Plan

LADDER = "ladder"  # the runtime of the rungs


def rungs(plan: Plan, arms: Sequence[str]) -> list[str]:
    """The rungs among these arms, from the lowest; none where the plan has no ladder."""
    return [arm for arm in arms if plan.arm_runtimes[arm] == LADDER]


def order(plan: Plan, arms: Sequence[str]) -> list[str]:
    """The arms from bare to full runtimes: the A/A pair, the rungs, all others."""
    pair = [plan.reference, *(arm for arm in plan.aa_pair if arm != plan.reference)]
    first = [*(arm for arm in pair if arm in arms), *rungs(plan, arms)]
    return [*first, *(arm for arm in arms if arm not in first)]


def steps(dataset: Dataset, values: pd.DataFrame) -> pd.DataFrame:
    """Each rung over the one before, and each other arm over the top (`tables.STEPS`)."""
    found, recorded = numbers(values), hashes(dataset.final_runs)
    planned = {(c["case"], c["metric"]): c["margin"] for c in dataset.plan.comparisons}
    rows = []
    for (case, metric), margin in planned.items():
        if margin is not None and rungs(dataset.plan, dataset.arms_of(case)):
            of_case = found.get((case, metric), Numbers())
            rows += _of_case(dataset, of_case, recorded, case, metric, margin)
    return tables.frame(tables.STEPS, rows)


def _of_case(
    dataset: Dataset, found: Numbers, recorded: Hashes, case: str, metric: str, margin: float
) -> list[dict[str, Any]]:
    plan, arms = dataset.plan, dataset.arms_of(case)
    ladder = rungs(plan, arms)
    control = pairs(found, _comparison(case, metric, dataset.double, plan.reference, margin))
    gate = [comparisons.tested(_logs(control), margin)["outcome"]] if control else []
    rows = []
    for arm in (arm for arm in arms if arm != plan.reference):
        below = _below(dataset, ladder, arm)
        before, paired = plan.reference, []
        for each in reversed([plan.reference, *below]):
            paired = pairs(found, _comparison(case, metric, arm, each, margin))
            if paired:
                before = each
                break
        result = comparisons.tested(_logs(paired), margin)
        asked = _comparison(case, metric, arm, before, margin)
        row = {
            "case": case,
            "metric": metric,
            "arm": arm,
            "before": before,
            "margin": margin,
            "identity": identity(recorded, paired),
            **result,
            **comparisons.too_few(dataset, asked, result),
        }
        rows.append(row if arm == dataset.double else comparisons.gated(row, gate))
    return rows


def _below(dataset: Dataset, ladder: list[str], arm: str) -> list[str]:
    """The rungs that an arm may stand on; the A/A pair stands on the ground."""
    if arm == dataset.double:
        return []
    return ladder[: ladder.index(arm)] if arm in ladder else ladder


def _comparison(case: str, metric: str, arm: str, reference: str, margin: float) -> dict[str, Any]:
    return {"case": case, "metric": metric, "arm": arm, "reference": reference, "margin": margin}


def _logs(paired: Sequence[Mapping[str, Any]]) -> list[float]:
    return [pair["effect"] for pair in paired]
