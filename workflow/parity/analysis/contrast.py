"""One conclusion: a weighted sum of log costs within blocks, held against a region.

An arm over the reference is +1 and -1, an interaction +1 -1 -1 +1, a step of a ladder +1 -1 of a
rung and the one before, a slope centred levels. They differ in weights, scale and region alone, and
all of them are concluded in this order, here and nowhere else:

1. references: each of the natives by itself, which have to agree (`estimate.Typical`);
2. pairs: one effect of each block that holds every cell (`weighted_sum`);
3. losses: what the runs that do not count have against it (`evidence.objection_to_losses`);
4. units: blocks, or the nodes or sessions that share something (`evidence.sample`);
5. levels: those of the last look at these blocks (`sequential`);
6. decide: the typical effect against the region, and what lies far off (`decision.decide`);
7. A/A pair: the same contrast of the double gates it (`decision.objection_of`);
8. assay: the positive control has to show a difference before "the same" is said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from parity.analysis import outcomes
from parity.analysis.dataset import Dataset
from parity.analysis.decision import NONE, WITHOUT_CONTROL, Decision, decide
from parity.analysis.evidence import ByCase, Numbers, objection_to_losses, sample
from parity.analysis.sequential import Levels, strictest
from parity.benchmarks.description import FIXED, WORK
from parity.plan.plan import Plan

NEEDS_TWO, NO_NUMBERS = "needs two blocks", Numbers()
Block = TypeVar("Block", str, int)
Method = TypeVar("Method", bound=Callable[..., Any])


class Term(NamedTuple):
    """A cell of a contrast, or several cells that are one thing measured more than once."""

    weight: float  # of the log of its cost; of its number where differences are concluded
    case: str
    arms: tuple[str, ...]  # each of them stands for it in turn; a block has to hold them all


class Contrast(NamedTuple):
    """What is concluded.

    `arm`, `reference`: which arm it tells of, and what that is held against. The lost runs of
    either, in every case of the contrast, count against it. `margin`: the region: of a ratio 0.01
    means within (1/1.01, 1.01), of a difference it is a bound in the unit; None where the contrast
    is only reported.
    """

    metric: str
    arm: str
    reference: str
    terms: tuple[Term, ...]  # the weighted cells; all in one block
    margin: float | None = None
    ratio: bool = True  # the scale: whether effects are logs of cost ratios, or differences

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases of its cells, each once."""
        return tuple(dict.fromkeys(term.case for term in self.terms))


def over(
    case: str, metric: str, arm: str, natives: tuple[str, ...], margin: float | None,
    ratio: bool | None = None,
) -> Contrast:  # fmt: skip
    """An arm over another, or several as one thing; by default a ratio where there is a margin."""
    terms = Term(1, case, (arm,)), Term(-1, case, natives)
    is_ratio = margin is not None if ratio is None else ratio
    return Contrast(metric, arm, natives[0], terms, margin, is_ratio)


def weighted_sum(columns: Iterable[tuple[float, Mapping[Block, float]]]) -> dict[Block, float]:
    """The effects of blocks, sorted, that all columns hold: weights, and logs of costs by block."""
    weighted = list(columns)
    common = sorted(set.intersection(*(set(of_block) for _, of_block in weighted)))
    columns_at = (weight * _at(common, of_block) for weight, of_block in weighted)
    effects = sum(columns_at, start=np.zeros(len(common)))
    return dict(zip(common, effects.tolist(), strict=True))


def _at(blocks: Iterable[Block], of_block: Mapping[Block, float]) -> np.ndarray:
    return np.array([of_block[block] for block in blocks], float)


class Evidence(NamedTuple):
    """What a contrast is decided by."""

    blocks: Sequence[str]  # those that hold every cell
    means: np.ndarray  # their effects against the mean of references
    effects: np.ndarray  # of those that are independent, a row for each reference (`sample`)
    objection: str  # why nothing can be concluded, whatever the numbers say; or empty
    levels: Levels  # of the last look at the blocks

    @property
    def by_block(self) -> dict[str, float]:
        """The effect of each of these blocks."""
        return dict(zip(self.blocks, self.means.tolist(), strict=True))

    def decided(self, margin: float | None, ratio: bool = True) -> Decision:
        """The decision at a margin; an objection stands beside what is inconclusive, too."""
        found = decide(self.effects, margin, ratio, self.levels)
        return replace(found, blocks=len(self.blocks)).without_claim(self.objection, barred=True)


