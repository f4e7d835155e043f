"""What every form gives: rows of numbers, and what is refused of them whatever they were."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from parity import imports
from parity.benchmarks.reading import death_in
from parity.core.documents import as_document
from parity.core.errors import CONTROL, UserError, refuse_unknown, shown
from parity.core.files import read_input, refuse_name
from parity.core.package import modules_with

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
    """One number."""

    block: str  # what was measured together, as whoever measured calls it; empty where nothing was
    case: str
    arm: str
    metric: str = ""  # empty where the run left no number at all; it is then not valid
    value: float | None = None  # finite and not below zero; None where this one number is lost
    unit: str = "1"
    better: str = ""  # `lower` or `higher`
    valid: bool = True
    source: str = ""  # where the number is from, in their words
    raw: str = ""  # a file that holds the run's output; empty for none
    where: str = ""  # the file and line of the row, for messages
    told: tuple[str, str] = ("", "")  # `case` and `arm` in the words of the form, before `as_name`
    # What the run's output says of how it ran: runs that differ in one are no repetitions.
    settings: tuple[tuple[str, str], ...] = ()
    repetition: int = 0  # of its run without a block, which is compared with nothing (`checked`)

    @property
    def run(self) -> tuple[str, str, str, int]:
        return self.block, self.case, self.arm, self.repetition


@dataclass(frozen=True)
class Options:
    """What a form does not say: which parameter's values are the arms, and directions by metric."""

    arm: str = "arm"
    better: Mapping[str, str] = field(default_factory=dict)

    def direction(self, metric: str, unit: str, told: str = "") -> str:
        """Which way a metric is better: as asked, as the form told, by its unit; or UserError."""
        if known := self.better.get(metric, told):
            return known
        if unit.lower() in _TIMES or unit.lower().endswith("/s"):
            return "lower" if unit.lower() in _TIMES else "higher"
        problem = f"nothing says which way {metric} in {unit or 'no unit'} is better"
        action = f"say --better {metric}=lower or --better {metric}=higher"
        raise UserError(problem, allowed=", ".join(DIRECTIONS), action=action)

    def arm_in(self, parameters: Mapping[str, Any], run: str, where: str) -> str:
        """The arm of a run by its parameters or variables; raises UserError if they lack it."""
        if self.arm not in parameters:
            problem, action = f"{run} has no {self.arm}", "name it by --arm"
            allowed = ", ".join(parameters) or "a parameter or variable whose values are the arms"
            raise UserError(problem, where=where, allowed=allowed, action=action)
        return str(parameters[self.arm])


def text_of(path: Path) -> str:
    """The text of somebody's file, its lines ended as here; raises UserError as `read_input`."""
    return read_input(path, LARGEST).replace("\r\n", "\n").replace("\r", "\n")


def report_of(path: Path, kind: type[D]) -> D:
    """A report in JSON as a struct of what is read of it; NaN and infinities are numbers.

    UserError, with its place: it is not JSON, or lacks what every such report has.
    """
    try:
        content = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"this is not JSON: {error}", where=str(path)) from None
    action = "export it anew, or give the numbers as a table (CSV)"
    return as_document(content, kind, str(path), action)


def number_of(value: object) -> float | None:
    """A number as a report has it, also as text; None for what is none, such as null or NaN."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_name(*parts: object) -> str:
    """Parts of any text as one name."""
    plain = (re.sub(r"[^A-Za-z0-9._+=]+", "-", str(part)).strip("-") for part in parts)
    return "-".join(filter(None, plain))


def as_metric(name: str) -> str:
    """Any text as the name of a metric."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def checked(rows: Sequence[Row], may_lack: bool = False) -> list[Row]:
    """The rows from which a dataset follows: each run of a case with all of its metrics.

    What a run that is not valid did not leave is filled in, so that it counts as lost. Without a
    block each repetition is a run of its own. `may_lack` is as of the converter that made them.
    Raises UserError: there is no row, or one arm only; a name, number, unit or direction is none; a
    number comes twice; a metric changes its unit or direction; two things go by one name; no run of
    a case left a number.
    """
    models: dict[str, dict[str, Row]] = {}
    first_told: dict[tuple[str, str], str] = {}
    runs: dict[tuple[str, str, str, int], dict[str, Row]] = {}
    repetitions = Counter[tuple[Any, ...]]()
    for row in rows:
        _refuse_cells(row)
        for what, name, here in (("case", row.case, row.told[0]), ("arm", row.arm, row.told[1])):
            if (told := first_told.setdefault((what, name), here)) != here:
                problem = f"two {what}s would be called {name}: {shown(told)} and {shown(here)}"
                action = "name them apart by letters, digits or . + = _"
                raise UserError(problem, where=row.where, action=action)
        of_case = models.setdefault(row.case, {})
        model = of_case.setdefault(row.metric, row) if row.metric else row
        now, before = (f"in {each.unit}, {each.better} is better" for each in (row, model))
        if now != before:
            problem = f"{row.metric} of {row.case} is {now}; before, it was {before}"
            raise UserError(problem, where=row.where)
        # Lost runs, which name no metric, are counted apart from those that left a number.
        count = repetitions[row[:4]] if row.metric else -1 - repetitions[row[:4]]
        repetitions[row[:4]] += 1
        row = row._replace(repetition=0 if row.block else count)
        other = runs.setdefault(row.run, {}).setdefault(row.metric, row)
        if other is not row:
            what, where = row.metric or "a lost run", f"{other.where} and {row.where}"
            problem = f"{what} of {row.case} in {row.arm} comes twice in block {row.block}"
            action = "give each repetition a block of its own, or leave the blocks away"
            raise UserError(problem, where=where, action=action)
    arms = dict.fromkeys(row.arm for row in rows)
    if len(arms) < 2:
        there = f"one arm, {min(arms)}" if arms else "no row"
        raise UserError(f"there is nothing to compare: {there}", allowed="at least two arms")
    if empty := min((case for case, metrics in models.items() if not metrics), default=""):
        where = next(row.where for row in rows if row.case == empty)
        raise UserError(f"no run of {empty} left a number", where=where)
    return [row for run in runs.values() for row in _whole(run, models, may_lack)]


