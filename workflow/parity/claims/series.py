"""Cells in a row: one arm over the levels of a factor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from parity.analysis.identity import BINARY_DIFFERS, LIBRARIES_DIFFER, NOT_RECORDED, SAME
from parity.claims import terms
from parity.claims.cells import Absent, Cell, Scope
from parity.claims.finding import Finding, absent

NODES, RANKS = "nodes", "ranks"


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
        return " + ".join(cell.case for cell in self.cells)

    @property
    def identity(self) -> str:
        """The worst that any of its cells says about the binaries."""
        found = {cell.identity for cell in self.cells}
        order = (BINARY_DIFFERS, LIBRARIES_DIFFER, NOT_RECORDED, SAME)
        return next(name for name in order if name in found)

    def frame(self, value: str, control: bool = False) -> pd.DataFrame:
        """Columns block, level and `value`: the log cost ratio.

        Args:
            control: of the A/A pair instead of the arm.
        """
        rows = [
            {"block": number, "level": level, value: log}
            for level, cell in zip(self.levels, self.cells, strict=True)
            for number, log in (cell.control_logs() if control else cell.logs_by_number()).items()
        ]
        return pd.DataFrame(rows, columns=["block", "level", value])

    def complete(self, value: str, control: bool = False) -> pd.DataFrame:
        """The rows of `frame` whose block holds every level."""
        frame = self.frame(value, control)
        counts = frame.groupby("block")["level"].transform("size")
        return frame[counts == len(self.cells)]

    def finding(self, verdict: str, reason: str, **facts: Any) -> Finding:
        """A finding about the whole series."""
        first = self.cells[0]
        return Finding(
            **{
                "case": self.case,
                "metric": first.metric,
                "arm": first.arm,
                "against": first.against,
                "verdict": verdict,
                "reason": reason,
                "identity": self.identity,
                **facts,
            }
        )


def series(scope: Scope, along: str, fewest: int) -> tuple[list[Series], list[Finding]]:
    """The series of a test, and findings for what is none.

    Cases belong into one series if they differ in nothing else; along nodes, ranks may
    grow with them.

    Args:
        fewest: levels that a series needs.
    """
    grouped: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in scope.cells:
        if along in cell.parameters:
            grouped.setdefault((cell.arm, *_others(cell.parameters, along)), []).append(cell)
    if scope.cells and not grouped:
        first = scope.cells[0]
        reason = f"no case of {first.benchmark} has a parameter {along}"
        return [], [absent(Absent(first.metric, first.arm, first.against, reason))]
    found, missing = [], []
    for cells in grouped.values():
        ordered = sorted(cells, key=lambda cell: float(cell.parameters[along]))
        levels = {cell.parameters[along] for cell in cells}
        if len(levels) == len(cells) >= fewest:
            found.append(Series(along, tuple(ordered)))
            continue
        reason = (
            f"{terms.counted(len(levels), 'level')} of {along}, {fewest} are needed"
            if len(levels) < fewest
            else f"several cases for one level of {along}"
        )
        missing.append(absent(Absent(cells[0].metric, cells[0].arm, cells[0].against, reason)))
    return found, list(dict.fromkeys(missing))


def _others(parameters: Mapping[str, Any], along: str) -> Iterable[tuple[str, str]]:
    rest = {name: value for name, value in parameters.items() if name != along}
    if along == NODES and RANKS in rest:
        rest[RANKS] = parameters[RANKS] / parameters[NODES]
    return tuple(sorted((name, str(value)) for name, value in rest.items()))
