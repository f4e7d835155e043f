"""`parity diagnose --container 'podman run … IMAGE' -- ./solver`: what in it costs the program."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from parity.benchmarks.own_program import check_pattern
from parity.command_line.main import Command
from parity.core.errors import UserError
from parity.core.files import refuse_name
from parity.diagnose.answer import ANSWER, concluded
from parity.diagnose.steps import CONTAINER, TRUE, Ladder, ladder_of
from parity.diagnose.study import NATIVE, Line, measure, study_of, table_of
from parity.diagnose.surroundings import SURROUNDINGS, document, look
from parity.runtimes.ladder import MECHANISMS

_UTILITIES = "util-linux"
_NEEDED = {"bwrap": MECHANISMS["mount"].packages[0], "taskset": _UTILITIES, "prlimit": _UTILITIES}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `parity diagnose` takes."""
    parser.add_argument(
        "--container",
        required=True,
        metavar="WORDS",
        help="the words in front of the program that run it in your container, in quotes",
    )
    parser.add_argument("--minutes", type=float, default=5, help="how long (%(default)s)")
    parser.add_argument(
        "--margin", type=float, default=3, help="what counts as none, in percent (%(default)s)"
    )
    parser.add_argument("--pattern", default="", help="reads the program's own time, in one group")
    parser.add_argument("--better", choices=("lower", "higher"), default="lower")
    parser.add_argument("--name", help="of the folder; the program's if not given")
    parser.add_argument("program", nargs="+", help="the program and its words, after --")


def diagnose(given: argparse.Namespace) -> None:
    """Look at both sides, measure the steps between them, and say where a cost appears.

    Raises:
        UserError: a program is missing or fails, or the folder is there already.
    """
    container, program = shlex.split(given.container), list(given.program)
    _refuse(given, container)
    folder = _folder(given.name or re.sub(r"\W", "", Path(program[0]).name) or "program")
    try:
        ladder, own = _looked_at(container, program, folder)
    except UserError:
        # Nothing was measured, and the next try takes the same name.
        shutil.rmtree(folder)
        raise
    lines = _lines(container, program, own, ladder, folder)
    study = study_of(
        str(Path(str(shutil.which(program[0]))).absolute()),
        lines,
        given.margin,
        given.minutes,
        given.pattern,
        given.better,
    )
    dataset = measure(study, folder / "runs")
    (folder / "table.csv").write_text(table_of(dataset), encoding="utf-8")
    text = concluded(dataset, ladder, given.margin / 100, folder / "runs")
    (folder / ANSWER).write_text(text, encoding="utf-8")
    print(text, end="")
    print(f"\n{folder.name}/: every run, and what surrounded both sides; table.csv for the import")


def _refuse(given: argparse.Namespace, container: Sequence[str]) -> None:
    if not container:
        raise UserError("no words are given", where="--container", action="podman run --rm …")
    if not 0 < given.margin <= 100:
        raise UserError("it is out of range", where="--margin", allowed="above 0, up to 100")
    if not 0 < given.minutes <= 100_000:
        raise UserError("it is out of range", where="--minutes", allowed="above 0, up to 100000")
    try:
        " ".join([*container, *given.program]).encode()
    except UnicodeEncodeError:
        raise UserError("a word is no UTF-8 text", where="--container, program") from None
    if given.pattern:
        check_pattern(given.pattern, 1, "--pattern")
    if not shutil.which(given.program[0]):
        raise UserError(
            f"there is no program {given.program[0]} that can be run", where=str(Path.cwd())
        )
    for command, package in _NEEDED.items():
        if not shutil.which(command):
            raise UserError(f"{command} is not installed", action=f"apt-get install {package}")


def _folder(name: str) -> Path:
    refuse_name(name, "--name")
    folder = Path.cwd() / f"parity-diagnose-{name}"
    try:
        folder.mkdir()
    except FileExistsError:
        raise UserError(f"{folder.name} is there already", action="give another --name") from None
    (folder / "code").mkdir()
    return folder


def _looked_at(
    container: Sequence[str], program: Sequence[str], folder: Path
) -> tuple[Ladder, Sequence[str]]:
    """The ladder between both sides, and the native process's own words."""
    native_code = folder / "native"
    native_code.mkdir()
    native = look(program, program, native_code)
    shutil.rmtree(native_code)
    inside = look([*container, *program], program, folder / "code", may_fail=True)
    for path in folder.joinpath("code").glob("filter-*"):
        path.rename(folder / path.name)
    sides = {"native": document(native), "container": document(inside)}
    (folder / SURROUNDINGS).write_text(json.dumps(sides, indent=1), encoding="utf-8")
    ladder = ladder_of(native, inside, folder)
    # Their values may be secrets, which no file is to hold: steps take them from our variables.
    os.environ.update(ladder.secrets)
    return ladder, native.command


def _lines(
    container: Sequence[str],
    program: Sequence[str],
    own: Sequence[str],
    ladder: Ladder,
    folder: Path,
) -> list[Line]:
    """The program alone, each step, and the container as it was given."""
    group = folder.name
    return [
        Line(NATIVE[0], program, [TRUE]),
        *(
            Line(step.title, step.setting.words(group, program, own), step.setting.start(group))
            for step in ladder.steps
        ),
        Line(CONTAINER, [*container, *program], [*container, TRUE]),
    ]


COMMAND = Command("diagnose", "Say what in a container costs a program", add_arguments, diagnose)
