"""What every rule provides: the numbers it takes, and what it finds in the cells of a test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.claims.finding import Finding, too_few_in
from parity.claims.judging_data import Cell
from parity.claims.selection import Scope

PERCENT = {"type": "number", "exclusiveMinimum": 0, "maximum": 1000}
Options = Mapping[str, Mapping[str, Any]]
NAME = {"$ref": "#/$defs/name"}
ALL, MOST = "all", "most"
OF_CELLS = {
    "description": "Whether it has to hold in all cells, or in most of those of such tests.",
    "enum": [ALL, MOST],
    "default": ALL,
}


class Rule(ABC):
    """One decision rule. A module of this package lists its own in `RULES`.

    Attributes:
        name: as the register calls it.
        version: raised whenever the rule decides otherwise than before, because that
            amends every claim that uses it.
        options: JSON schema of each of its numbers, each with a description; those that have
            a default may be left out.
        one_sided: whether it concludes that something differs. Such claims share one
            family per study and kind, and are adjusted for their number (Holm).
        proves_sameness: whether it concludes that two things are the same, so that the
            A/A pair has to pass the same test.
        compares: whether it is about an arm beside another. If not, neither the A/A pair
            nor a differing binary stands in its way.
        every_pair: whether it compares its arms with each other.
        for_looks: whether it decides at the levels of the look. If not, it leaves open what a
            study with several looks measured.
    """

    name: str
    version: ClassVar[int] = 1
    options: ClassVar[Options] = {}
    one_sided: ClassVar[bool] = False
    proves_sameness: ClassVar[bool] = False
    compares: ClassVar[bool] = True
    every_pair: ClassVar[bool] = False
    for_looks: ClassVar[bool] = False

    def against(self, options: Mapping[str, Any]) -> str:
        """The arm to compare with where the cells name none; empty for the reference."""
        return ""

    @abstractmethod
    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """What it finds in the cells that are there; gates are applied afterwards."""


class CellRule(Rule):
    """A rule that looks at each cell by itself."""

    fewest: ClassVar[int] = 2

    def findings(self, options: Mapping[str, Any], scope: Scope) -> list[Finding]:
        """One finding for each cell."""
        return [
            self.look(cell, options, scope)
            if cell.blocks >= self.fewest
            else too_few_in(cell, cell.blocks, self.fewest)
            for cell in scope.cells
        ]

    @abstractmethod
    def look(self, cell: Cell, options: Mapping[str, Any], scope: Scope) -> Finding:
        """The finding in a cell with enough blocks."""
