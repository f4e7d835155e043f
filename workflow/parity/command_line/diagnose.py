"""`parity diagnose --container 'podman run … IMAGE' -- ./solver`: what in it costs the program."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from parity.benchmarks.patterns import check_pattern
from parity.command_line.model import Command
from parity.core.errors import UserError
from parity.diagnose import campaign
from parity.diagnose.answer import ANSWER, answer_of
from parity.diagnose.steps import CONTAINER, TRUE, Ladder, ladder_of
from parity.diagnose.surroundings import SURROUNDINGS, document, look
from parity.diagnose.verdict import NATIVE, verdict_of
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
    container = shlex.split(given.container)
    program = _program(given.program)
    if not container:
        raise UserError("no words are given", where="--container", action="podman run --rm …")
    if not (given.margin > 0 and given.minutes > 0):
        raise UserError("it must be above 0", where="--margin, --minutes")
    if given.pattern:
        check_pattern(given.pattern, 1, "--pattern")
    for command, package in _NEEDED.items():
        if not shutil.which(command):
            raise UserError(f"{command} is not installed", action=f"apt-get install {package}")
    folder = _folder(given.name or re.sub(r"\W", "", Path(program[0]).name) or "program")
    try:
        ladder, own = _looked_at(container, program, folder)
    except UserError:
        # Nothing was measured, and the next try takes the same name.
        shutil.rmtree(folder)
        raise
    runs = campaign.measure(
        _arms(container, program, own, ladder, folder),
        given.minutes,
        folder / "runs",
        zlib.crc32(shlex.join(program).encode()),
        given.pattern,
    )
    table = _table(runs, given.better if given.pattern else "")
    (folder / "table.csv").write_text(table, encoding="utf-8")
    costs = campaign.costs(runs, is_clock=not given.pattern, better=given.better)
    margin = given.margin / 100
    names = [step.title for step in ladder.steps] + [CONTAINER]
    verdict = verdict_of(costs, names, margin)
    said = {run.arm: run.said for run in runs if run.value is None}
    text = answer_of(verdict, ladder, said, margin)
    (folder / ANSWER).write_text(text, encoding="utf-8")
    print(text, end="")
    print(f"\n{folder.name}/: every run, and what surrounded both sides; table.csv for the import")


def _program(words: Sequence[str]) -> list[str]:
    """The program's words; the first has to be a path or on PATH."""
    found = shutil.which(words[0])
    if not found:
        raise UserError(f"there is no program {words[0]} that can be run", where=str(Path.cwd()))
    return list(words)


def _folder(name: str) -> Path:
    folder = Path.cwd() / f"parity-diagnose-{name}"
    try:
        (folder / "code").mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{folder.name} is there already", action="give another --name") from None
    (folder / "runs").mkdir()
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
    seen = {"native": native, "container": inside}
    (folder / SURROUNDINGS).write_text(
        json.dumps({side: document(found) for side, found in seen.items()}, indent=1),
        encoding="utf-8",
    )
    return ladder_of(native, inside, folder), native.command


def _arms(
    container: Sequence[str],
    program: Sequence[str],
    own: Sequence[str],
    ladder: Ladder,
    folder: Path,
) -> list[campaign.Arm]:
    """The natives, each step, and the container as it was given."""
    arms = [campaign.Arm(name, tuple(program), (TRUE,)) for name in NATIVE]
    commands = {}
    for step in ladder.steps:
        group = f"parity-diagnose-{os.getpid()}"
        words = step.setting.words(group, program, own)
        start = step.setting.start(group)
        arms.append(campaign.Arm(step.title, tuple(words), tuple(start)))
        # Of a variable the name alone: its value may be a secret.
        secret = {each: f"{each.partition('=')[0]}=…" for each in step.setting.variables}
        commands[step.title] = [secret.get(w, w) if "=" in w else w for w in words]
    (folder / "commands.json").write_text(json.dumps(commands, indent=1), encoding="utf-8")
    ends = subprocess.run([*container, TRUE], capture_output=True, check=False).returncode == 0
    if not ends:
        print(f"the container has no {TRUE}: its start counts as its cost", file=sys.stderr)
    inside = (*container, *program)
    return [*arms, campaign.Arm(CONTAINER, inside, (*container, TRUE) if ends else ())]


def _table(runs: Sequence[campaign.Run], better: str) -> str:
    """Every run that ended well, as `parity import` takes them.

    Args:
        better: of what the pattern reads; empty where the clock counts.
    """
    lines = ["block,case,arm,metric,value,unit,better"]
    ending = f"1,{better}" if better else "s,lower"
    for run in runs:
        arm = re.sub(r"[^a-z0-9]+", "-", run.arm.lower()).strip("-")
        if run.value is not None:
            metric = "value" if better else "time"
            lines.append(f"{run.block},program,{arm},{metric},{run.value!r},{ending}")
    return "\n".join(lines) + "\n"


COMMAND = Command("diagnose", "Say what in a container costs a program", add_arguments, diagnose)
