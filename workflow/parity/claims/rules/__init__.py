"""The decision rules: what each claims, how it decides, and what it finds in cells."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from parity.claims.cells import Scope
from parity.claims.finding import Finding
from parity.core.package import modules_with

Options = Mapping[str, Any]
Schemas = Mapping[str, Mapping[str, Any]]
# From the options of a test and its cells to what is found in them, before any gate.
Find = Callable[[Options, Scope], list[Finding]]
_SCHEMAS: Mapping[str, Schemas] = msgspec.yaml.decode(
    Path(__file__).with_name("options.yaml").read_bytes()
)["rules"]


@dataclass(frozen=True)
class Rule:
    """One decision rule. A module of this package lists its own in `RULES`.

    Attributes:
        version: raised whenever the rule decides otherwise than before, because that
            amends every claim that uses it.
        one_sided: whether it concludes that something differs. Such claims share one
            family per study and kind, and are adjusted for their number (Holm).
        proves_sameness: whether it concludes that two things are the same, so that the
            A/A pair has to pass the same test.
        compares: whether it is about an arm beside another. If not, neither the A/A pair
            nor a differing binary stands in its way.
        for_looks: whether it decides at the levels of the look. If not, it leaves open what a
            study with several looks measured.
        needed: the fewest blocks that can show what its options ask for; None where no number
            follows from them.
    """

    name: str
    find: Find
    version: int = 1
    one_sided: bool = False
    proves_sameness: bool = False
    compares: bool = True
    by_cell: bool = False  # whether what it finds in a cell depends on no other
    every_pair: bool = False  # whether it compares its arms with each other
    for_looks: bool = False
    needed: Callable[[Options], int] | None = None

    @property
    def options(self) -> Schemas:
        """JSON schema of each of its numbers, from options.yaml."""
        return _SCHEMAS[self.name]


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its name, found by being in a module's `RULES`."""
    there = [rule for listed in modules_with(sys.modules[__name__], "RULES") for rule in listed]
    return {rule.name: rule for rule in sorted(there, key=lambda rule: rule.name)}
