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
# From the options of a test and its cells to what is found in them, before any gate.
Find = Callable[[Options, Scope], list[Finding]]
_FILE = msgspec.yaml.decode(Path(__file__).with_name("options.yaml").read_bytes())
_SCHEMAS: Mapping[str, Mapping[str, Mapping[str, Any]]] = _FILE["rules"]
WORDS: Mapping[str, Mapping[str, str]] = _FILE["words"]


@dataclass(frozen=True)
class Rule:
    """One decision rule. A module of this package lists its own in `RULES`."""

    name: str
    find: Find
    version: int = 1  # raised when it decides otherwise than before: that amends claims that use it
    # Whether it concludes that something differs. Such claims share one family per study and kind,
    # and are adjusted for their number (Holm).
    one_sided: bool = False
    proves_sameness: bool = False  # that two things are the same: the A/A pair has to pass it, too
    compares: bool = True  # an arm with another; else no A/A pair or binary stands in its way
    by_cell: bool = False  # whether what it finds in a cell depends on no other
    every_pair: bool = False  # whether it compares its arms with each other
    for_looks: bool = False  # decides at the levels of the look; else leaves open what had several
    # The fewest blocks that can show what its options ask for; None where no number follows.
    needed: Callable[[Options], int] | None = None

    @property
    def options(self) -> Mapping[str, Mapping[str, Any]]:
        """JSON schema of each of its numbers, from options.yaml."""
        return _SCHEMAS[self.name]


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its name, found by being in a module's `RULES`."""
    there = [rule for listed in modules_with(sys.modules[__name__], "RULES") for rule in listed]
    return {rule.name: rule for rule in sorted(there, key=lambda rule: rule.name)}