def _whole(
    run: Mapping[str, Row], models: Mapping[str, Mapping[str, Row]], may_lack: bool
) -> list[Row]:
    """The rows of a run; those that a lost one did not leave are filled in."""
    one = next(iter(run.values()))
    files: dict[str, str] = {}
    for row in run.values():
        # A run keeps its files by their names.
        if row.raw and files.setdefault(Path(row.raw).name, row.raw) != row.raw:
            problem = f"two files of one run are called {Path(row.raw).name}"
            raise UserError(problem, where=row.where, action="give each another name")
    numbers = [row.value for row in run.values() if row.value is not None]
    valid = bool(numbers) and all(row.valid for row in run.values())
    lacking = [metric for metric in models[one.case] if metric not in run]
    if lacking and valid and not may_lack:
        problem = f"{one.case} in {one.arm}, block {one.block or 'none'}, lacks"
        action = "give every run of a case the same metrics; mark a lost run as not valid"
        raise UserError(f"{problem} {', '.join(lacking)}", where=one.where, action=action)
    lost = one._replace(value=None)
    return [
        run.get(name, lost)._replace(metric=name, unit=model.unit, better=model.better, valid=valid)
        for name, model in models[one.case].items()
    ]


def _refuse_cells(row: Row) -> None:
    refuse_name(row.case, f"{row.where}, case")
    refuse_name(row.arm, f"{row.where}, arm")
    if row.metric or row.valid:
        refuse_name(row.metric, f"{row.where}, metric", _METRIC)
    refusal = partial(UserError, where=row.where)
    for name, text in (("unit", row.unit), ("source", row.source), ("block", row.block)):
        # They become lines of a run's output, and no line may be another's.
        if CONTROL.search(text) or text.splitlines() not in ([], [text]):
            raise refusal(f"{name} is {shown(text)}: not one line of text")
    if row.value is not None and not 0 <= row.value < math.inf:
        raise refusal(f"value is {row.value}, not a number from 0 on")
    if row.metric and not _UNIT.fullmatch(row.unit):
        allowed = "at most 30 letters, digits and / ^ * . % µ ( ) -; 1 for none"
        raise refusal(f"unit is {shown(row.unit)}", allowed=allowed)
    if row.metric and row.better not in DIRECTIONS:
        raise refusal(f"better is {shown(row.better)}", allowed=", ".join(DIRECTIONS))


_RUN = re.compile(r"(?P<arm>[A-Za-z0-9][A-Za-z0-9._+=-]*)-(?P<block>[A-Za-z0-9.]+)")
# As `srun --label` begins each line: with the number of its rank.
_LABEL = re.compile(r"^ *(\d+): ?", re.MULTILINE)
# What to do with a run whose text is not whole.
LEAVE_OUT = "leave the run out; a table (CSV) can mark it as not valid"


def named(path: Path, ending: str) -> tuple[str, str]:
    """Arm and block in a file's name; raises UserError if it lacks one."""
    if found := _RUN.fullmatch(path.stem):
        return found["arm"], found["block"]
    problem = f"{path.name!r} does not say of which run this is"
    action = "rename the file: what was measured together has the same block"
    allowed = f"<arm>-<block>.{ending}, such as podman-1.{ending}, or a table (CSV)"
    raise UserError(problem, where=str(path), allowed=allowed, action=action)


class Printed(NamedTuple):
    """A number of a text; `better` is empty where the unit tells it."""

    case: str
    metric: str
    value: float
    unit: str
    better: str = ""


# From a file to its numbers, in its order; UserError: it is not of this form, and where.
Rows = Callable[[Path, Options], list[Row]]
# From the text of a run, and where it is, to its numbers, or UserError; and its head
# (`Row.settings`).
Reader = Callable[[str, str], tuple[list[Printed], dict[str, str]]]


