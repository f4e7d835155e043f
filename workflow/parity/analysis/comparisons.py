"""Every comparison of the plan, concluded: what is decided of it, and what qualifies that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis import outcomes, tables
from parity.analysis.dataset import Dataset
from parity.analysis.decision import NONE, WITHOUT_CONTROL, Decision, assay_of, decide
from parity.analysis.ledger import objection_to_losses
from parity.analysis.pairing import RATIO, Asked, ByCase, Numbers, Pair, pairs
from parity.analysis.sample import sample
from parity.analysis.statistics.sequential import Levels

NEEDS_TWO = "needs two blocks"
# Of a pair what is its own.
_KINDS = {"block": object, "value": float, "reference_value": float, "effect": float}
# What a comparison and its row call the same.
_SAME = ("unit", "better", "planned_blocks", "identity", "control")


@dataclass(frozen=True)
class Comparison:
    """A row of `tables.COMPARISONS`: what was asked, and what is decided.

    Attributes:
        planned_blocks: blocks in which the plan holds both runs.
        identity: a word of `parity.analysis.identity`.
        control: whether this is the A/A pair.
        natives: the arms whose mean is compared with; the reference is the first.
    """

    asked: Asked
    unit: str
    better: str
    planned_blocks: int
    identity: str
    control: bool
    natives: tuple[str, ...]
    decision: Decision

    def columns(self) -> dict[str, Any]:
        """The row."""
        return {
            **self.asked._asdict(),
            "kind": self.asked.kind,
            **{name: getattr(self, name) for name in _SAME},
            "references": "+".join(self.natives),
            **self.decision.columns(),
        }


def of_table(table: pd.DataFrame) -> list[Comparison]:
    """The rows of `tables.COMPARISONS`, as they were made."""
    made = []
    for row in tables.rows(table):
        decision, same = Decision.of(row), {name: row[name] for name in _SAME}
        sides = (row["case"], row["metric"], row["arm"], row["reference"])
        asked = Asked(*sides, decision.margin, row["planned"])
        natives = tuple(row["references"].split("+"))
        made.append(Comparison(asked, **same, natives=natives, decision=decision))
    return made


def wanted_comparisons(dataset: Dataset, by_case: ByCase) -> list[Asked]:
    """What is to be compared, without repeats.

    These are the plan's comparisons, the A/A pair and the declared gaps among them;
    and, as plain differences, every other number that the runs gave.
    """
    plan, margins = dataset.plan, dataset.margins
    compared = {(c.case, c.metric, c.arm) for c in plan.comparisons}
    for case, metric in margins:
        arms = [*filter(None, [plan.double]), *dataset.not_tested(case)]
        compared |= {(case, metric, arm) for arm in arms}
    for case, metric in by_case.keys() - margins.keys():
        compared |= {(case, metric, arm) for arm in dataset.arms_of(case)}
    return [
        Asked(
            case, metric, arm, plan.reference,
            margin=margins.get((case, metric)), planned=(case, metric) in margins,
        )
        for case, metric, arm in sorted(compared)
        if arm != plan.reference
    ]  # fmt: skip


def conclude(dataset: Dataset, by_case: ByCase) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All comparisons and their pairs (`tables.COMPARISONS`, `tables.PAIRS`).

    Args:
        by_case: the numbers that count.
    """
    double, positive = dataset.plan.double, dataset.plan.positive_arm
    controls, assays = dict[tuple[str, str], Decision](), dict[tuple[str, str], str]()
    rows = []
    paired_by_sides: dict[tuple[str, ...], tuple[np.ndarray, ...]] = {}
    # The controls come first: the gates and the reference of all others follow from them.
    order = {double: 0, positive: 1}
    wanted = sorted(wanted_comparisons(dataset, by_case), key=lambda each: order.get(each.arm, 2))
    planned = {
        sides: _planned_blocks(dataset, *sides) for sides in {_sides(asked) for asked in wanted}
    }
    for asked in wanted:
        of_case = by_case.get((asked.case, asked.metric), Numbers())
        control = controls.get(asked[:2], WITHOUT_CONTROL)
        natives = references(dataset, control)
        paired = pairs(of_case.with_reference(natives), asked)
        decision = decided(dataset, asked, paired, of_case)
        if asked.arm == double and decision.blocks:
            controls[asked[:2]] = decision
        if asked.arm == positive and positive in dataset.plan.arms_of(asked.case):
            assays[asked[:2]] = assay_of(decision)
        gates = control.as_control, assays.get(asked[:2], NONE)
        arms, blocks = (asked.arm, asked.reference), [pair.block for pair in paired]
        rows.append(
            Comparison(
                asked=asked,
                unit=of_case.unit,
                better=of_case.better,
                planned_blocks=planned[_sides(asked)],
                identity=dataset.identity([asked.case], arms, blocks),
                control=asked.arm == double,
                natives=natives,
                decision=decision if asked.arm == double else decision.gated(*gates),
            )
        )
        paired_by_sides[asked[:4]] = tuple(
            np.array([getattr(pair, name) for pair in paired], _KINDS[name]) for name in _KINDS
        )
    return (
        tables.frame(tables.COMPARISONS, [row.columns() for row in rows]),
        _pair_table(paired_by_sides),
    )


