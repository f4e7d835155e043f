"""Texts that a program prints, one file for each run: `<arm>-<block>.txt` says whose run it is."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from parity.core.documents import read_text
from parity.core.errors import UserError
from parity.imports.rows import Converter, Options, Row

_RUN = re.compile(r"(?P<arm>[A-Za-z0-9][A-Za-z0-9._+=-]*)-(?P<block>[A-Za-z0-9.]+)")

# What to do with a run whose text is not whole.
LEAVE_OUT = "leave the run out; a table (CSV) can mark it as not valid"


class Printed(NamedTuple):
    """A number of a text; `better` is empty where the unit tells it."""

    case: str
    metric: str
    value: float
    unit: str
    better: str = ""


class TextConverter(Converter):
    """A program's own text. Its version is any, and nothing says that its ranks were one world."""

    @abstractmethod
    def printed(self, text: str, where: str) -> Sequence[Printed]:
        """The numbers of one whole run.

        Raises:
            UserError: the text is not that of one run that ended well.
        """

    def rows(self, path: Path, options: Options) -> list[Row]:
        """The numbers of a run; its arm and block are in the file's name."""
        named = _RUN.fullmatch(path.stem)
        if not named:
            raise UserError(
                f"{path.name!r} does not say of which run this is",
                where=str(path),
                allowed="<arm>-<block>.txt, such as podman-1.txt, or a table (CSV)",
                action="rename the file: what was measured together has the same block",
            )
        return [
            Row(
                block=named["block"],
                case=each.case,
                arm=named["arm"],
                metric=each.metric,
                value=each.value,
                unit=each.unit,
                better=options.direction(each.metric, each.unit, each.better),
                source=self.title,
                raw=str(path),
                where=str(path),
            )
            for each in self.printed(read_text(path), str(path))
        ]


def refuse_unlike(rows: Iterable[Row]) -> None:
    """Refuse files of which one holds other cases than the others, such as other sizes.

    Raises:
        UserError: there is such a file; with the first case that it lacks.
    """
    held: dict[str, set[str]] = {}
    for row in rows:
        held.setdefault(row.raw, set()).add(row.case)
    every = set().union(*held.values())
    for file, cases in held.items():
        if lacking := sorted(every - cases):
            raise UserError(
                f"{lacking[0]} is not in this text ({len(lacking)} lacking), but in another",
                where=file,
                action="import texts of one program with the same sizes, each study by itself",
            )
