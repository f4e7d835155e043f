"""What the rules look at: comparisons of a dataset, alone and along a factor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parity.analysis import outcomes
from parity.analysis.analysis import Analysed
from parity.analysis.contrast import Contrast, Engine, Evidence, over
from parity.analysis.decision import NONE, assay_of
from parity.analysis.identity import worst
from parity.analysis.pairing import Numbers
from parity.analysis.sample import half_width, sample
from parity.analysis.statistics.sequential import ONE_LOOK, Levels, strictest
from parity.plan.plan import Plan

NODES, RANKS, PER_NODE = "nodes", "ranks", "containers_per_node"
# Between the cases of a series.
JOINED = " + "


class CellLevels(NamedTuple):
    """At which levels a comparison and its A/A pair are decided.

    Each is the strictest of its two arms', as they may have stopped at different looks.
    """

    own: Levels = ONE_LOOK
    pair: Levels = ONE_LOOK


AT_ONE_LOOK = CellLevels()


@dataclass(frozen=True)
class Cell:
    """One comparison: an arm against another in one case.

    Attributes:
        engine: what concludes contrasts of its dataset.
        parameters: those of the case, factor levels included.
        number_of: number of each block.
        identity: whether both ran the same binary, a name from `parity.analysis.identity`.
        shortage: the commonest reason why a run does not count; empty if all do.
        natives: the arms whose mean a ratio to the reference is to, as the analysis compares;
            empty for the reference alone.
    """

    engine: Engine
    benchmark: str
    case: str
    metric: str
    arm: str
    against: str
    parameters: Mapping[str, Any]
    number_of: Mapping[str, int]
    identity: str
    shortage: str
    natives: tuple[str, ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Reference and double, the two arms of the A/A pair."""
        plan = self.engine.dataset.plan
        return plan.reference, plan.double

    @property
    def numbers(self) -> Numbers:
        """The values of every arm in this case."""
        return self.engine.numbers(self.case, self.metric)

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.numbers.unit

    @property
    def ratio(self) -> bool:
        """Whether the plan compares by ratios, as it does what it does not compare."""
        margins = self.engine.dataset.margins
        return margins.get((self.case, self.metric), math.inf) is not None

    @property
    def blocks(self) -> int:
        """Blocks that hold a value of both arms, and for a ratio one above zero."""
        return len(self.evidence(self.ratio).by_block)

    @property
    def levels(self) -> CellLevels:
        """Those of the looks at its blocks."""
        of, sides = self.engine.dataset.levels, ((self.arm, self.against), self.pair)
        return CellLevels(*(strictest(of(self.case, arm) for arm in arms) for arms in sides))

    @property
    def objection(self) -> str:
        """What losses, or nodes and sessions that differ, have against any conclusion."""
        return self.evidence(self.ratio).objection

    @property
    def pair_objection(self) -> str:
        """What the same have against a conclusion on the A/A pair."""
        return self.evidence(self.ratio, control=True).objection

    def values(self, arm: str) -> list[float]:
        """The values of an arm that count."""
        return list(self.numbers.of(arm).values())

    def evidence(self, ratio: bool = True, control: bool = False) -> Evidence:
        """What its contrast is decided by, or that of the A/A pair in this case."""
        return self.engine.evidence(self._contrast(ratio, control))

    def effects(self, ratio: bool = True, control: bool = False) -> np.ndarray:
        """Logs of the cost ratio, or differences in the unit, in the order of time.

        As in the analysis: one of each block, or of each node or session that blocks share.

        Args:
            control: of the A/A pair in this case instead of the arm.
        """
        return self.evidence(ratio, control).units.effects

    def by_number(self, control: bool = False) -> dict[int, float]:
        """Logs of the cost ratio by the number of the block.

        Cases of different node counts lie in different blocks; those of one number are
        independent allocations, which may be put beside each other at will.
        """
        return self._numbered(self.evidence(control=control).by_block)

    def costs(self, arm: str) -> dict[int, float]:
        """Logs of what an arm costs by the number of the block."""
        return self._numbered(self.numbers.costs(arm))

    def assay(self, margin: float) -> str:
        """Outcome of the positive control at a margin; `none` where there is none."""
        asked = self._contrast(True, False)._replace(margin=margin)
        positives = self.engine.positives(asked, self.natives or self.pair[:1])
        return assay_of(self.engine.decided(positives[0])) if positives else NONE

    def _numbered(self, by_block: Mapping[str, float]) -> dict[int, float]:
        return {self.number_of[block]: log for block, log in by_block.items()}

    def _contrast(self, ratio: bool, control: bool) -> Contrast:
        arm, against = self.pair[::-1] if control else (self.arm, self.against)
        is_to_both = self.natives[:1] == (against,) and arm not in self.natives and ratio
        natives = self.natives if is_to_both else (against,)
        return over(self.case, self.metric, arm, natives, None, ratio)


