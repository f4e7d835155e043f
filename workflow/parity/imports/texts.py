"""Texts that a program prints, one file for each run: `<arm>-<block>.txt` says whose run it is."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from parity.benchmarks.reading import death_in
from parity.core.errors import UserError, shown
from parity.imports.rows import Converter, Options, Row, as_metric, text_of

_RUN = re.compile(r"(?P<arm>[A-Za-z0-9][A-Za-z0-9._+=-]*)-(?P<block>[A-Za-z0-9.]+)")
# As `srun --label` begins each line: with the number of its rank.
_LABEL = re.compile(r"^ *(\d+): ?", re.MULTILINE)
# What to do with a run whose text is not whole.
LEAVE_OUT = "leave the run out; a table (CSV) can mark it as not valid"


class Printed(NamedTuple):
    """A number of a text; `better` is empty where the unit tells it."""

    case: str
    metric: str
    value: float
    unit: str
    better: str = ""


class Output(NamedTuple):
    """What one whole run printed.

    Attributes:
        settings: what its head says of how it ran, by name: runs that differ in one are no
            repetitions of each other.
    """

    numbers: Sequence[Printed]
    settings: dict[str, str]


class TextConverter(Converter):
    """A program's own text. Its version is any, and nothing says that its ranks were one world."""

    @abstractmethod
    def printed(self, text: str, where: str) -> Output:
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
        text = text_of(path)
        if death := death_in(text):
            raise UserError(
                f"the run did not end well: {shown(death)}", where=str(path), action=LEAVE_OUT
            )
        output = self.printed(unlabelled(text), str(path))
        return [
            Row(
                block=named["block"],
                case=number.case,
                arm=named["arm"],
                metric=as_metric(number.metric),
                value=number.value,
                unit=number.unit,
                better=options.direction(number.metric, number.unit, number.better),
                source=self.title,
                raw=str(path),
                where=str(path),
                settings=tuple(output.settings.items()),
            )
            for number in output.numbers
        ]


def unlabelled(text: str) -> str:
    """The text without the number of its rank before each line, where only one rank printed."""
    lines = [line for line in text.splitlines() if line.strip()]
    labels = {found[1] for line in lines if (found := _LABEL.match(line))}
    all_labelled = lines and all(_LABEL.match(line) for line in lines)
    return _LABEL.sub("", text) if all_labelled and len(labels) == 1 else text


def refuse_unlike(rows: Iterable[Row]) -> None:
    """Refuse files of runs that are no repetitions of each other.

    Raises:
        UserError: one holds other cases than the others, such as other sizes, or its head says
            that it ran otherwise, such as with another window; with the first difference.
    """
    cases: dict[str, set[str]] = {}
    settings: dict[str, dict[str, str]] = {}
    for row in rows:
        cases.setdefault(row.raw, set()).add(row.case)
        settings[row.raw] = dict(row.settings)
    every, alike = (
        set().union(*cases.values()),
        "import runs that differ each as a study of its own",
    )
    first, told = next(iter(settings.items()), ("", {}))
    for file, own in settings.items():
        for name in sorted(told.keys() | own.keys()):
            one, other = own.get(name, "not said"), told.get(name, "not said")
            if one != other:
                raise UserError(
                    f"{name}: {shown(one)}, but {shown(other)} in {Path(first).name}",
                    where=file,
                    action=alike,
                )
    for file, held in cases.items():
        if lacking := sorted(every - held):
            raise UserError(
                f"{lacking[0]} is not in this text ({len(lacking)} lacking), but in another",
                where=file,
                action=alike,
            )