def _once(method: Method) -> Method:
    """Remembers what a method of the engine gave for the same arguments."""

    @wraps(method)
    def remembered(self: "Engine", *asked: Any) -> Any:
        key = (method.__name__, *asked)
        if key not in self._known:
            self._known[key] = method(self, *asked)
        return self._known[key]

    return cast(Method, remembered)


@dataclass(frozen=True)
class Engine:
    """Concludes contrasts of one dataset; what several of them need is found once."""

    dataset: Dataset
    by_case: ByCase  # the numbers that count, by case and metric
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def numbers(self, case: str, metric: str) -> Numbers:
        """The numbers of a case; none where nothing of it counts."""
        return self.by_case.get((case, metric), NO_NUMBERS)

    def effects(self, contrast: Contrast) -> tuple[list[str], np.ndarray]:
        """The blocks that hold every cell, and their effects, shape (blocks, references).

        A reference without any number is left out; that there is no A/A pair then bars the rest.
        """
        cells = [
            (weight, [self._column(contrast, case, arm) for arm in arms])
            for weight, case, arms in contrast.terms
        ]
        most = max(len(columns) for _, columns in cells)
        rows = (weighted_sum((w, of[min(n, len(of) - 1)]) for w, of in cells) for n in range(most))
        there = [row for row in rows if row]
        common = sorted(set.intersection(*map(set, there))) if there else []
        return common, np.array([_at(common, row) for row in there]).T

    def _column(self, contrast: Contrast, case: str, arm: str) -> Mapping[str, float]:
        """What is summed of an arm by block, of another pair over the reference that is beside it.

        Two arms of pairs share no block. Those of one number are near in time, and go by the name
        of the contrast's own.
        """
        plan, numbers = self.dataset.plan, self.numbers(case, contrast.metric)
        column = numbers.column(contrast.ratio, arm)
        if len(plan.held_together(case, contrast.arm, contrast.reference)) == 1:
            return column
        beside, number_of = numbers.column(contrast.ratio, plan.reference), self.dataset.number_of
        there = column.keys() & beside
        over = {number_of[block]: column[block] - beside[block] for block in there}
        own = ((block, number_of[block]) for block in numbers.of(contrast.arm))
        return {block: over[number] for block, number in own if number in over}

    def evidence(self, contrast: Contrast) -> Evidence:
        """What a contrast is decided by, whatever its margin."""
        return self._evidence(contrast._replace(margin=None))

    @_once
    def _evidence(self, contrast: Contrast) -> Evidence:
        blocks, effects = self.effects(contrast)
        cases, metric, references = contrast.cases, contrast.metric, [contrast.reference]
        for _, case, arms in contrast.terms:
            # A block has to hold all of several references.
            if contrast.reference in arms:
                references += [arm for arm in arms if self.numbers(case, metric).of(arm)]
        losses = (
            self._losses(case, metric, arm, beside, contrast.ratio)
            for case in cases
            for reference in dict.fromkeys(references)
            for arm, beside in self.dataset.plan.held_together(case, contrast.arm, reference)
        )
        levels = (self.dataset.levels(case, contrast.arm) for case in cases)
        means = effects.mean(axis=1) if blocks else np.zeros(0)
        by_block = dict(zip(blocks, means.tolist(), strict=True))
        units, objection = sample(by_block, self.dataset.places, effects)
        objection = objection or next(filter(None, losses), "")
        return Evidence(blocks, means, units, objection, strictest(levels))

    @_once
    def decided(self, contrast: Contrast) -> Decision:
        """The decision before the A/A pair and the assay are asked; why, if blocks are too few."""
        decision = self.evidence(contrast).decided(contrast.margin, contrast.ratio)
        return self._lacking(contrast, decision) if decision.blocks < 2 else decision

    def pair(self, case: str, metric: str, margin: float | None) -> Contrast:
        """The reference's double over the reference."""
        plan = self.dataset.plan
        return over(case, metric, plan.double, (plan.reference,), margin)

    def positives(self, contrast: Contrast) -> list[Contrast]:
        """The positive control over the natives, in each case of a contrast that runs it."""
        plan, arm = self.dataset.plan, self.dataset.plan.positive_arm
        of_cases = natives(plan, *contrast.cases)
        # Whole units of a shorter run may have none for so much more work.
        shorter = plan.shorter_of if contrast.metric == WORK.metric else {}
        runs = {name: run.case.name for name, run in shorter.items()}
        both = ((case, (case, runs.get(case, case))) for case in contrast.cases)
        held = [case for case, names in both if all(arm in plan.arms_of(name) for name in names)]
        return [over(case, contrast.metric, arm, of_cases, contrast.margin) for case in held]

    def concluded(self, contrast: Contrast, gate: Contrast) -> Decision:
        """The decision as far as the A/A pair and the positive control allow.

        `gate`: the contrast of the A/A pair that gates this one; no other gates it itself.
        """
        decision = self.decided(contrast)
        return decision if contrast == gate else decision.gated(*self.gates(contrast, gate))

    def gates(self, contrast: Contrast, gate: Contrast) -> tuple[str, str]:
        """The outcomes of the A/A pair and of the positive control; as of `concluded`."""
        shown = [self.decided(each).as_assay for each in self.positives(contrast)]
        lacking = (outcome for outcome in shown if outcome != outcomes.DIFFERENT)
        assay = next(lacking, outcomes.DIFFERENT if shown else NONE)
        pair = self.decided(gate)
        return (pair if pair.blocks else WITHOUT_CONTROL).as_control, assay

    @_once
    def planned_blocks(self, cells: tuple[tuple[str, str], ...]) -> int:
        """In how many blocks the plan holds every cell: a case and an arm each."""
        blocks = (self.dataset.planned_in.get(cell, set()) for cell in cells)
        return len(set.intersection(*blocks))

    def _lacking(self, contrast: Contrast, decision: Decision) -> Decision:
        """Too few blocks: not tested, the commonest failure, or the plan itself is why."""
        if len(contrast.cases) > 1:
            return replace(decision, reason=NEEDS_TWO)  # Each of the cases says why of its own.
        (case,), (arm, reference) = contrast.cases, (contrast.arm, contrast.reference)
        declared = self.dataset.not_tested(case).get(arm)
        said, cases = f"{outcomes.NOT_TESTED}: {declared}" if declared else "", [case]
        shorter = self.dataset.plan.shorter_of.get(case)
        if shorter and not said and contrast.metric in (WORK.metric, FIXED.metric):
            cases.append(shorter.case.name)
            if arm not in self.dataset.arms_of(shorter.case.name):
                said = f"{outcomes.NOT_TESTED}: no shorter run of it in whole units"
        lost = (self.dataset.shortage(each, (arm,)) for each in cases)
        reason = said or next(filter(None, lost), "")
        if not decision.blocks and reason.startswith(outcomes.NOT_TESTED):
            return replace(decision, outcome=outcomes.NOT_TESTED, reason=reason.split(": ", 1)[-1])
        if not reason and (of_reference := self.dataset.shortage(case, (reference,))):
            reason = f"{reference}: {of_reference}"
        return replace(decision, reason=reason or NEEDS_TWO)

    @_once
    def _losses(self, case: str, metric: str, arm: str, reference: str, ratio: bool) -> str:
        numbers = self.numbers(case, metric)
        return objection_to_losses(self.dataset, numbers, case, (arm, reference), ratio)


def natives(plan: Plan, *cases: str) -> tuple[str, ...]:
    """The arms that an arm is compared with: both of the A/A pair, where a block holds both."""
    if plan.is_paired or any(map(plan.in_pairs, cases)):
        return (plan.reference,)
    held = (plan.double in plan.arms_of(case) for case in cases)
    return plan.aa_pair if plan.double and all(held) else (plan.reference,)
