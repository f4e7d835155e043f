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
from parity.core.settings import load_checked, toolchains_of
from parity.plan.batch_systems import BATCH_SYSTEMS


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
        batch_system: its name, or empty where blocks run on the machine itself.
        launcher: None where no program can be placed on several nodes.
        modules: environment modules that are loaded before a block.
        module_variables: what they set, beside PATH, for runtimes and the launcher.
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
    module_variables: tuple[str, ...] = ()
    image_folder: str | None = None
    images_on_node: bool = False
    toolchains: dict[str, Any] = field(default_factory=dict)


def load_system(path: Path | str) -> System:
    """The system file at `path`; raises UserError."""
    document = load_checked(path, "system")
    if document.pop("toolchains_of", None):
        document["toolchains"] = toolchains_of(path)
    base = document["base_image"]
    if base != "bootstrap" and not re.fullmatch(r"[a-z0-9._:/-]+@sha256:[0-9a-f]{64}", base):
        raise UserError(
            f"{base!r} can change under its name",
            where=f"{path}: base_image",
            allowed="bootstrap, or name@sha256:<64 hexadecimal digits>",
            action="give the image by its digest",
        )
    if (named := document.get("batch_system")) and named not in BATCH_SYSTEMS:
        raise UserError(
            f"{named!r} is no batch system that is known here",
            where=f"{path}: batch_system",
            allowed=", ".join(BATCH_SYSTEMS),
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
    around = BATCH_SYSTEMS.get(system.batch_system)
    if not around:
        return
    start = f"system {system.name} needs {around.title}, and"
    if missing := [program for program in around.programs if not is_installed(program)]:
        raise UserError(
            f"{start} {', '.join(missing)} cannot be found on PATH",
            where="batch_system of its file, as in config/systems",
            action=f"start Snakemake on the cluster's login node{around.trial}",
        )
    if now:
        answered, said = answer_of(around.asks, seconds=60)
        if not answered:
            raise UserError(
                f"{start} {around.asks[0]} does not answer: {said}",
                where="batch_system of its file, as in config/systems",
                action=f"see whether its server runs{around.trial}",
            )


def _check_launcher(entry: Mapping[str, Any], path: str) -> None:
    """Refuse words that do not say how many nodes and ranks there are, or something unknown."""
    sizes = ("nodes", "ranks", "ranks_per_node")
    # Two of the three tell the third: some launchers take no number of nodes, or none of ranks.
    for key, known, needed in (("command", sizes, 2), ("each_node", sizes[:1], 1)):
        where = f"{path}: launcher.{key}"
        said = {inside for word in entry[key] for inside in _in_braces(word)}
        if not said <= set(known):
            raise UserError(
                "a word has braces that are none of the known ones",
                where=where,
                allowed=", ".join(f"{{{name}}}" for name in known),
            )
        if len(said) < needed or not entry[key][0]:
            raise UserError(
                "the command does not say how many there are",
                where=where,
                allowed=f"words with {needed} of {', '.join(f'{{{name}}}' for name in known)}",
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
