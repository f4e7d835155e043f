"""A toolchain: where what Spack is given lies, and the compilers and packages that it takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.core.documents import as_document
from parity.core.errors import UserError
from parity.core.settings import load_checked
from parity.core.spack_paths import PREFIX
from parity.software.debian_packages import installed_versions
from parity.software.environment import (
    DebianPackages,
    ToolchainEntry,
    compose,
    read_builds,
)

# Our own recipes.
RECIPES = Path("envs/spack/repo")
# Where composed toolchains are kept, with their locks.
COMPOSED = Path("results/spack")
# A composed environment, the lock that Spack made of it, and what that was made from.
LOCKED = ("spack.yaml", "spack.lock", "lock.json")


@dataclass(frozen=True)
class Toolchain:
    """A folder with what Spack is given and what it decided: composed here, or a site's own.

    Attributes:
        recipes: our own recipes, or the site's, which the lock depends on as well.
        entry: what it is composed from; None for a site's own folder.
    """

    folder: Path
    recipes: Path
    entry: ToolchainEntry | None = None

    @property
    def name(self) -> str:
        """What its folder under the prefix is called, natively and in the image."""
        return self.folder.name

    @property
    def named(self) -> str:
        """What config/config.yaml calls it."""
        return self.name if self.folder.parent == COMPOSED else str(self.folder)

    @property
    def source(self) -> str:
        """Where a person has to look: the site's spack.yaml, or the entry."""
        return f"the system's file: {self.name}" if self.entry else str(self.manifest)

    @property
    def manifest(self) -> Path:
        """What is to be built, with which compiler, for which instruction set."""
        return self.folder / "spack.yaml"

    @property
    def lock(self) -> Path:
        """What Spack made of it: every package with its hash."""
        return self.folder / "spack.lock"

    @property
    def origin(self) -> Path:
        """What the lock was made from."""
        return self.folder / "lock.json"

    @property
    def debian(self) -> Path:
        """A site's list of the Debian packages that building and running take."""
        return self.folder / "debian.yaml"


def choose_toolchain(
    named: str,
    entries: Mapping[str, Any],
    where: str,
    recipes: Path = RECIPES,
    *,
    needed: bool = True,
) -> Toolchain:
    """The toolchain that config/config.yaml names: of the system's file, or a site's folder.

    Args:
        entries: `toolchains` of the system's file, which is `where`.
        needed: whether it is refused if it is not there; else it has its name and no more.

    Raises:
        UserError: there is none of that name.
    """
    absent = ""
    if "/" in named:
        folder = Path(named).expanduser()
        if not (folder / "spack.yaml").exists():
            absent = f"{folder}/spack.yaml is not there"
        toolchain = Toolchain(folder, folder.parent / "repo")
    elif named in entries:
        entry = as_document(entries[named], ToolchainEntry, f"{where}: toolchains.{named}")
        toolchain = Toolchain(COMPOSED / named, recipes, entry)
    else:
        absent = f"{named} is not in {where}"
        toolchain = Toolchain(COMPOSED / named, recipes)
    if needed and absent:
        raise UserError(
            f"unknown toolchain: {absent}",
            where="config/config.yaml: spack.toolchain",
            allowed=", ".join(sorted(entries)) + f" ({where}: toolchains), or the path of a folder"
            " that holds a spack.yaml",
        )
    return toolchain


def check_prefix(section: Mapping[str, str]) -> None:
    """Refuse to measure what would be installed where no benchmark looks for it.

    Raises:
        UserError: the prefix of config/config.yaml's key `spack` is another one.
    """
    if Path(section["prefix"]).expanduser() != PREFIX:
        raise UserError(
            f"benchmarks are looked for in {PREFIX}, and Spack would install in"
            f" {section['prefix']}",
            where="config/config.yaml: spack.prefix",
            allowed=str(PREFIX),
            action="make it a link to where there is room: binaries carry their path, natively"
            " and in the image",
        )


def composed_manifest(
    toolchain: Toolchain, builds: Mapping[str, str], release: tuple[int, ...]
) -> str:
    """The spack.yaml of a composed toolchain: these builds, and those it has already.

    So a study takes nothing from a view that another one measures in. Empty for a site's
    own folder.
    """
    if toolchain.entry is None:
        return ""
    return compose(toolchain.entry, read_builds(toolchain.manifest) | dict(builds), release)


def check_compilers(compilers: Mapping[str, str], toolchain: Toolchain) -> None:
    """Refuse a toolchain whose compilers are not here; raises UserError."""
    missing = {path for path in compilers.values() if not os.access(path, os.X_OK)}
    if missing:
        raise UserError(
            f"no such compiler: {', '.join(sorted(missing))}",
            where=f"{toolchain.source}: compilers",
            action=f"{install_command(toolchain)} (Debian), or install it, or choose"
            " another toolchain in config/config.yaml: spack.toolchain",
        )


def install_command(toolchain: Toolchain) -> str:
    """What installs the Debian packages of a toolchain."""
    return f"python -m parity install --toolchain {toolchain.named}"


def debian_packages(toolchain: Toolchain) -> DebianPackages:
    """Names of the Debian packages that the toolchain takes for `build` and for `run`.

    Raises:
        UserError: there is no such list, or a key or name in it is wrong.
    """
    if toolchain.entry is not None:
        return toolchain.entry.debian
    where = str(toolchain.debian)
    return as_document(load_checked(toolchain.debian, "debian"), DebianPackages, where)


def installed_packages(toolchain: Toolchain) -> DebianPackages:
    """The same with the versions that are installed natively (`name=version`).

    Raises:
        UserError: some are not installed.
    """
    wanted = debian_packages(toolchain)
    build, run = (tuple(installed_versions(names)) for names in (wanted.build, wanted.run))
    there = {each.partition("=")[0] for each in (*build, *run)}
    if absent := " ".join(sorted({*wanted.build, *wanted.run} - there)):
        raise UserError(
            f"Debian packages that are not installed: {absent}",
            where=f"{toolchain.source}: Debian packages",
            action=f"{install_command(toolchain)}, or"
            f" sudo apt-get install --no-install-recommends {absent}",
        )
    return DebianPackages(build=build, run=run)


def packages_now(toolchain: Toolchain) -> list[str]:
    """`name=version` of those that are installed; none if the list itself will be refused."""
    try:
        wanted = debian_packages(toolchain)
    except UserError:
        return []
    return installed_versions([*wanted.build, *wanted.run])
