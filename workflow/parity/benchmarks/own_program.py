"""A program that a study describes: a benchmark from data alone, and patterns that cannot hang.

What describes it is a parameter of each of its cases, `command`. So it is in the plan and in the
archive, and what a run left is parsed by it wherever it is read.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import msgspec

from parity.benchmarks import openmpi
from parity.benchmarks.description import Metric, Quantity
from parity.benchmarks.model import SOFTWARE, Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import package_version
from parity.benchmarks.reading import Refused, finite, positive, with_a_point
from parity.core import private
from parity.core.commands import Availability
from parity.core.documents import Document, canonical
from parity.core.errors import UserError

LONGEST_PATTERN, LONGEST_LINE, MOST_CHARACTERS = 500, 400, 1 << 20
COMMAND = "command"
WALL = Quantity("time", "wall-clock time, the container's start included", "s", "lower", "external")
# A name in braces; doubled braces stand for themselves.
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_-]*)\}")
# What can be filled in beside factors and parameters.
PLACES = ("nodes", "ranks", "cpus")
# What a run does; the rest of a command is how it is read and called.
_DONE = ("program", "needs", "files", "environment", "cpus", "as_given")


def check_pattern(pattern: str, groups: int, where: str) -> None:
    """Refuse a pattern that is none, is long, or has another number of groups (`UserError`)."""
    if len(pattern) > LONGEST_PATTERN:
        what = f"a pattern of {len(pattern)} characters"
        raise UserError(what, where=where, allowed=f"at most {LONGEST_PATTERN}")
    compiled(pattern, groups, where)


def read_by(pattern: str, better: str) -> dict[str, str]:
    """The metric of a study that a pattern of the command line reads."""
    return {"name": "value", "pattern": pattern, "unit": "1", "better": better}


@cache
def compiled(pattern: str, groups: int, where: str) -> Any:
    """A pattern of a user as RE2 runs it, in a time that is linear in the text.

    Python's own engine tries one way after the other, and takes hours for some patterns. Raises
    UserError: it is no pattern, or has another number of groups.
    """
    import re2  # whoever measures reads nothing

    options = re2.Options()
    options.log_errors = False
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        problem = f"{pattern!r} is no regular expression: {why}"
        allowed = "one of RE2's, without look-around and back-reference; in single quotes YAML"
        allowed = f"{allowed} takes a backslash as it is"
        raise UserError(problem, where=where, allowed=allowed) from None
    if expression.groups != groups:
        allowed = f"{groups}: the number in parentheses, (?:…) around anything else"
        problem = f"{pattern!r} has {expression.groups} groups"
        raise UserError(problem, where=where, allowed=allowed if groups else "none: write (?:…)")
    return expression


def matches(pattern: Any, text: str) -> list[Any]:
    """Where a compiled pattern matches first in each line of a text; long lines are cut."""
    in_lines = (pattern.search(line[:LONGEST_LINE]) for line in text.splitlines())
    return [match for match in in_lines if match]


class OwnMetric(Document, frozen=True, omit_defaults=True):
    """A number that a program prints: what stands in the one group of its pattern."""

    name: str
    pattern: str
    unit: str
    better: str
    title: str = ""
    may_lack: bool = False  # whether a run without it counts for the others; only imports say so


class GivenLine(Document, frozen=True):
    """All words that are run in place of a program, as they are, and how figures call that arm."""

    title: str
    words: tuple[str, ...]


class Command(Document, frozen=True, omit_defaults=True):
    """A program as a study describes it (`plan/study.schema.yaml` says what each key is)."""

    title: str
    program: tuple[str, ...]  # no words are a program that does nothing
    binaries: tuple[str, ...]
    packages: tuple[str, ...] = ()
    needs: dict[str, str] = msgspec.field(default_factory=dict)  # digests by path of the host
    files: dict[str, str] = msgspec.field(default_factory=dict)
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    cpus: int = 0  # how many it is bound to, 0 for all of the node
    as_given: dict[str, GivenLine] = msgspec.field(default_factory=dict)  # by arm
    metrics: tuple[OwnMetric, ...] = ()
    valid: str = ""
    work: str = ""
    shorter: tuple[str, ...] = ()  # the words of its shorter run (`parity.plan.plan.Shorter`)
    note: str = ""


class OwnProgram(Benchmark):
    """The program of a command; `own_program` makes it, with its own attributes."""

    command: ClassVar[Command]
    allocations = "optional"
    starts_ranks_inside = True
    measures_all_binaries = True

    def probe(self) -> Availability:
        """Whether the native side has all of its files; what runs first must be executable."""
        command = self.command
        mode = {path: os.R_OK for path in command.binaries} | {command.program[0]: os.X_OK}
        if missing := [path for path in mode if not os.access(path, mode[path])]:
            remedy = f"apt-get install {' '.join(command.packages)}" if command.packages else ""
            reason = f"not there, or not to be run: {', '.join(missing)}"
            return Availability(False, reason=reason, remedy=remedy)
        return Availability(True, version=package_version(next(iter(command.packages), "")))

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """Its words with all places filled in, on its CPUs or in the ranks of an allocation."""
        command = self.command
        cpus = node.first_cpus(command.cpus or len(node.cpus), f"{self.name}: cpus")
        if command.as_given:
            (line,) = command.as_given.values()
            return Program(line.words, cpus, as_given=True)
        known = {"cpus": len(cpus), **parameters}
        argv = tuple(filled_in(word, known) for word in command.program)
        variables = {name: filled_in(text, known) for name, text in command.environment.items()}
        program = Program(argv, cpus, variables)
        if "ranks" in parameters:
            program = openmpi.program(argv, parameters, node, self.name, variables)
        return replace(program, files=command.files)

    def read(self, outputs: Outputs) -> Parsed:
        """Its metrics, each printed once, or the wall clock; valid if the check's line is there."""
        if outputs.parameters.get("ranks", 1) > 1:
            openmpi.require_one_world(outputs)
        text = f"{outputs.stdout}\n{outputs.stderr}"
        if len(text) > MOST_CHARACTERS:
            raise Refused("unparsable", f"the output has {len(text)} characters, at most 2^20")
        if (check := self.command.valid) and not matches(compiled(check, 0, self.name), text):
            raise Refused("check-failed", f"no line matches {check}")
        if self.command.metrics:
            numbers = (_number(self.name, metric, text) for metric in self.command.metrics)
            return Parsed(True, metrics=tuple(filter(None, numbers)))
        if len(seconds := outputs.wall_seconds) != 1:
            raise Refused("unparsable", f"timed {len(seconds)} starts instead of one")
        return Parsed(True, metrics=(WALL.measured(positive(str(seconds[0]), "time")),))


