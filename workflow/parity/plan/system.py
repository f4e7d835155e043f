"""The machine or cluster that a study runs on: the site's own words, validated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from msgspec import field

from parity.core.commands import answer_of, is_installed
from parity.core.documents import Document, as_document
from parity.core.errors import UserError
from parity.core.settings import load_checked


class MpiLauncher(Document, frozen=True):
    """How the site starts MPI ranks on the nodes of an allocation.

    Attributes:
        command: starts `{ranks}` processes in blocks over `{nodes}` nodes,
            `{ranks_per_node}` on each.
        each_node: starts one process on each of `{nodes}` nodes, without MPI.
        rank: the variable in which a process finds its rank.
        variables: beginnings of the names of those variables that a program needs to
            find its peers; all others are kept from it.
    """

    command: tuple[str, ...]
    each_node: tuple[str, ...]
    rank: str
    variables: tuple[str, ...]


class System(Document, frozen=True, rename={"name": "system"}):
    """A machine or cluster.

    Attributes:
        batch_system: `slurm`, or empty where blocks run on the machine itself.
        launcher: None where no program can be placed on several nodes.
        modules: environment modules that are loaded before a block.
        image_folder: where images go; None for the folder of their records.
        images_on_node: whether images are made in a job of their own.
        toolchains: what Spack may build with, by name, as the file has it.
    """

    name: str
    scale_label: str
    base_image: str
    max_busy_fraction: float
    settle_seconds: float
    max_steal_fraction: float
    batch_system: str = ""
    launcher: MpiLauncher | None = None
    modules: tuple[str, ...] = ()
    image_folder: str | None = None
    images_on_node: bool = False
    toolchains: dict[str, Any] = field(default_factory=dict)


def load_system(path: Path | str) -> System:
    """The system file at `path`; raises UserError."""
    document = load_checked(path, "system")
    base = document["base_image"]
    if base != "bootstrap" and not re.fullmatch(r"[a-z0-9._:/-]+@sha256:[0-9a-f]{64}", base):
        raise UserError(
            f"{base!r} can change under its name",
            where=f"{path}: base_image",
            allowed="bootstrap, or name@sha256:<64 hexadecimal digits>",
            action="give the image by its digest",
        )
    images = document.pop("images", {})
    document |= document.pop("quiet_node")
    document |= {
        "image_folder": images.get("folder"),
        "images_on_node": images.get("made_on", "login") == "node",
    }
    if "launcher" in document:
        _check_launcher(document["launcher"], str(path))
    return as_document(document, System, str(path))


def refuse_without_batch_system(system: System, *, now: bool) -> None:
    """Refuse a system whose batch system is not on this machine; raises UserError.

    Args:
        now: whether it is to take jobs now, or its programs are enough.
    """
    programs = {"slurm": ("sbatch", "squeue", "scontrol", "srun")}.get(system.batch_system, ())
    if missing := [program for program in programs if not is_installed(program)]:
        raise UserError(
            f"system {system.name} needs Slurm, and {', '.join(missing)} cannot be found on PATH:"
            " start Snakemake on the cluster's login node, or try `make cluster-up` here"
        )
    if now and programs:
        answered, said = answer_of(["squeue", "--noheader", "--me"], seconds=60)
        if not answered:
            raise UserError(
                f"system {system.name} needs Slurm, and squeue does not answer: {said};"
                " see whether slurmctld runs, or try `make cluster-up` here"
            )


def _check_launcher(entry: Mapping[str, Any], path: str) -> None:
    """Refuse words that do not say how many nodes and ranks there are, or something unknown."""
    for key, known, needed in (
        ("command", ("nodes", "ranks", "ranks_per_node"), ("nodes", "ranks")),
        ("each_node", ("nodes",), ("nodes",)),
    ):
        where = f"{path}: launcher.{key}"
        said = [inside for word in entry[key] for inside in _in_braces(word)]
        if not set(said) <= set(known):
            raise UserError(
                "a word has braces that are none of the known ones",
                where=where,
                allowed=", ".join(f"{{{name}}}" for name in known),
            )
        missing = [name for name in needed if name not in said]
        if missing or not entry[key][0]:
            raise UserError(
                f"the command does not say how many {' and '.join(missing)} there are",
                where=where,
                allowed=f"words with {', '.join(f'{{{name}}}' for name in needed)}",
            )


def _in_braces(word: str) -> list[str]:
    """What stands in the braces of a word; the whole word where one is not closed."""
    try:
        return [
            f"{name}{'!' if conversion else ''}{':' if form else ''}"
            for _, name, form, conversion in Formatter().parse(word)
            if name is not None
        ]
    except ValueError:
        return [word]
