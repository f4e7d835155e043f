"""What the rules look at: the comparisons of a dataset, each with all that a rule may ask of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.analysis import Analysed
from parity.analysis.contrast import weighted_sum
from parity.analysis.dataset import Place
from parity.analysis.decision import NONE, assay_of, decide
from parity.analysis.ledger import objection_to_losses
from parity.analysis.pairing import Numbers, numbers
from parity.analysis.sample import Sample, sample
from parity.analysis.statistics.sequential import ONE_LOOK, Levels, strictest
from parity.plan.plan import Plan


class CellLevels(NamedTuple):
    """At which levels a comparison, its A/A pair and its positive control are decided.

    Each is the strictest of its two arms', as they may have stopped at different looks.
    """

    own: Levels = ONE_LOOK
    pair: Levels = ONE_LOOK
    positive: Levels = ONE_LOOK


AT_ONE_LOOK = CellLevels()


@dataclass(frozen=True)
class Cell:
    """One comparison: an arm against another in one case.

    Attributes:
        parameters: those of the case, factor levels included.
        numbers: the values of every arm in this case.
        number_of: number of each block.
        identity: whether both ran the same binary, a name from `parity.analysis.identity`.
        shortage: the commonest reason why a run does not count; empty if all do.
        pair: reference and double, the two arms of the A/A pair.
        natives: the arms whose mean a ratio to the reference is to, as the analysis compares;
            empty for the reference alone.
        places: where and when each block ran; empty where that is not known.
        losses: what the runs that do not count have against any conclusion on two arms: on this
            comparison, on the A/A pair and on the positive control.
        positive: the arm of the positive control; empty if it is not run in this case.
        ratio: whether the plan compares by ratios.
        levels: those of the looks at its blocks.
    """

    benchmark: str
    case: str
    metric: str
    arm: str
    against: str
    parameters: Mapping[str, Any]
    numbers: Numbers
    number_of: Mapping[str, int]
    identity: str
    shortage: str
    pair: tuple[str, str]
    natives: tuple[str, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    losses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    positive: str = ""
    ratio: bool = True
    levels: CellLevels = AT_ONE_LOOK

    @cached_property
    def objection(self) -> str:
        """What losses, or nodes and sessions that differ, have against any conclusion."""
        return self._objection(self._sides(control=False))

    @cached_property
    def pair_objection(self) -> str:
        """What the same have against a conclusion on the A/A pair."""
        return self._objection(self._sides(control=True))

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.numbers.unit

    @cached_property
    def blocks(self) -> int:
        """Blocks that hold a value of both arms, and for a ratio one above zero."""
        usable = self.numbers.costs if self.ratio else self.numbers.of
        return len(usable(self.arm).keys() & usable(self.against).keys())

    def values(self, arm: str) -> list[float]:
        """The values of an arm that count."""
        return list(self.numbers.of(arm).values())

    def effects(self, ratio: bool = True, control: bool = False) -> np.ndarray:
        """Logs of the cost ratio, or differences in the unit, in the order of time.

        As in the analysis: one of each block, or of each node or session that blocks share.

        Args:
            control: of the A/A pair in this case instead of the arm.
        """
        return self._sample(ratio, *self._sides(control)).effects

    def _objection(self, sides: tuple[str, str]) -> str:
        return self.losses.get(sides) or self._sample(True, *sides).objection

    def _sample(self, ratio: bool, arm: str, against: str) -> Sample:
        return sample(self._by_block(ratio, arm, against), self.places)

    def _sides(self, control: bool) -> tuple[str, str]:
        """The arm and what it is compared with: this cell's, or those of the A/A pair."""
        return (self.pair[1], self.pair[0]) if control else (self.arm, self.against)

    def assay(self, margin: float) -> str:
        """Outcome of the positive control at a margin; `none` where there is none."""
        if not self.positive:
            return NONE
        sides = self.positive, self.pair[0]
        effects = self._sample(True, *sides).effects
        found = decide(effects, margin, levels=self.levels.positive)
        return assay_of(found.without_claim(self._objection(sides)))

    def logs_by_number(self, control: bool = False) -> dict[int, float]:
        """Logs of the cost ratio by the number of the block.

        Cases of different node counts lie in different blocks; those of one number are
        independent allocations, which may be put beside each other at will.
        """
        return {
            self.number_of[block]: effect
            for block, effect in self._by_block(True, *self._sides(control)).items()
        }

    def costs(self, arm: str) -> dict[int, float]:
        """Logs of what an arm costs by the number of the block."""
        return {self.number_of[block]: log for block, log in self.numbers.costs(arm).items()}

    def _by_block(self, ratio: bool, arm: str, against: str) -> dict[str, float]:
        """The effect of each block; both natives are the reference of a ratio to one of them."""
        is_pooled = ratio and against in self.natives and arm not in self.natives
        base = self.natives if is_pooled else (against,)
        own, theirs = self.numbers.column(ratio, arm), self.numbers.column(ratio, *base)
        return weighted_sum([(1, own), (-1, theirs)])


