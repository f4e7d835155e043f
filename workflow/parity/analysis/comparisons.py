"""Every comparison of the plan, concluded: estimate, outcome, and what qualifies it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from parity.analysis import estimate, outcomes, tables
from parity.analysis.dataset import Dataset
from parity.analysis.identity import Hashes, hashes, identity
from parity.analysis.pairing import Numbers, kind, numbers, pairs

CONTROL_FAILED = "A/A pair not equivalent"
CONTROL_DIFFERS = "A/A pair differs"
NO_CONTROL = "no A/A pair"


def wanted_comparisons(dataset: Dataset, values: pd.DataFrame) -> list[dict[str, Any]]:
    """What is to be compared, without repeats, each with whether the study `planned` it.

    These are the plan's comparisons, the A/A pair and the declared gaps among them;
    and, as plain differences, every other number that the runs gave.
    """
    plan = dataset.plan
    planned = {(c["case"], c["metric"]): c["margin"] for c in plan.comparisons}
    measured = set(values[["case", "metric"]].itertuples(index=False, name=None))
    compared = {(c["case"], c["metric"], c["arm"]) for c in plan.comparisons}
    for case, metric in planned:
        arms = [dataset.double, *dataset.not_tested(case)]
        compared |= {(case, metric, arm) for arm in arms}
    for case, metric in measured - planned.keys():
        compared |= {(case, metric, arm) for arm in dataset.arms_of(case)}
    return [
        {
            "case": case,
            "metric": metric,
            "arm": arm,
            "reference": plan.reference,
            "margin": planned.get((case, metric)),
            "planned": (case, metric) in planned,
        }
        for case, metric, arm in sorted(compared)
        if arm != plan.reference
    ]


def conclude(dataset: Dataset, values: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All comparisons and their pairs (`tables.COMPARISONS`, `tables.PAIRS`)."""
    found, recorded = numbers(values), hashes(dataset.final_runs)
    rows, all_pairs = [], []
    for comparison in wanted_comparisons(dataset, values):
        of_case = found.get((comparison["case"], comparison["metric"]), Numbers())
        paired = pairs(of_case, comparison)
        rows.append(_row(dataset, of_case, recorded, comparison, paired))
        all_pairs += paired
    rows = [_gated(row, rows) for row in rows]
    return tables.frame(tables.COMPARISONS, rows), tables.frame(tables.PAIRS, all_pairs)


def _row(
    dataset: Dataset,
    of_case: Numbers,
    recorded: Hashes,
    comparison: Mapping[str, Any],
    paired: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """One comparison before the A/A gate."""
    effects = [pair["effect"] for pair in paired]
    ratio = kind(comparison) == "ratio"
    result = tested(effects, comparison["margin"]) if ratio else _difference(effects)
    copied = ("case", "metric", "arm", "reference", "margin", "planned")
    return {
        **{key: comparison[key] for key in copied},
        "kind": kind(comparison),
        "unit": of_case.unit,
        "better": of_case.better,
        "planned_blocks": _planned_blocks(dataset, comparison),
        "identity": identity(recorded, paired),
        "control": comparison["arm"] == dataset.double,
        **result,
        **too_few(dataset, comparison, result),
    }


def tested(logs: Sequence[float], margin: float) -> dict[str, Any]:
    """Geometric mean ratio, intervals and equivalence test of the logs of one comparison."""
    found = estimate.estimate(logs)
    several = found.interval90 is not None
    low95, high95 = _exponents(found.interval95)
    low90, high90 = _exponents(found.interval90)
    return {
        "blocks": found.blocks,
        "estimate": None if found.mean is None else math.exp(found.mean),
        "low95": low95,
        "high95": high95,
        "low90": low90,
        "high90": high90,
        "p_equivalence": estimate.equivalence_p(logs, margin) if several else None,
        "smallest_margin": estimate.smallest_margin(found.interval90) if several else None,
        "outcome": estimate.outcome(logs, margin),
    }


def _difference(effects: Sequence[float]) -> dict[str, Any]:
    """Mean difference and intervals of one comparison; nothing is claimed about it."""
    found = estimate.estimate(effects)
    low95, high95 = found.interval95 or (None, None)
    low90, high90 = found.interval90 or (None, None)
    return {
        "blocks": found.blocks,
        "estimate": found.mean,
        "low95": low95,
        "high95": high95,
        "low90": low90,
        "high90": high90,
        "p_equivalence": None,
        "smallest_margin": None,
        "outcome": outcomes.REPORTED if found.interval95 else outcomes.TOO_FEW_BLOCKS,
    }


def _exponents(interval: estimate.Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (math.exp(interval[0]), math.exp(interval[1]))


def _planned_blocks(dataset: Dataset, comparison: Mapping[str, Any]) -> int:
    both = {(comparison["case"], comparison[side]) for side in ("arm", "reference")}
    return sum(
        both <= {(run["case"], run["arm"]) for run in block["runs"]}
        for block in dataset.plan.blocks
    )


def too_few(
    dataset: Dataset, comparison: Mapping[str, Any], result: Mapping[str, Any]
) -> dict[str, str]:
    """Outcome and reason of a result; where its blocks are too few, why they are."""
    reason = _reason(dataset, comparison) if result["blocks"] < 2 else ""
    if not result["blocks"] and reason.startswith(outcomes.NOT_TESTED):
        return {"outcome": outcomes.NOT_TESTED, "reason": reason.split(": ", 1)[-1]}
    return {"outcome": result["outcome"], "reason": reason}


def _reason(dataset: Dataset, comparison: Mapping[str, Any]) -> str:
    """Why there are fewer than two pairs: not tested, the commonest failure, or the plan itself."""
    declared = dataset.not_tested(comparison["case"]).get(comparison["arm"])
    if declared:
        return f"{outcomes.NOT_TESTED}: {declared}"
    runs = dataset.final_runs[dataset.final_runs["case"] == comparison["case"]]
    for side in ("arm", "reference"):
        reasons = runs.loc[(runs["arm"] == comparison[side]) & (runs["reason"] != ""), "reason"]
        if len(reasons):
            commonest = sorted(reasons.mode())[0]
            return commonest if side == "arm" else f"{comparison[side]}: {commonest}"
    return "needs two blocks"


def _gated(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row after the A/A gate of its case and metric."""
    control = [
        other["outcome"]
        for other in rows
        if other["control"]
        and other["blocks"]
        and (other["case"], other["metric"]) == (row["case"], row["metric"])
    ]
    return row if row["control"] else gated(row, control)


def gated(row: dict[str, Any], control: Sequence[str]) -> dict[str, Any]:
    """A row as far as the A/A pair allows, whose own outcomes are `control`.

    The same thing measured twice must come out the same before "the same" can be
    said of two things (A/A test: Kohavi et al., Trustworthy Online Controlled
    Experiments, 2020, ch. 19). If the pair itself differs, no difference is claimed
    either, because the harness alone produces one.
    """
    if row["outcome"] not in (outcomes.EQUIVALENT, outcomes.DIFFERENT):
        return row
    if control and all(outcome == outcomes.EQUIVALENT for outcome in control):
        return row
    if row["outcome"] == outcomes.EQUIVALENT:
        return row | {
            "outcome": outcomes.INCONCLUSIVE,
            "reason": CONTROL_FAILED if control else NO_CONTROL,
        }
    if outcomes.DIFFERENT in control:
        return row | {"outcome": outcomes.INCONCLUSIVE, "reason": CONTROL_DIFFERS}
    return row
