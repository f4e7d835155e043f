"""`parity diagnose --container 'podman run … IMAGE' -- ./solver`: what in it costs the program."""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from parity.benchmarks.own_program import check_pattern, compiled, matches
from parity.command_line.main import refuse_out_of_range, words_of
from parity.core.errors import UserError, end_as_by_ctrl_c
from parity.core.files import refuse_name
from parity.diagnose.answer import ANSWER, concluded
from parity.diagnose.look import IMAGE, look
from parity.diagnose.setting import TRUE
from parity.diagnose.steps import CONTAINER, Step, proven, steps_of
from parity.diagnose.study import NATIVE, Line, measure, study_of, table_of
from parity.diagnose.surroundings import SURROUNDINGS, document, read
from parity.runtimes.ladder import MECHANISMS, remove_groups
from parity.runtimes.model import name_in

_UTILITIES = "util-linux"
_NEEDED = {"bwrap": MECHANISMS["mount"].packages[0], "taskset": _UTILITIES, "prlimit": _UTILITIES}


def diagnose(
    *program: str, container: str, launcher: str = "", minutes: float = 5, margin: float = 3,
    pattern: str = "", better: Literal["lower", "higher"] = "lower", name: str = "",
) -> None:  # fmt: skip
    """Say what in a container costs a program.

    Looks at both sides, measures the steps between them, and says where a cost appears. Raises
    UserError: a program is missing or fails, or the folder is there already.

    Args:
        program: the program and its words, after --
        container: the words in front of the program that run it in your container, in quotes
        launcher: words in front of both sides, such as 'mpirun -n 2', in quotes
        minutes: how long to measure
        margin: what counts as none, in percent
        pattern: reads the program's own time, in one group
        better: which way what the pattern reads is better
        name: of the folder; the program's if not given
    """
    outer, first = words_of(container, "--container"), words_of(launcher, "--launcher")
    if not outer:
        raise UserError("no words are given", where="--container", action="podman run --rm …")
    refuse_out_of_range(margin=(margin, 100), minutes=(minutes, 100_000))
    try:
        " ".join([*outer, *first, *program]).encode()
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
        # The container's own words may hold a secret, and its files are not for everybody.
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise UserError(f"{folder.name} is there already", action="give another --name") from None
    end_as_by_ctrl_c()
    try:
        try:
            steps, own = _looked_at(first, outer, program, folder, pattern)
        except UserError:
            # Nothing was measured, and the next try takes the same name.
            shutil.rmtree(folder)
            raise
        lines = [Line(NATIVE[0], [*first, *program], [*first, TRUE])]
        for step in (each for each in steps if not each.obstacle):
            words, start = step.setting.words(program, own), step.setting.start()
            lines.append(Line(step.title, [*first, *words], [*first, *start]))
        lines.append(Line(CONTAINER, [*first, *outer, *program], [*first, *outer, TRUE]))
        study = study_of(str(Path(path).absolute()), lines, margin, minutes, pattern, better)
        dataset = measure(study, folder / "runs")
        (folder / "table.csv").write_text(table_of(dataset), encoding="utf-8")
        text = concluded(dataset, steps, margin / 100, folder / "runs")
        (folder / ANSWER).write_text(text, encoding="utf-8")
    except KeyboardInterrupt:
        print("a container that an engine started may go on: ask the engine", file=sys.stderr)
        raise
    finally:
        # A step that was killed leaves its control group.
        remove_groups({name_in(folder)})
        # It may have gigabytes, and was for the steps alone.
        if (folder / IMAGE).exists():
            shutil.rmtree(folder / IMAGE)
    print(text, end="")
    print(f"\n{folder.name}/: every run, and what surrounded both sides; table.csv for the import")


def _looked_at(
    launcher: Sequence[str], container: Sequence[str], program: Sequence[str], folder: Path,
    pattern: str,
) -> tuple[list[Step], Sequence[str]]:  # fmt: skip
    native, said = look([*launcher, *program], program)
    _refuse_ambiguous(pattern, said, "the program by itself")
    front = len(native.command) - len(program)
    inside, said = look([*launcher, *container, *program], program, keep=folder, in_front=front)
    _refuse_ambiguous(pattern, said, "the program in its container")
    sides = {"native": document(native), "container": document(inside)}
    (folder / SURROUNDINGS).write_text(json.dumps(sides, indent=1), encoding="utf-8")
    steps = list(steps_of(native, inside, folder, read(os.getpid()), launched=bool(launcher)))
    # Their values may be secrets, which no file is to hold: steps take them from our variables.
    for step in steps:
        os.environ.update(step.secrets)
    return list(proven(steps, launcher, program, native.command)), native.command


def _refuse_ambiguous(pattern: str, output: str, where: str) -> None:
    if pattern and (count := len(matches(compiled(pattern, 1, "--pattern"), output))) > 1:
        problem = f"{count} lines match the pattern"
        action = "a launcher that starts it more than once goes into --launcher, for both sides"
        raise UserError(problem, where=f"what {where} wrote", allowed="one", action=action)
