"""How much of what a statement speaks of was decided, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from parity.claims import terms
from parity.claims.selection import Selection
from parity.core.wording import listed

# What a level of a parameter is called where its own name does not say it.
CALLED = {
    "nodes": "node count",
    "ranks": "rank count",
    "containers_per_node": "container count",
    "threads": "thread count",
    "seconds": "duration",
    **dict.fromkeys(("n", "prime", "elements", "class", "gigabytes"), "size"),
}
# Arm with that which it is compared with, and the parameters of the case.
DecidedCell = tuple[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Covered:
    """How many levels of one parameter the decided cells have, of those that it should be.

    Attributes:
        there: declared levels that every arm was decided at.
        instead: other levels that cells were decided at; of use where `there` is empty.
    """

    parameter: str
    declared: tuple[Any, ...]
    there: tuple[Any, ...]
    instead: tuple[str, ...]

    def __str__(self) -> str:
        """In words: `1 of 10 node counts`, `the same size`, `size 24 for 104`."""
        planned, reached = len(self.declared), len(self.there)
        if reached == planned:
            whose = f"all {planned}" if planned > 1 else "the same"
            return f"{whose} {self._called(planned)}"
        if self.there:
            return f"{reached} of {planned} {self._called(planned)}"
        wanted = _levels(self.declared)
        if not self.instead:
            return f"not {self._called(planned)} {wanted}"
        return f"{self._called(len(self.instead))} {_levels(self.instead)} for {wanted}"

    def _called(self, count: int) -> str:
        """What so many levels are called."""
        if self.parameter in CALLED:
            return CALLED[self.parameter] + ("" if count == 1 else "s")
        return f"{'level' if count == 1 else 'levels'} of {self.parameter}"


def _levels(levels: Sequence[Any]) -> str:
    """Levels in words; of more than three the first and the last."""
    return listed(levels if len(levels) <= 3 else [f"{levels[0]} to {levels[-1]}"])


@dataclass(frozen=True)
class Coverage:
    """How much of what a test's statement speaks of was decided, by parameter.

    Attributes:
        decided: whether any cell was.
    """

    parameters: tuple[Covered, ...]
    decided: bool

    def __str__(self) -> str:
        """In words; empty if no level is declared."""
        if self.parameters and not self.decided:
            return "nothing decided"
        return ", ".join(map(str, self.parameters))

    @property
    def most(self) -> str:
        """The most that a test of this coverage can end as."""
        if any(not covered.there for covered in self.parameters):
            return terms.ORDER_OK
        whole = all(len(covered.there) == len(covered.declared) for covered in self.parameters)
        return terms.SUPPORTED if whole else terms.HOLDS_IN_PART


def coverage(chosen: Selection, decided: Iterable[DecidedCell]) -> Coverage:
    """The coverage of a selection by its decided cells.

    A level counts if it was decided for every arm, what one arm shows at 512 nodes says nothing
    of another that ran on one, and at declared levels of the other parameters. One of these
    that was decided at none of its levels says so itself and takes nothing from the rest.
    """
    several = {name: levels for name, levels in chosen.parameters.items() if len(levels) > 1}
    wanted, cells = several | dict(chosen.levels), list(decided)
    arms = {arm for arm, _ in cells}
    reached = {name: levels for name, levels in wanted.items() if _there(name, levels, cells, arms)}
    covered = []
    for name, declared in wanted.items():
        others = [(other, levels) for other, levels in reached.items() if other != name]
        fitting = [cell for cell in cells if all(_has(cell[1], *other) for other in others)]
        there = _there(name, declared, fitting, arms)
        instead = dict.fromkeys(str(p[name]) for _, p in cells if name in p)
        unknown = tuple(level for level in instead if level not in map(str, declared))
        covered.append(Covered(name, declared, there, unknown))
    return Coverage(tuple(covered), bool(cells))


def _there(
    name: str, declared: Sequence[Any], cells: Sequence[DecidedCell], arms: Set[tuple[str, str]]
) -> tuple[Any, ...]:
    """The declared levels of a parameter that the cells have of each of the arms."""
    return tuple(
        level
        for level in declared
        if arms and arms == {arm for arm, parameters in cells if _has(parameters, name, [level])}
    )


def _has(parameters: Mapping[str, Any], name: str, levels: Sequence[Any]) -> bool:
    """Whether a case has one of the levels of a parameter."""
    return name in parameters and str(parameters[name]) in map(str, levels)