def _pair_table(paired: Mapping[tuple[str, ...], tuple[np.ndarray, ...]]) -> pd.DataFrame:
    """`tables.PAIRS` of what is paired by case, metric, arm and reference.

    There may be millions: they are put in order as a whole, and share their texts.
    """
    if not paired:
        return tables.frame(tables.PAIRS, [])
    sides = sorted(paired)
    pairs_of = [len(paired[each][0]) for each in sides]
    columns = [np.repeat(np.array(column, object), pairs_of) for column in zip(*sides, strict=True)]
    columns += [np.concatenate(each) for each in zip(*map(paired.get, sides), strict=True)]
    return pd.DataFrame(dict(zip(Pair._fields, columns, strict=True)))


def references(dataset: Dataset, *controls: Decision) -> tuple[str, ...]:
    """The arms whose mean an arm is compared with: both of the A/A pair if all of this passed.

    Where it did, reference and double are one thing measured twice; both together scatter
    less than one. Where it did not, or the pair is shown to differ by less than the margin, the
    reference stands alone: half of that difference would move what every arm is held against.
    """
    plan = dataset.plan
    passed = all(
        control.outcome == outcomes.EQUIVALENT
        and control.interval95[0] <= 1 <= control.interval95[1]
        for control in controls
    )
    return (plan.reference, plan.double) if passed else (plan.reference,)


def assay(dataset: Dataset, case: str, metric: str, margin: float | None, of_case: Numbers) -> str:
    """The outcome of the positive control of a case at a margin; `none` where there is none.

    Args:
        of_case: its numbers, with the reference that others are compared with.
    """
    plan = dataset.plan
    if plan.positive_arm not in plan.arms_of(case):
        return NONE
    control = Asked(case, metric, plan.positive_arm, plan.reference, margin)
    return assay_of(decided(dataset, control, pairs(of_case, control), of_case))


def decided(dataset: Dataset, asked: Asked, paired: Sequence[Pair], of_case: Numbers) -> Decision:
    """The decision on a comparison before the A/A gate, with the reason why blocks are few.

    Args:
        of_case: all numbers of its case and metric.
    """
    by_block = {pair.block: pair.effect for pair in paired}
    arms, ratio = (asked.arm, asked.reference), asked.kind == RATIO
    objection = objection_to_losses(dataset, of_case, asked.case, arms, ratio)
    levels = dataset.levels(asked.case, asked.arm)
    decision = rested(dataset, by_block, asked.margin, objection, levels, ratio)
    if decision.blocks >= 2:
        return decision
    reason = _reason(dataset, asked)
    if not decision.blocks and reason.startswith(outcomes.NOT_TESTED):
        declared = reason.split(": ", 1)[-1]
        return replace(decision, outcome=outcomes.NOT_TESTED, reason=declared)
    return replace(decision, reason=reason)


def rested(
    dataset: Dataset,
    by_block: Mapping[str, float],
    margin: float | None,
    objection: str,
    levels: Levels,
    ratio: bool = True,
) -> Decision:
    """The decision on the effects of blocks, on as much of them as is independent.

    Args:
        objection: what the losses have against it. It stands beside what is inconclusive
            anyway, too: others build on it.
        levels: those of the last look at these blocks.
    """
    independent = sample(by_block, dataset.places)
    decision = replace(decide(independent.effects, margin, ratio, levels), blocks=len(by_block))
    objection = independent.objection or objection
    if not objection or decision.outcome in (outcomes.REPORTED, outcomes.TOO_FEW_BLOCKS):
        return decision
    return replace(decision, outcome=outcomes.INCONCLUSIVE, reason=objection)


def _sides(asked: Asked) -> tuple[str, str, str]:
    """The case and both arms: what comparisons of its metrics have in common."""
    return asked.case, asked.arm, asked.reference


def _planned_blocks(dataset: Dataset, case: str, arm: str, reference: str) -> int:
    """In how many blocks the plan holds both sides."""
    there = [dataset.planned_in.get((case, each), set()) for each in (arm, reference)]
    return len(set.intersection(*there))


def _reason(dataset: Dataset, asked: Asked) -> str:
    """Why there are fewer than two pairs: not tested, the commonest failure, or the plan itself."""
    if declared := dataset.not_tested(asked.case).get(asked.arm):
        return f"{outcomes.NOT_TESTED}: {declared}"
    for arm in (asked.arm, asked.reference):
        if commonest := dataset.shortage(asked.case, (arm,)):
            return commonest if arm == asked.arm else f"{arm}: {commonest}"
    return NEEDS_TWO