@dataclass(frozen=True)
class JudgingData(Analysed):
    """A dataset and its analysis, as the rules see them."""

    @property
    def plan(self) -> Plan:
        """The plan of the dataset."""
        return self.dataset.plan

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Number of each block."""
        return {block.name: block.number for block in self.plan.blocks}

    @cached_property
    def memory_mib(self) -> float | None:
        """MemTotal of the smallest node, MiB; None if no node says it in kB."""
        nodes = self.dataset.nodes
        texts = nodes.loc[nodes["fact"] == "memory_total", "value"].unique()
        sizes = [float(text.removesuffix("kB")) / 1024 for text in texts if text.endswith("kB")]
        return min(sizes, default=None)

    @cached_property
    def unsteady(self) -> frozenset[str]:
        """Cases in which the A/A pair differs from itself by the plan's own comparisons."""
        return frozenset(
            key[0]
            for key, compared in self.compared.items()
            if compared.control and compared.decision.as_control == outcomes.DIFFERENT
        )

    def is_of_same_system(self, other: JudgingData) -> bool:
        """Whether both were measured on the same kind of system with the same processor.

        Two machines may go by the same name, and their data are never judged together.
        """
        one, two = self.dataset, other.dataset
        return one.kind == two.kind and _processors(one.nodes) == _processors(two.nodes)

    def cell(self, case: str, metric: str, arm: str, against: str) -> Cell:
        """A comparison of two arms of the plan in one of its cases."""
        planned, of_case = self.plan.case(case), self.engine.numbers(case, metric)
        common = of_case.of(arm).keys() & of_case.of(against).keys()
        return Cell(
            engine=self.engine,
            benchmark=planned.benchmark,
            case=case,
            metric=metric,
            arm=arm,
            against=against,
            parameters=planned.parameters,
            number_of=self.number_of,
            identity=self.dataset.identity([case], (arm, against), common),
            shortage=self.dataset.shortage(case, (arm, against)),
            natives=self.natives.get((case, metric), ()),
        )

    def not_run(self, case: str, arm: str) -> str:
        """Why no run of an arm of the plan was even possible here; empty if one was."""
        reasons = self.dataset.reasons.get((case, arm), [])
        if reasons and all(reason.startswith(outcomes.NOT_TESTED) for reason in reasons):
            return f"{arm}: {reasons[0].partition(': ')[2]}"
        return ""


def _processors(nodes: pd.DataFrame) -> set[str]:
    return set(nodes.loc[nodes["fact"] == "cpu_model", "value"])


@dataclass(frozen=True)
class Series:
    """The cells of one arm that differ in one parameter only, in the order of its levels."""

    along: str
    cells: tuple[Cell, ...]

    @property
    def case(self) -> str:
        """The cases, joined."""
        return JOINED.join(cell.case for cell in self.cells)

    @property
    def metric(self) -> str:
        """The metric of all its cells."""
        return self.cells[0].metric

    @property
    def arm(self) -> str:
        """The arm of all its cells."""
        return self.cells[0].arm

    @property
    def against(self) -> str:
        """The arm that it is compared with."""
        return self.cells[0].against

    @property
    def identity(self) -> str:
        """The worst that any of its cells says about the binaries."""
        return worst(cell.identity for cell in self.cells)

    @property
    def objection(self) -> str:
        """The first objection of its cells to any conclusion."""
        return next(filter(None, (cell.objection for cell in self.cells)), "")

    @property
    def pair_objection(self) -> str:
        """The first objection to any conclusion on the A/A pair of its cells."""
        return next(filter(None, (cell.pair_objection for cell in self.cells)), "")

    def assay(self, margin: float) -> str:
        """The first outcome of its cells' positive controls that is not a difference."""
        there = [cell.assay(margin) for cell in self.cells]
        lacking = (outcome for outcome in there if outcome not in (NONE, outcomes.DIFFERENT))
        return next(lacking, min(there))

    def complete(self, control: bool = False) -> pd.DataFrame:
        """Logs of the cost ratio of blocks with every level: a row per block, a column per level.

        Args:
            control: of the A/A pair instead of the arm.
        """
        columns = [pd.Series(cell.by_number(control), dtype=float) for cell in self.cells]
        levels = [cell.parameters.get(self.along) for cell in self.cells]
        return pd.concat(columns, axis=1, keys=levels).sort_index().dropna()

    def independent(self, effects: Mapping[int, float]) -> np.ndarray:
        """Effects by the number of the block as of a cell: by time, or of what is shared.

        Blocks of one number may have run elsewhere at each level. What any level's share counts;
        of several the one whose interval of the mean is widest.
        """
        if len(effects) < 2:
            return np.array(list(effects.values()), dtype=float)
        return max((_independent(cell, effects) for cell in self.cells), key=half_width)


def _independent(cell: Cell, effects: Mapping[int, float]) -> np.ndarray:
    """Effects by the number of the block, as far as they are independent where this cell ran."""
    there = set().union(*cell.numbers.by_arm.values())
    by_block = {
        block: effects[number]
        for block, number in cell.number_of.items()
        if block in there and number in effects
    }
    return sample(by_block, cell.engine.dataset.places).effects


def alike(cells: Iterable[Cell], along: str, grows: str = "") -> list[list[Cell]]:
    """The cells of each arm whose cases have all other parameters in common.

    Along nodes, ranks may grow with them.

    Args:
        grows: a parameter that need only be in proportion.
    """
    grouped: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        level = cell.parameters.get(along)
        rest = {name: value for name, value in cell.parameters.items() if name != along}
        if along == NODES and level and RANKS in rest:
            rest[RANKS] = rest[RANKS] / level
        if grows in rest:
            rest[grows] = level / rest[grows]
        others = sorted((name, str(value)) for name, value in rest.items())
        grouped.setdefault((cell.arm, *others), []).append(cell)
    return list(grouped.values())
