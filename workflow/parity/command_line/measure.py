"""`parity measure -- ./solver in.dat`: a study of one program, in a folder of its own."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from parity.command_line.model import Command
from parity.command_line.own_study import SCALE, own_program, study_of
from parity.core.code_identity import PACKAGE
from parity.core.errors import UserError, refuse_unknown
from parity.core.settings import load_yaml, schema
from parity.runtimes import arms
from parity.runtimes.model import Arm
from parity.software.foreign_image import refuse_no_image

PROJECT = PACKAGE.parents[1]
SNAKEFILE = """# The workflow, as a module: what is measured stands in config/.
module parity:
    snakefile: {snakefile!r}

use rule * from parity
"""
NAME = re.compile(schema("study")["properties"]["study"]["pattern"].strip("^$"))
PROFILE = "profiles/default/profile.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `parity measure` takes."""
    parser.add_argument(
        "--runtimes", required=True, metavar="NAMES", help="runtimes or arms, with commas between"
    )
    parser.add_argument(
        "--minutes", type=float, default=10, help="how long to measure (%(default)s)"
    )
    parser.add_argument(
        "--margin", type=float, default=2, help="what counts as no cost, in percent (%(default)s)"
    )
    parser.add_argument("--cpus", type=int, help="how many CPUs it is bound to; all if not given")
    parser.add_argument(
        "--image",
        help="an image of your own: a SIF file, an archive, an OCI layout, or name@sha256:… of"
        " Docker's or Podman's store; absolute paths of the command are its own then",
    )
    parser.add_argument("--name", help="of the study; the program's if not given")
    parser.add_argument("program", nargs="+", help="the program and its words, after --")


def measure(given: argparse.Namespace) -> None:
    """Write the study, measure it, and print what came out, the answer first.

    Raises:
        UserError: a number is out of range, there is no such program, image or runtime, the
            folder is there already, or the workflow failed.
    """
    here = Path.cwd()
    if not (PROJECT / "Snakefile").exists():
        raise UserError(
            "the workflow is not beside this package",
            where=str(PROJECT),
            action="call it from a clone: <clone>/tools/parity measure …",
        )
    _refuse_out_of_range(given)
    image = _image(given.image, here)
    program = own_program(given.program, bool(image), here)
    name = given.name or program.name
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name} is no name of a study",
            where="--name",
            allowed=f"text that matches {NAME.pattern}",
        )
    folder = here / f"parity-{name}"
    if folder.exists():
        raise UserError(
            f"{folder.name} is there already",
            where=str(here),
            action=f"go on with it: cd {folder.name}; snakemake; or give another --name",
        )
    study = study_of(
        program,
        name,
        chosen_arms(given.runtimes.split(","), arms().values()),
        margin=given.margin,
        minutes=given.minutes,
        cpus=given.cpus,
        image=image,
    )
    write_folder(folder, study, PROJECT)
    if not program.is_here:
        print(
            "no native build is here: the reference is a chroot of the same image", file=sys.stderr
        )
    _run_workflow(folder)
    print((folder / f"results/live/{name}-{SCALE}/summary.txt").read_text(encoding="utf-8"))
    print(f"{folder.name}/results/claims/dashboard.html: down to every run")
    print(f"cd {folder.name}; snakemake: goes on with it, and sets its paper")


def _refuse_out_of_range(given: argparse.Namespace) -> None:
    # What a study takes as well, said of the words of this command.
    for name, most in (("margin", 100), ("minutes", 100_000), ("cpus", os.cpu_count() or 1)):
        value = getattr(given, name)
        if value is not None and not 0 < value <= most:
            raise UserError(
                f"{value:g} is out of range",
                where=f"--{name}",
                allowed=f"more than 0, up to {most}",
            )


def _image(given: str | None, here: Path) -> str:
    """The image as the study names it: a path of any folder, or a digest of a store."""
    if not given:
        return ""
    refuse_no_image(given, "--image")
    return os.path.normpath(here / given) if Path(given).exists() else given


def chosen_arms(names: Iterable[str], known: Iterable[Arm]) -> list[str]:
    """The arms of these names; of a runtime's name, the first of its arms that can be used here.

    What cannot be used is said on standard error, with what to do.

    Raises:
        UserError: a name is unknown, or nothing that is named can be used here.
    """
    there = [arm for arm in known if arm.image_format and not arm.stands_in]
    allowed = sorted({name for arm in there for name in (arm.name, arm.runtime)})
    names = list(dict.fromkeys(names))
    refuse_unknown(names, allowed, "--runtimes", "runtime")
    found, absent = [], []
    for name in names:
        of_name = [arm for arm in there if name in (arm.name, arm.runtime)]
        of_name = [arm for arm in of_name if arm.name == name] or of_name
        asked = {arm.name: arm.probe() for arm in of_name}
        usable = [arm for arm, presence in asked.items() if presence.available]
        found += usable[:1]
        if not usable:
            presence = next(iter(asked.values()))
            absent.append(f"{name}: {presence.reason}; {presence.remedy}")
    if not found:
        raise UserError("none of these runtimes can be used here\n" + "\n".join(absent))
    for line in absent:
        print(f"parity: left out: {line}", file=sys.stderr)
    return list(dict.fromkeys(found))


def write_folder(folder: Path, study: Mapping[str, Any], project: Path) -> None:
    """A folder in which `snakemake` measures the study and nothing else."""
    name = study["study"]
    settings = load_yaml(project / "config/config.yaml") | {
        "study": f"config/studies/{name}.yaml",
        "scale": SCALE,
        "data": "live",
    }
    texts = {
        "Snakefile": SNAKEFILE.format(snakefile=str(project / "Snakefile")),
        "config/config.yaml": _as_yaml(settings),
        f"config/studies/{name}.yaml": _as_yaml(study),
        PROFILE: (project / PROFILE).read_text(encoding="utf-8"),
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _as_yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True)


def _run_workflow(folder: Path) -> None:
    """Measure, analyse and draw; its progress is our standard error.

    Raises:
        UserError: it failed.
    """
    name = folder.name.removeprefix("parity-")
    words = ["snakemake", f"results/live/{name}-{SCALE}/summary.txt", "dashboard"]
    # Snakemake stands beside the Python that runs us, which need not be the first on PATH.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        done = subprocess.run(
            words, cwd=folder, env={**os.environ, "PATH": path}, stdout=sys.stderr.fileno()
        )
    except FileNotFoundError:
        raise UserError("snakemake is not installed", action="make environment") from None
    if done.returncode:
        kept = (
            "what was measured is kept"
            if any(folder.glob("results/blocks/*"))
            else "no run was made"
        )
        raise UserError(
            f"the workflow ended with status {done.returncode}; {kept}",
            where=str(folder),
            action=f"read what it said above, then: cd {folder.name}; snakemake",
        )


COMMAND = Command(
    "measure", "Measure what containers cost a program: -- ./solver in.dat", add_arguments, measure
)