@dataclass(frozen=True)
class JudgingData(Analysed):
    """A dataset and its analysis, as the rules see them."""

    @property
    def plan(self) -> Plan:
        """The plan of the dataset."""
        return self.dataset.plan

    @cached_property
    def numbers(self) -> dict[tuple[str, str], Numbers]:
        """The values that count, by case and metric."""
        return numbers(self.analysis.values)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Number of each block."""
        return {block.name: block.number for block in self.plan.blocks}

    @cached_property
    def memory_mib(self) -> float | None:
        """MemTotal of the smallest node, MiB; None if no node says it in kB."""
        nodes = self.dataset.nodes
        said = nodes.loc[nodes["fact"] == "memory_total", "value"].unique()
        sizes = [float(text.removesuffix("kB")) / 1024 for text in said if text.endswith("kB")]
        return min(sizes, default=None)

    def is_of_same_system(self, other: JudgingData) -> bool:
        """Whether both were measured on the same kind of system with the same processor.

        Two machines may go by the same name, and their data are never judged together.
        """
        one, two = self.dataset, other.dataset
        return one.kind == two.kind and _processors(one.nodes) == _processors(two.nodes)

    @cached_property
    def unsteady(self) -> frozenset[str]:
        """Cases in which the A/A pair differs from itself by the plan's own comparisons."""
        return frozenset(
            key[0]
            for key, compared in self.compared.items()
            if compared.control and compared.decision.as_control == outcomes.DIFFERENT
        )

    def cell(self, case: str, metric: str, arm: str, against: str) -> Cell:
        """A comparison of two arms of the plan in one of its cases."""
        planned = self.plan.case(case)
        of_case = self.numbers.get((case, metric), Numbers())
        common = of_case.of(arm).keys() & of_case.of(against).keys()
        reference, double = self.plan.reference, self.plan.double
        positive = self.plan.positive_arm
        positive = positive if positive in self.plan.arms_of(case) else ""
        # What the plan does not compare is by ratios, too.
        ratio = self.dataset.margins.get((case, metric), math.inf) is not None
        # In the order of `CellLevels`.
        compared = [(arm, against), (double, reference)]
        compared += [(positive, reference)] if positive else []
        return Cell(
            benchmark=planned.benchmark,
            case=case,
            metric=metric,
            arm=arm,
            against=against,
            parameters=planned.parameters,
            numbers=of_case,
            number_of=self.number_of,
            identity=self.dataset.identity([case], (arm, against), common),
            shortage=self.dataset.shortage(case, (arm, against)),
            pair=(reference, double),
            natives=self.natives.get((case, metric), ()),
            places=self.dataset.places,
            losses={
                arms: objection_to_losses(self.dataset, of_case, case, arms, ratio)
                for arms in compared
            },
            positive=positive,
            ratio=ratio,
            levels=CellLevels(
                *(strictest(self.dataset.levels(case, side) for side in arms) for arms in compared)
            ),
        )

    def not_run(self, case: str, arm: str) -> str:
        """Why no run of an arm of the plan was even possible here; empty if one was."""
        reasons = self.dataset.reasons.get((case, arm), [])
        if reasons and all(reason.startswith(outcomes.NOT_TESTED) for reason in reasons):
            return f"{arm}: {reasons[0].partition(': ')[2]}"
        return ""


def _processors(nodes: pd.DataFrame) -> set[str]:
    return set(nodes.loc[nodes["fact"] == "cpu_model", "value"])
