"""What every converter gives: rows of numbers, and what is refused of them whatever they were."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from parity.core.errors import UserError, shown

DIRECTIONS = ("lower", "higher")
# Names become those of runs, of LaTeX labels and of addresses in the dashboard.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]{0,99}")
_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_TIMES = ("s", "ms", "us", "µs", "ns", "min", "h", "seconds")


class Row(NamedTuple):
    """One number.

    Attributes:
        block: what was measured together, as whoever measured calls it; empty where nothing was.
        value: a finite number not below zero.
        better: `lower` or `higher`.
        valid: whether the run counts, as whoever measured says.
        source: where the number is from, in their words.
        raw: a file that holds the run's output; empty for none.
        where: the file and line of the row, for messages.
    """

    block: str
    case: str
    arm: str
    metric: str
    value: float
    unit: str
    better: str
    valid: bool = True
    source: str = ""
    raw: str = ""
    where: str = ""

    @property
    def run(self) -> tuple[str, str, str]:
        """Block, case and arm."""
        return self.block, self.case, self.arm


@dataclass(frozen=True)
class Options:
    """What a form does not say of itself.

    Attributes:
        arm: the parameter or variable whose values are the arms.
        better: the direction of metrics by name, where the form does not tell it.
    """

    arm: str = "arm"
    better: Mapping[str, str] = field(default_factory=dict)

    def direction(self, metric: str, unit: str, told: str = "") -> str:
        """Which way a metric is better: as was asked, as the form told, or by its unit.

        Raises:
            UserError: none of these says it.
        """
        if known := self.better.get(metric, told):
            return known
        if unit.lower() in _TIMES:
            return "lower"
        if unit.lower().endswith("/s"):
            return "higher"
        raise UserError(
            f"nothing says which way {metric} in {unit or 'no unit'} is better",
            allowed=", ".join(DIRECTIONS),
            action=f"say --better {metric}=lower or --better {metric}=higher",
        )


class Converter(ABC):
    """One form of results. A module of this package exports its `CONVERTER`.

    Attributes:
        name: as people choose it.
        title: what the form is called.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def takes(self, path: Path) -> bool:
        """Whether a file looks like this form, by its beginning."""

    @abstractmethod
    def rows(self, path: Path, options: Options) -> list[Row]:
        """The numbers of a file, in its order.

        Raises:
            UserError: the file is not of this form; with what is wrong and where.
        """


def begins(path: Path, characters: int = 2000) -> str:
    """The beginning of a file; empty if it cannot be read as text."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.read(characters)
    except OSError:
        return ""


def as_name(*parts: object) -> str:
    """Parts of any text as one name."""
    return "-".join(
        filter(None, (re.sub(r"[^A-Za-z0-9._+=]+", "-", str(part)).strip("-") for part in parts))
    )


def refuse_bad(rows: Sequence[Row]) -> None:
    """Refuse rows from which no dataset follows.

    Raises:
        UserError: there is none, or one arm only; a name, number or direction is none; a
            number comes twice; a metric changes its unit or direction; a run lacks a metric.
    """
    units: dict[tuple[str, str], tuple[str, str]] = {}
    metrics: dict[str, set[str]] = {}
    runs: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        _refuse_cells(row)
        known = units.setdefault((row.case, row.metric), (row.unit, row.better))
        if known != (row.unit, row.better):
            raise UserError(
                f"{row.metric} of {row.case} is in {row.unit}, {row.better} is better; before, it"
                f" was in {known[0]}, {known[1]} is better",
                where=row.where,
            )
        of_run = runs.setdefault(row.run, {})
        if row.metric in of_run and row.block:
            raise UserError(
                f"{row.metric} of {row.case} in {row.arm} comes twice in block {row.block}",
                where=f"{of_run[row.metric].where} and {row.where}",
                action="give each repetition a block of its own, or leave the blocks away",
            )
        of_run[row.metric] = row
        metrics.setdefault(row.case, set()).add(row.metric)
    _refuse_too_little(runs, metrics)


def _refuse_cells(row: Row) -> None:
    for name, text, pattern in (
        ("case", row.case, _NAME),
        ("arm", row.arm, _NAME),
        ("metric", row.metric, _METRIC),
    ):
        if not pattern.fullmatch(text):
            raise UserError(
                f"{name} is {shown(text)}, which is no name",
                where=row.where,
                allowed="letters, digits and _ in a metric; also . + = - in cases and arms",
            )
    if not 0 <= row.value < math.inf:
        raise UserError(f"value is {row.value}, not a number from 0 on", where=row.where)
    if row.better not in DIRECTIONS:
        raise UserError(
            f"better is {shown(row.better)}", where=row.where, allowed=", ".join(DIRECTIONS)
        )


def _refuse_too_little(
    runs: Mapping[tuple[str, str, str], Mapping[str, Row]], metrics: Mapping[str, Iterable[str]]
) -> None:
    arms = {arm for _, _, arm in runs}
    if len(arms) < 2:
        raise UserError(
            f"there is nothing to compare: {'no row' if not arms else 'one arm, ' + arms.pop()}",
            allowed="at least two arms",
        )
    for (block, case, arm), held in runs.items():
        if lacking := sorted(set(metrics[case]) - held.keys()):
            raise UserError(
                f"{case} in {arm}, block {block or 'none'}, lacks {', '.join(lacking)}",
                where=next(iter(held.values())).where,
                action="give every run of a case the same metrics; mark a lost run as not valid",
            )
