"""`parity diagnose --container 'podman run … IMAGE' -- ./solver`: what in it costs the program."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from parity.benchmarks.own_program import check_pattern
from parity.command_line.main import refuse_out_of_range
from parity.core.errors import UserError
from parity.core.files import refuse_name
from parity.diagnose.answer import ANSWER, concluded
from parity.diagnose.steps import CONTAINER, TRUE, Ladder, ladder_of
from parity.diagnose.study import NATIVE, Line, measure, study_of, table_of
from parity.diagnose.surroundings import SURROUNDINGS, document, look
from parity.runtimes.ladder import MECHANISMS

_UTILITIES = "util-linux"
_NEEDED = {"bwrap": MECHANISMS["mount"].packages[0], "taskset": _UTILITIES, "prlimit": _UTILITIES}


def diagnose(
    *program: str,
    container: str,
    minutes: float = 5,
    margin: float = 3,
    pattern: str = "",
    better: Literal["lower", "higher"] = "lower",
    name: str = "",
) -> None:
    """Say what in a container costs a program.

    Looks at both sides, measures the steps between them, and says where a cost appears.

    Args:
        program: the program and its words, after --
        container: the words in front of the program that run it in your container, in quotes
        minutes: how long to measure
        margin: what counts as none, in percent
        pattern: reads the program's own time, in one group
        better: which way what the pattern reads is better
        name: of the folder; the program's if not given

    Raises:
        UserError: a program is missing or fails, or the folder is there already.
    """
    outer = shlex.split(container)
    if not outer:
        raise UserError("no words are given", where="--container", action="podman run --rm …")
    refuse_out_of_range(margin=(margin, 100), minutes=(minutes, 100_000))
    try:
        " ".join([*outer, *program]).encode()
    except UnicodeEncodeError:
        raise UserError("a word is no UTF-8 text", where="--container, program") from None
    if pattern:
        check_pattern(pattern, 1, "--pattern")
    path = shutil.which(program[0])
    if not path:
        problem = f"there is no program {program[0]} that can be run"
        raise UserError(problem, where=str(Path.cwd()))
    for command, package in _NEEDED.items():
        if not shutil.which(command):
            raise UserError(f"{command} is not installed", action=f"apt-get install {package}")
    name = name or re.sub(r"\W", "", Path(program[0]).name) or "program"
    refuse_name(name, "--name")
    folder = Path.cwd() / f"parity-diagnose-{name}"
    try:
        folder.mkdir()
    except FileExistsError:
        raise UserError(f"{folder.name} is there already", action="give another --name") from None
    try:
        ladder, own = _looked_at(outer, program, folder)
    except UserError:
        # Nothing was measured, and the next try takes the same name.
        shutil.rmtree(folder)
        raise
    group = folder.name
    lines = [Line(NATIVE[0], program, [TRUE])]
    for step in ladder.steps:
        words = step.setting.words(group, program, own)
        lines.append(Line(step.title, words, step.setting.start(group)))
    lines.append(Line(CONTAINER, [*outer, *program], [*outer, TRUE]))
    study = study_of(str(Path(path).absolute()), lines, margin, minutes, pattern, better)
    dataset = measure(study, folder / "runs")
    (folder / "table.csv").write_text(table_of(dataset), encoding="utf-8")
    text = concluded(dataset, ladder, margin / 100, folder / "runs")
    (folder / ANSWER).write_text(text, encoding="utf-8")
    print(text, end="")
    print(f"\n{folder.name}/: every run, and what surrounded both sides; table.csv for the import")


def _looked_at(
    container: Sequence[str], program: Sequence[str], folder: Path
) -> tuple[Ladder, Sequence[str]]:
    """The ladder between both sides, and the native process's own words."""
    code, native_code = folder / "code", folder / "native"
    code.mkdir()
    native_code.mkdir()
    native = look(program, program, native_code)
    shutil.rmtree(native_code)
    inside = look([*container, *program], program, code, may_fail=True)
    for path in code.glob("filter-*"):
        path.rename(folder / path.name)
    sides = {"native": document(native), "container": document(inside)}
    (folder / SURROUNDINGS).write_text(json.dumps(sides, indent=1), encoding="utf-8")
    ladder = ladder_of(native, inside, folder)
    # Their values may be secrets, which no file is to hold: steps take them from our variables.
    os.environ.update(ladder.secrets)
    return ladder, native.command