@dataclass(frozen=True)
class Converter:
    """One form of results. A module of this package exports its `CONVERTER`."""

    name: str
    title: str
    takes: Callable[[str], object]  # whether a file with this text looks like this form
    rows: Rows
    # Whether a run that lacks some number counts for its others; else it is a mistake of the file.
    may_lack: bool = False
    are_alike: bool = False  # whether its files have to be repetitions of one run (`refuse_unlike`)

    @classmethod
    def of_json(cls, name: str, title: str, rows: Rows, *keys: str, may_lack: bool = False) -> Self:
        """Of reports in JSON, each of which has these keys."""

        def takes(text: str) -> bool:
            return text.lstrip().startswith("{") and all(f'"{key}"' in text for key in keys)

        return cls(name, title, takes, rows, may_lack)

    @classmethod
    def of_text(cls, name: str, title: str, begins: re.Pattern[str], printed: Reader) -> Self:
        """Of a program's own text, a file for each run, whose name has its arm and block.

        The program's version is any, and nothing says that its ranks were one world.
        """

        def rows(path: Path, options: Options) -> list[Row]:
            where, (arm, block), text = str(path), named(path, "txt"), text_of(path)
            if death := death_in(text):
                problem = f"the run did not end well: {shown(death)}"
                raise UserError(problem, where=where, action=LEAVE_OUT)
            # Where only one rank printed, its number before each line is left away.
            labels = [_LABEL.match(line) for line in text.splitlines() if line.strip()]
            if len({label and label[1] for label in labels} | {None}) == 2 and all(labels):
                text = _LABEL.sub("", text)
            numbers, settings = printed(text, where)
            return [
                Row(
                    block=block, case=number.case, arm=arm, metric=as_metric(number.metric),
                    value=number.value, unit=number.unit,
                    better=options.direction(number.metric, number.unit, number.better),
                    source=title, raw=where, where=where, settings=tuple(settings.items()),
                )
                for number in numbers
            ]  # fmt: skip

        return cls(name, title, begins.search, rows, are_alike=True)


def refuse_unlike(rows: Iterable[Row]) -> None:
    """Refuse (UserError) files of runs that are no repetitions of each other.

    One has other cases than the others, such as other sizes, or its head says that it ran
    otherwise, such as with another window; with the first difference.
    """
    cases: dict[str, set[str]] = {}
    settings: dict[str, dict[str, str]] = {}
    for row in rows:
        cases.setdefault(row.raw, set()).add(row.case)
        settings[row.raw] = dict(row.settings)
    first, before = next(iter(settings.items()), ("", {}))
    action = "import runs that differ each as a study of its own"
    for file, own in settings.items():
        for name in sorted(before.keys() | own.keys()):
            one, other = (of.get(name, "not said") for of in (own, before))
            if one != other:
                problem = f"{name}: {shown(one)}, but {shown(other)} in {Path(first).name}"
                raise UserError(problem, where=file, action=action)
    for file, of_file in cases.items():
        if lacking := sorted(set().union(*cases.values()) - of_file):
            problem = f"{lacking[0]} is not in this text ({len(lacking)} lacking), but in another"
            raise UserError(problem, where=file, action=action)


# What people have that no converter takes, by a line that only it has.
_LOOKS_LIKE = {
    "results of mdtest": re.compile(r"^.*mdtest-\d\S* was launched with", re.MULTILINE),
    "lines of several ranks (srun --label)": re.compile(r"\A(?:\s*\d+: .*\n){2,}"),
    "a table without the columns of one (CSV)": re.compile(r"\A[^\n,{]+(?:,[^\n,]*)+\n"),
}


def converters() -> dict[str, Converter]:
    """Every converter by its name."""
    return {each.name: each for each in modules_with(imports, "CONVERTER")}


def converter_of(files: Sequence[Path], form: str = "") -> Converter:
    """The converter of the form that is named, or that all files look like.

    UserError: there is no such form or file, or files look like several forms, or like none.
    """
    known = converters()
    refuse_unknown([form] if form else [], known, "--form", "form")
    for file in files:
        if not file.is_file():
            raise UserError("there is no such file", where=str(file))
    if form:
        return known[form]
    first, *others = (_looks_like(file, known) for file in files)
    for file, other in zip(files[1:], others, strict=True):
        if other is not first:
            like = f"{first.title}, as {files[0].name} does"
            raise UserError(f"this does not look like {like}", where=str(file))
    return first


def _looks_like(file: Path, known: Mapping[str, Converter]) -> Converter:
    text = text_of(file)
    for converter in known.values():
        if converter.takes(text):
            return converter
    like = next((name for name, line in _LOOKS_LIKE.items() if re.search(line, text)), "")
    problem = f"these look like {like}, which are not read here"
    problem = problem if like else "the form of these results is not known"
    action = "choose one by --form, or give the numbers as a table (CSV)"
    allowed = ", ".join(f"{name} ({each.title})" for name, each in known.items())
    raise UserError(problem, where=str(file), action=action, allowed=allowed)
