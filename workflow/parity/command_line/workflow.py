"""Commands that call Snakemake with this workflow, in whatever folder somebody stands."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from parity.core.errors import UserError, refuse_unknown
from parity.core.package import PROJECT, configured
from parity.core.settings import load_checked, load_yaml
from parity.plan.plan import PLAN

_PROFILE = "--profile="
CONFIG, ARCHIVES = "config/config.yaml", Path("results/archive")


def snakemake(*words: str) -> None:
    """Call Snakemake with this workflow, in this folder: -- all --config scale=smoke.

    Args:
        words: Snakemake's own: targets and options, after --
    """
    command, environment = call_of(with_our_profile(words))
    os.execve(command[0], command, environment)


def with_our_profile(words: Sequence[str]) -> list[str]:
    """The words; a profile of the project's that is named, and is not in this folder, by its path.

    Its `configfile` is then the project's as well, unless this folder or the words have one.
    """
    found = [
        part for word in words for part in (word.split("=", 1) if _PROFILE in word else [word])
    ]
    place = found.index("--profile") + 1 if "--profile" in found[:-1] else 0
    name = found[place] if place else "."
    path = PROJECT / "profiles" / name
    if "/" not in name and (path / "profile.yaml").exists() and not Path(name).exists():
        found[place] = str(path)
        config = load_yaml(path / "profile.yaml").get("configfile", "")
        given = {word.partition("=")[0] for word in found}
        if config and not Path(config).exists() and not given & {"--configfile", "--configfiles"}:
            found += ["--configfile", str(PROJECT / config)]
    return found


def figures(archive: str = "") -> None:
    """Draw the archives of this folder, and print what one says.

    Args:
        archive: of results/archive, which is drawn alone; else all, and the newest is printed
    """
    _call("figures", archive)


def dashboard(archive: str = "") -> None:
    """Write every comparison of this folder's archives, down to single runs, as one HTML file.

    Args:
        archive: whose system's claims are the first, of results/archive; the newest if not given
    """
    _call("dashboard", archive)


def claims(archive: str = "") -> None:
    """Print which published claims hold by an archive of this folder and others of its system.

    Args:
        archive: the one that is judged, of results/archive; the newest if not given
    """
    _call("claims", archive)


def _call(target: str, archive: str) -> None:
    """Call it for the archives that are here; in a folder of `parity measure` for its live data."""
    config = load_checked(configured(CONFIG), "config")
    if config["data"] == "live" and not archive:
        snakemake(target)
        return
    here = sorted(plan.parent.name for plan in ARCHIVES.glob(f"[!.]*/{PLAN}"))
    if not here:
        problem, where = "there is no archive in this folder", str(ARCHIVES.absolute())
        action = "parity import makes one of results; parity measure has a folder of its own"
        raise UserError(problem, where=where, action=action)
    # The project's own default is not in a folder of one's own.
    named = archive or (config["archive"] if Path(CONFIG).exists() else here[0])
    where = "--archive" if archive else CONFIG
    refuse_unknown([named], here, f"{where}, a folder of {ARCHIVES}", "archive")
    given = ["--config", "data=archive", f"archive={archive}"] if archive else []
    snakemake(target, *given)


def call_of(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of Snakemake; UserError: it is not beside our Python."""
    # So are the programs that rules call, and that folder need not be the first on PATH.
    program = Path(sys.executable).with_name("snakemake")
    if not program.exists():
        action = "make environment, in a clone; or pip install the project with all that it needs"
        raise UserError("snakemake is not installed", where=str(program.parent), action=action)
    path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [str(program), "--snakefile", str(PROJECT / "Snakefile"), *words]
    return command, {**os.environ, "PATH": path}