def _number(name: str, metric: OwnMetric, text: str) -> Metric | None:
    stated = matches(compiled(metric.pattern, 1, name), text)
    if metric.may_lack and not stated:
        return None
    if len(stated) != 1 or stated[0][1] is None:
        raise Refused("unparsable", f"{metric.name}: {len(stated)} lines match instead of one")
    line, end = stated[0].string, stated[0].end(1)
    if end == LONGEST_LINE or re.match(r"[,.]\d", line[end:]):  # what is cut may go on, too
        raise Refused("unparsable", f"{metric.name}: the number goes on: {line[:80]!r}")
    value = finite(with_a_point(stated[0][1], metric.name), metric.name)
    return Metric(metric.name, value, metric.unit, metric.better)


def filled_in(word: str, known: Mapping[str, Any]) -> str:
    """A word with its places filled in; KeyError for one that is not known."""

    def value(place: re.Match[str]) -> str:
        level = known[place[1]] if place[1] else place[0][0]
        return str(level).lower() if isinstance(level, bool) else str(level)

    return PLACEHOLDER.sub(value, word)


def own_program(
    name: str, command: Mapping[str, Any], factors: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Benchmark:  # fmt: skip
    """The benchmark of a command; a case knows no factors and parameters of the study."""
    return _made(name, *map(canonical, (command, factors or {}, parameters or {})))


@cache
def _made(name: str, text: str, factors: str, parameters: str) -> Benchmark:
    command = msgspec.json.decode(text, type=Command)
    # Those of a plan that others wrote, too.
    for metric in command.metrics:
        compiled(metric.pattern, 1, name)
    if command.valid:
        compiled(command.valid, 0, name)
    metrics = tuple(
        Quantity(m.name, m.title or m.name.replace("_", " "), m.unit, m.better)
        for m in command.metrics
    ) or (WALL,)
    wall_clock = (
        f"No pattern tells a time of {command.title}, so the wall clock is its metric: starting and"
        " ending the container is a part of it."
    )
    default = msgspec.json.decode(text)
    itself = {COMMAND: {"description": "The program.", "type": "object", "default": default}}
    attributes = {
        "command": command, "name": name, "title": command.title, "packages": command.packages,
        "binaries": command.binaries, "needs": command.needs, "work": command.work,
        "factors": msgspec.json.decode(factors), "timed": "" if command.metrics else WALL.metric,
        "parameters": {**itself, **msgspec.json.decode(parameters)}, "metrics": metrics,
        "primary": tuple(metric.metric for metric in metrics),
        "note": f"{command.note} {'' if command.metrics else wall_clock}".strip(),
    }  # fmt: skip
    made: Benchmark = type("OwnProgram", (OwnProgram,), attributes)()
    return made


def in_arm(parameters: Asked, arm: str) -> dict[str, Any]:
    """The parameters of a case as an arm runs it: of the lines that are given, its own alone."""
    if not (lines := parameters.get(COMMAND, {}).get("as_given")):
        return dict(parameters)
    return {**parameters, COMMAND: {**parameters[COMMAND], "as_given": {arm: lines[arm]}}}


def said(parameters: Asked) -> dict[str, Any]:
    """The parameters of a case as people read them: a program by its words, as they are run."""
    if COMMAND not in parameters:
        builds = parameters.get(SOFTWARE, {})
        told = ", ".join(f"{name} {builds[name]['digest'][:19]}" for name in sorted(builds))
        return {**parameters, SOFTWARE: told} if told else dict(parameters)
    # In an archive a word may begin with a place of the machine that it came from.
    places = (*(f"{{{place}}}" for place in PLACES), *private.PLACES)
    known = {**{place[1:-1]: place for place in places}, **parameters}
    words = [filled_in(word, known) for word in parameters[COMMAND]["program"]]
    return {**parameters, COMMAND: " ".join(words)}


def what_runs(parameters: Asked) -> dict[str, Any]:
    """The parameters of a case without what only reads its output, or says how it is called."""
    if COMMAND not in parameters:
        return dict(parameters)
    done = {key: value for key, value in parameters[COMMAND].items() if key in _DONE}
    return {**parameters, COMMAND: done}
