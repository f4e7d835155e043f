"""What every converter gives: rows of numbers, and what is refused of them whatever they were."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from parity.benchmarks.reading import death_in
from parity.core.errors import CONTROL, UserError, shown
from parity.core.files import read_input, refuse_name

DIRECTIONS = ("lower", "higher")
# Reports of others may be large; what is larger than this is not read into memory.
LARGEST = 256 << 20
# Names become those of runs, of LaTeX labels and of addresses in the dashboard.
_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
# No unit begins as a formula of a spreadsheet does.
_UNIT = re.compile(r"[A-Za-zµμ°%1#][\w µμ°%/^*.()-]{0,29}")
_TIMES = ("s", "ms", "us", "µs", "ns", "min", "h", "seconds")
D = TypeVar("D")


class Row(NamedTuple):
    """One number.

    Attributes:
        block: what was measured together, as whoever measured calls it; empty where nothing was.
        metric: empty where the run left no number at all; it is then not valid.
        value: a finite number not below zero; None where this one number is lost.
        better: `lower` or `higher`.
        valid: whether the run counts, as whoever measured says.
        source: where the number is from, in their words.
        raw: a file that holds the run's output; empty for none.
        where: the file and line of the row, for messages.
        told: case and arm in the words of the form, of which `case` and `arm` were made.
        settings: what the run's output says of how it ran, by name.
    """

    block: str
    case: str
    arm: str
    metric: str
    value: float | None
    unit: str
    better: str
    valid: bool = True
    source: str = ""
    raw: str = ""
    where: str = ""
    told: tuple[str, str] = ("", "")
    settings: tuple[tuple[str, str], ...] = ()

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
        may_lack: whether a run without some number counts for its others, as where a tool could
            not find it; else it is a mistake of who wrote the file.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    may_lack: ClassVar[bool] = False

    @abstractmethod
    def takes(self, text: str) -> bool:
        """Whether a file with this text looks like this form."""

    @abstractmethod
    def rows(self, path: Path, options: Options) -> list[Row]:
        """The numbers of a file, in its order.

        Raises:
            UserError: the file is not of this form; with what is wrong and where.
        """


def text_of(path: Path) -> str:
    """The text of somebody's file: without a mark of its byte order, lines ended as here.

    Raises:
        UserError: it cannot be read as text, or is larger than `LARGEST`.
    """
    return read_input(path, LARGEST).replace("\r\n", "\n").replace("\r", "\n")


def report_of(path: Path, kind: type[D]) -> D:
    """A report in JSON as a struct of what is read of it; NaN and infinities are numbers.

    Raises:
        UserError: it is not JSON, or lacks what every such report has; with its place.
    """
    try:
        content: Any = json.loads(text_of(path))
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `")
        raise UserError(
            f"this is no report of this form: {said}",
            where=f"{path}: {place.strip('`$.')}" if place else str(path),
            action="export it anew, or give the numbers as a table (CSV)",
        ) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"this is not JSON: {error}", where=str(path)) from None


def number_of(value: object) -> float | None:
    """A number as a report has it, also as text; None for what is none, such as null or NaN."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_name(*parts: object) -> str:
    """Parts of any text as one name."""
    return "-".join(
        filter(None, (re.sub(r"[^A-Za-z0-9._+=]+", "-", str(part)).strip("-") for part in parts))
    )


