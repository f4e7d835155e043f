"""Every comparison of the plan, concluded: what is decided of it, and what qualifies that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.dataset import Dataset
from parity.analysis.decision import NONE, Decision, assay_of, decide
from parity.analysis.identity import hashes, identity, in_blocks
from parity.analysis.pairing import RATIO, Asked, Numbers, Pair, numbers, pairs

NEEDS_TWO = "needs two blocks"


@dataclass(frozen=True)
class Comparison:
    """A row of `tables.COMPARISONS`: what was asked, and what is decided.

    Attributes:
        planned_blocks: blocks in which the plan holds both runs.
        identity: a word of `parity.analysis.identity`.
        control: whether this is the A/A pair.
    """

    asked: Asked
    unit: str
    better: str
    planned_blocks: int
    identity: str
    control: bool
    decision: Decision

    def columns(self) -> dict[str, Any]:
        """The row."""
        return {
            **self.asked._asdict(),
            "kind": self.asked.kind,
            "unit": self.unit,
            "better": self.better,
            "planned_blocks": self.planned_blocks,
            "identity": self.identity,
            "control": self.control,
            **self.decision.columns(),
        }


def of_table(table: pd.DataFrame) -> list[Comparison]:
    """The rows of `tables.COMPARISONS`, as they were made."""
    made = []
    for row in tables.rows(table):
        decision = Decision.of(row)
        sides = (row["case"], row["metric"], row["arm"], row["reference"])
        parts = ("unit", "better", "planned_blocks", "identity", "control")
        made.append(
            Comparison(
                asked=Asked(*sides, decision.margin, row["planned"]),
                **{name: row[name] for name in parts},
                decision=decision,
            )
        )
    return made


def wanted_comparisons(dataset: Dataset, values: pd.DataFrame) -> list[Asked]:
    """What is to be compared, without repeats.

    These are the plan's comparisons, the A/A pair and the declared gaps among them;
    and, as plain differences, every other number that the runs gave.
    """
    plan = dataset.plan
    margins = {(c.case, c.metric): c.margin for c in plan.comparisons}
    measured = set(values[["case", "metric"]].itertuples(index=False, name=None))
    compared = {(c.case, c.metric, c.arm) for c in plan.comparisons}
    for case, metric in margins:
        arms = [plan.double, *dataset.not_tested(case)]
        compared |= {(case, metric, arm) for arm in arms}
    for case, metric in measured - margins.keys():
        compared |= {(case, metric, arm) for arm in dataset.arms_of(case)}
    return [
        Asked(
            case, metric, arm, plan.reference,
            margin=margins.get((case, metric)), planned=(case, metric) in margins,
        )
        for case, metric, arm in sorted(compared)
        if arm != plan.reference
    ]  # fmt: skip


def conclude(dataset: Dataset, values: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All comparisons and their pairs (`tables.COMPARISONS`, `tables.PAIRS`)."""
    by_case, recorded = numbers(values), hashes(dataset.final_runs)
    rows, all_pairs = [], []
    for asked in wanted_comparisons(dataset, values):
        of_case = by_case.get((asked.case, asked.metric), Numbers())
        paired = pairs(of_case, asked)
        arms, blocks = (asked.arm, asked.reference), [pair.block for pair in paired]
        rows.append(
            Comparison(
                asked=asked,
                unit=of_case.unit,
                better=of_case.better,
                planned_blocks=_planned_blocks(dataset, asked),
                identity=identity(in_blocks(recorded, asked.case, arms, blocks)),
                control=asked.arm == dataset.plan.double,
                decision=decided(dataset, asked, paired),
            )
        )
        all_pairs += paired
    gates = {
        row.asked[:2]: row.decision.outcome for row in rows if row.control and row.decision.blocks
    }
    assays = _assays(dataset, all_pairs)
    gated = [
        row
        if row.control
        else replace(
            row,
            decision=row.decision.gated(
                gates.get(row.asked[:2], NONE), assays.get(row.asked[:2], NONE)
            ),
        )
        for row in rows
    ]
    return (
        tables.frame(tables.COMPARISONS, [row.columns() for row in gated]),
        tables.frame(tables.PAIRS, [pair._asdict() for pair in all_pairs]),
    )


def decided(dataset: Dataset, asked: Asked, paired: Sequence[Pair]) -> Decision:
    """The decision on a comparison before the A/A gate, with the reason why blocks are few."""
    effects = [pair.effect for pair in paired]
    decision = decide(effects, asked.margin, ratio=asked.kind == RATIO)
    if decision.blocks >= 2:
        return decision
    reason = _reason(dataset, asked)
    if not decision.blocks and reason.startswith(outcomes.NOT_TESTED):
        declared = reason.split(": ", 1)[-1]
        return replace(decision, outcome=outcomes.NOT_TESTED, reason=declared)
    return replace(decision, reason=reason)


def _assays(dataset: Dataset, made: Sequence[Pair]) -> dict[tuple[str, str], str]:
    """What the positive control gives in each case and metric that is planned with it."""
    control, found = dataset.plan.positive_arm, {}
    for each in dataset.plan.comparisons:
        if each.arm == control and each.margin is not None:
            key = (each.case, each.metric, each.arm)
            effects = [pair.effect for pair in made if pair[:3] == key]
            found[key[:2]] = assay_of(effects, each.margin)
    return found


def _planned_blocks(dataset: Dataset, asked: Asked) -> int:
    both = {(asked.case, asked.arm), (asked.case, asked.reference)}
    return sum(both <= {(run.case, run.arm) for run in block.runs} for block in dataset.plan.blocks)


def _reason(dataset: Dataset, asked: Asked) -> str:
    """Why there are fewer than two pairs: not tested, the commonest failure, or the plan itself."""
    if declared := dataset.not_tested(asked.case).get(asked.arm):
        return f"{outcomes.NOT_TESTED}: {declared}"
    for arm in (asked.arm, asked.reference):
        if commonest := dataset.shortage(asked.case, (arm,)):
            return commonest if arm == asked.arm else f"{arm}: {commonest}"
    return NEEDS_TWO
