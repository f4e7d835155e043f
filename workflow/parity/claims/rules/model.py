"""What every rule provides: the numbers it takes, and what it finds in the cells of a test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from parity.claims.finding import Finding, too_few_in
from parity.claims.judging_data import Cell
from parity.claims.selection import Scope

Options = Mapping[str, Mapping[str, Any]]
_OPTIONS: Mapping[str, Options] = msgspec.yaml.decode(
    Path(__file__).with_name("options.yaml").read_bytes()
)["rules"]
# Of the option `of_cells`.
MOST = "most"


class Rule(ABC):
    """One decision rule. A module of this package lists its own in `RULES`.

    Attributes:
        name: as the register calls it.
        version: raised whenever the rule decides otherwise than before, because that
            amends every claim that uses it.
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
    one_sided: ClassVar[bool] = False
    proves_sameness: ClassVar[bool] = False
    compares: ClassVar[bool] = True
    every_pair: ClassVar[bool] = False
    for_looks: ClassVar[bool] = False

    @property
    def options(self) -> Options:
        """JSON schema of each of its numbers, from options.yaml."""
        return _OPTIONS[self.name]

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