def as_metric(name: str) -> str:
    """Any text as the name of a metric."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def checked(rows: Sequence[Row], may_lack: bool = False) -> list[Row]:
    """The rows from which a dataset follows: each run of a case with all of its metrics.

    What a run that is not valid did not leave is filled in, so that it counts as lost.

    Args:
        may_lack: as of the converter that made them.

    Raises:
        UserError: there is no row, or one arm only; a name, number, unit or direction is none; a
            number comes twice; a metric changes its unit or direction; two things go by one
            name; no run of a case left a number.
    """
    of_metric: dict[tuple[str, str], Row] = {}
    words: dict[tuple[str, str], Row] = {}
    runs: dict[tuple[str, str, str, int], dict[str, Row]] = {}
    seen = Counter[tuple[Any, ...]]()
    for row in rows:
        _refuse_cells(row)
        _refuse_two_of_one_name(words, row)
        if row.metric:
            known = of_metric.setdefault((row.case, row.metric), row)
            if (known.unit, known.better) != (row.unit, row.better):
                raise UserError(
                    f"{row.metric} of {row.case} is in {row.unit}, {row.better} is better; before,"
                    f" it was in {known.unit}, {known.better} is better",
                    where=row.where,
                )
        # Without a block each repetition is a run of its own.
        again = 0 if row.block else seen[row[:4]]
        seen[row[:4]] += 1
        of_run = runs.setdefault((*row.run, again), {})
        if row.metric in of_run:
            raise UserError(
                f"{row.metric or 'a lost run'} of {row.case} in {row.arm} comes twice in block "
                f"{row.block}",
                where=f"{of_run[row.metric].where} and {row.where}",
                action="give each repetition a block of its own, or leave the blocks away",
            )
        of_run[row.metric] = row
    _refuse_too_little(rows, of_metric)
    for held in runs.values():
        _refuse_files_of_one_name(held.values())
    return [row for held in runs.values() for row in _whole(held, of_metric, may_lack)]


def _whole(
    held: Mapping[str, Row], of_metric: Mapping[tuple[str, str], Row], may_lack: bool
) -> list[Row]:
    """The rows of a run; those that a lost one did not leave are filled in."""
    one = next(iter(held.values()))
    metrics = [metric for case, metric in of_metric if case == one.case]
    valid = all(row.valid for row in held.values())
    valid = valid and any(row.value is not None for row in held.values())
    lacking = [metric for metric in metrics if metric not in held]
    if lacking and valid and not may_lack:
        raise UserError(
            f"{one.case} in {one.arm}, block {one.block or 'none'}, lacks {', '.join(lacking)}",
            where=one.where,
            action="give every run of a case the same metrics; mark a lost run as not valid",
        )
    made = []
    for metric in metrics:
        model = of_metric[one.case, metric]
        row = held.get(metric, one._replace(metric=metric, value=None))
        made.append(row._replace(unit=model.unit, better=model.better, valid=valid))
    return made


def _refuse_cells(row: Row) -> None:
    refuse_name(row.case, f"{row.where}, case")
    refuse_name(row.arm, f"{row.where}, arm")
    if row.metric or row.valid:
        refuse_name(row.metric, f"{row.where}, metric", _METRIC)
    for name, text in (("block", row.block), ("source", row.source), ("unit", row.unit)):
        # They become lines of a run's output, and no line may be another's.
        if CONTROL.search(text) or text.splitlines() not in ([], [text]):
            raise UserError(f"{name} is {shown(text)}: not one line of text", where=row.where)
    if row.value is not None and not 0 <= row.value < math.inf:
        raise UserError(f"value is {row.value}, not a number from 0 on", where=row.where)
    if not row.metric:
        return
    if not _UNIT.fullmatch(row.unit):
        raise UserError(
            f"unit is {shown(row.unit)}",
            where=row.where,
            allowed="at most 30 letters, digits and / ^ * . % µ ( ) -; 1 for none",
        )
    if row.better not in DIRECTIONS:
        raise UserError(
            f"better is {shown(row.better)}", where=row.where, allowed=", ".join(DIRECTIONS)
        )


def _refuse_two_of_one_name(words: dict[tuple[str, str], Row], row: Row) -> None:
    """Refuse two cases, or arms, that became one where signs were taken out of their names."""
    for what, name, told in zip(("case", "arm"), (row.case, row.arm), row.told, strict=True):
        known = words.setdefault((what, name), row).told[what == "arm"]
        if known != told:
            raise UserError(
                f"two {what}s would be called {name}: {shown(known)} and {shown(told)}",
                where=row.where,
                action="name them apart by letters, digits or . + = _",
            )


def _refuse_too_little(rows: Sequence[Row], of_metric: Mapping[tuple[str, str], Row]) -> None:
    arms = dict.fromkeys(row.arm for row in rows)
    if len(arms) < 2:
        raise UserError(
            f"there is nothing to compare: {'no row' if not arms else f'one arm, {min(arms)}'}",
            allowed="at least two arms",
        )
    if empty := sorted({row.case for row in rows} - {case for case, _ in of_metric}):
        raise UserError(
            f"no run of {empty[0]} left a number",
            where=next(row.where for row in rows if row.case == empty[0]),
        )


def _refuse_files_of_one_name(rows: Iterable[Row]) -> None:
    """A run keeps its files by their names, so no two may have the same."""
    names: dict[str, str] = {}
    for row in rows:
        if row.raw and names.setdefault(Path(row.raw).name, row.raw) != row.raw:
            raise UserError(
                f"two files of one run are called {Path(row.raw).name}",
                where=row.where,
                action="give each another name",
            )


def lacking_numbers(rows: Iterable[Row]) -> set[tuple[str, str]]:
    """Case and metric of the numbers that some run which counts did not leave."""
    return {(row.case, row.metric) for row in rows if row.value is None and row.valid}


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
