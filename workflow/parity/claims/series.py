"""Cells in a row: one arm over the levels of a factor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from parity.analysis.decision import NONE
from parity.analysis.identity import worst
from parity.analysis.outcomes import DIFFERENT
from parity.analysis.sample import half_width, sample
from parity.claims.judging_data import Cell
from parity.claims.selection import Absent, Scope
from parity.core.wording import counted

NODES, RANKS, CONTAINERS = "nodes", "ranks", "containers_per_node"
# Between the cases of a series.
JOINED = " + "


@dataclass(frozen=True)
class Series:
    """The cells of one arm that differ in one parameter only, by rising level of it."""

    along: str
    cells: tuple[Cell, ...]

    @property
    def levels(self) -> list[float]:
        """The levels, ascending."""
        return [float(cell.parameters[self.along]) for cell in self.cells]

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
        return next((each for each in there if each not in (NONE, DIFFERENT)), min(there))

    def complete(self, control: bool = False) -> pd.DataFrame:
        """Logs of the cost ratio of blocks with every level: a row per block, a column per level.

        Args:
            control: of the A/A pair instead of the arm.
        """
        columns = [pd.Series(cell.logs_by_number(control), dtype=float) for cell in self.cells]
        return pd.concat(columns, axis=1, keys=self.levels).sort_index().dropna()

    def independent(self, effects: np.ndarray, numbers: Iterable[int]) -> np.ndarray:
        """Effects of blocks as a cell takes its own: ordered by time, or means of what is shared.

        Blocks of one number may have run elsewhere at each level. What any level's share counts;
        of several the one whose interval of the mean is widest.

        Args:
            numbers: of the blocks.
        """
        of_number = dict(zip(numbers, effects.tolist(), strict=True))
        found = [_independent(cell, of_number) for cell in self.cells]
        return max(found, key=half_width) if len(of_number) > 1 else effects


def _independent(cell: Cell, of_number: Mapping[int, float]) -> np.ndarray:
    """Effects by the number of the block, as far as they are independent where this cell ran."""
    there = set().union(*cell.numbers.by_arm.values())
    by_block = {
        block: of_number[number]
        for block, number in cell.number_of.items()
        if block in there and number in of_number
    }
    return sample(by_block, cell.places).effects


def series(scope: Scope, along: str, fewest: int) -> tuple[list[Series], list[Absent]]:
    """The series of a test, and what is none.

    Cases belong into one series if they differ in nothing else; along nodes, ranks may
    grow with them, and along ranks containers, where those are as many nowhere.

    Args:
        fewest: levels that a series needs.
    """
    cells = [cell for cell in scope.cells if along in cell.parameters]
    grouped = alike(cells, along)
    if along == RANKS and all(len(group) < fewest for group in grouped):
        grouped = alike(cells, along, grows=CONTAINERS)
    if scope.cells and not grouped:
        first = scope.cells[0]
        reason = f"no case of {first.benchmark} has a parameter {along}"
        return [], [Absent(first.metric, first.arm, first.against, reason)]
    whole, missing = [], []
    for cells in grouped:
        ordered = sorted(cells, key=lambda cell: float(cell.parameters[along]))
        levels = {cell.parameters[along] for cell in cells}
        if len(levels) == len(cells) >= fewest:
            whole.append(Series(along, tuple(ordered)))
            continue
        reason = (
            f"{counted(len(levels), 'level')} of {along}, {fewest} are needed"
            if len(levels) < fewest
            else f"several cases for one level of {along}"
        )
        missing.append(Absent(cells[0].metric, cells[0].arm, cells[0].against, reason))
    return whole, list(dict.fromkeys(missing))


def alike(cells: Iterable[Cell], along: str, grows: str = "") -> list[list[Cell]]:
    """The cells of each arm whose cases have all other parameters in common.

    Args:
        grows: a parameter that need only be in proportion.
    """
    grouped: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        grouped.setdefault((cell.arm, *_others(cell.parameters, along, grows)), []).append(cell)
    return list(grouped.values())


def _others(parameters: Mapping[str, Any], along: str, grows: str) -> tuple[tuple[str, str], ...]:
    """What cases of one series have in common: all other parameters."""
    rest = {name: value for name, value in parameters.items() if name != along}
    if along == NODES and RANKS in rest:
        rest[RANKS] = parameters[RANKS] / parameters[NODES]
    if grows in rest:
        rest[grows] = parameters[along] / parameters[grows]
    return tuple(sorted((name, str(value)) for name, value in rest.items()))
