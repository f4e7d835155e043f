"""A toolchain: what Spack is to build, the lock that it made of that, and whether they agree."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.core import digests
from parity.core.errors import UserError
from parity.core.files import read_json, write_json
from parity.core.settings import load_checked, load_yaml
from parity.core.spack_paths import PREFIX, TOOLCHAIN, VIEW
from parity.software.debian_packages import check_installed, installed_versions

# The project's own toolchains.
TOOLCHAINS = Path("envs/spack")


@dataclass(frozen=True)
class Toolchain:
    """A folder of envs/spack, or a site's own elsewhere, and the recipes beside it."""

    folder: Path

    @property
    def name(self) -> str:
        """What its folder under the prefix is called, natively and in the image."""
        return self.folder.name

    @property
    def named(self) -> str:
        """What config/config.yaml calls it."""
        return self.name if self.folder.parent == TOOLCHAINS else str(self.folder)

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
        """The Debian packages that building and running take."""
        return self.folder / "debian.yaml"

    @property
    def files(self) -> tuple[Path, ...]:
        """All that the folder holds."""
        return (self.manifest, self.lock, self.origin, self.debian)

    @property
    def recipes(self) -> Path:
        """Our own recipes, which the lock depends on as well."""
        return self.folder.parent / "repo"


def toolchain_folder(named: str) -> Path:
    """Where the toolchain of config/config.yaml lies: a bare name is a folder of envs/spack."""
    return Path(named).expanduser() if "/" in named else TOOLCHAINS / named


def load_toolchain(named: str) -> Toolchain:
    """The toolchain that config/config.yaml names; raises UserError if there is none."""
    toolchain = Toolchain(toolchain_folder(named))
    if not toolchain.manifest.exists():
        known = sorted(path.parent.name for path in TOOLCHAINS.glob("*/spack.yaml"))
        raise UserError(
            f"unknown toolchain: {toolchain.manifest} is not there",
            where="config/config.yaml: spack.toolchain",
            allowed=f"{', '.join(known)}, or the path of a folder that holds a spack.yaml",
        )
    return toolchain


def check_place(section: Mapping[str, str]) -> None:
    """Refuse to measure what would be installed where no benchmark looks for it.

    Args:
        section: the key `spack` of config/config.yaml.

    Raises:
        UserError: its prefix, or the name of its toolchain's folder, is another one.
    """
    place = Path(section["prefix"]).expanduser() / toolchain_folder(section["toolchain"]).name
    if place != VIEW.parent:
        raise UserError(
            f"benchmarks are looked for in {VIEW.parent}, and this toolchain goes to {place}",
            where="config/config.yaml: spack.prefix, spack.toolchain",
            allowed=f"prefix {PREFIX}, and a toolchain in a folder called {TOOLCHAIN}",
            action="give them these names: binaries carry their path, natively and in the image",
        )


def write_origin(toolchain: Toolchain, spack_version: str) -> None:
    """Note what the lock was made from, for `check_lock`."""
    write_json(toolchain.origin, {"spack": spack_version, **_state(toolchain)})


def check_lock(toolchain: Toolchain) -> None:
    """Refuse a lock that was made from another spack.yaml or other recipes, or was edited.

    Spack itself would install such a lock without a word.

    Raises:
        UserError: the lock is missing, or does not match; with both hashes.
    """
    action = "snakemake lock, and commit what it makes"
    missing = [path for path in (toolchain.lock, toolchain.origin) if not path.exists()]
    if missing:
        raise UserError("the toolchain has no lock", where=str(missing[0]), action=action)
    noted, found = read_json(toolchain.origin), _state(toolchain)
    for name, digest in found.items():
        if noted.get(name) != digest:
            raise UserError(
                f"the lock does not match {name}: it was made with {noted.get(name)},"
                f" and there is {digest}",
                where=str(toolchain.lock),
                action=f"undo the change of {name}, or {action}",
            )


def _state(toolchain: Toolchain) -> dict[str, str]:
    return {
        "spack.yaml": digests.digest(toolchain.manifest),
        "recipes": _recipes_digest(toolchain.recipes),
        "spack.lock": digests.digest(toolchain.lock),
    }


def _recipes_digest(folder: Path) -> str:
    """`sha256:…` over names and texts; what Python leaves beside a recipe does not count."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            state.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return f"sha256:{state.hexdigest()}"


def compilers_of(toolchain: Toolchain) -> dict[str, str]:
    """Paths of the toolchain's compilers by language (cc, cxx, f77, fc)."""
    entries = load_yaml(toolchain.manifest)["spack"].get("compilers", [])
    return {
        language: path
        for entry in entries
        for language, path in entry["compiler"]["paths"].items()
        if path
    }


def check_compilers(toolchain: Toolchain) -> None:
    """Refuse a toolchain whose compilers are not here; raises UserError."""
    missing = {p for p in compilers_of(toolchain).values() if not os.access(p, os.X_OK)}
    if missing:
        raise UserError(
            f"no such compiler: {', '.join(sorted(missing))}",
            where=f"{toolchain.manifest}: compilers",
            action=f"{install_command(toolchain)} (Debian), or install it, or choose"
            " another toolchain in config/config.yaml: spack.toolchain",
        )


def install_command(toolchain: Toolchain) -> str:
    """What installs the Debian packages of a toolchain."""
    return f"python -m parity.preview.install --toolchain {toolchain.named}"


def debian_packages(toolchain: Toolchain) -> dict[str, list[str]]:
    """Names of the Debian packages that the toolchain takes for `build` and for `run`.

    Raises:
        UserError: there is no such list, or a key or name in it is wrong.
    """
    return load_checked(toolchain.debian, "debian")


def installed_packages(toolchain: Toolchain) -> dict[str, list[str]]:
    """The same with the versions that are installed natively (`name=version`).

    Raises:
        UserError: some are not installed.
    """
    wanted = debian_packages(toolchain)
    action = install_command(toolchain)
    check_installed([*wanted["build"], *wanted["run"]], str(toolchain.debian), action)
    return {purpose: installed_versions(names) for purpose, names in wanted.items()}


def packages_now(toolchain: Toolchain) -> list[str]:
    """`name=version` of those that are installed; none if the list itself will be refused."""
    try:
        wanted = debian_packages(toolchain)
    except UserError:
        return []
    return installed_versions([*wanted["build"], *wanted["run"]])


def packages_of(lock: Path) -> list[str]:
    """The hashes of all packages of a lock file; each covers its dependencies, too."""
    return sorted(json.loads(lock.read_text(encoding="utf-8"))["concrete_specs"])


def specs_of(lock: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The packages of a lock that were asked for, and those they need, as rows.

    Returns:
        For each: name, version, hash, target, flags (those that are set), external
        (prefix of a package that Spack did not build, or empty) and root (whether it was
        asked for); sorted by name and hash.
    """
    roots = {root["hash"] for root in lock["roots"]}
    rows = [
        {
            "name": spec["name"],
            "version": spec["version"],
            "hash": digest,
            "target": _target(spec),
            "flags": {
                name: " ".join(words)
                for name, words in spec.get("parameters", {}).items()
                if name.endswith("flags") and words
            },
            "external": (spec.get("external") or {}).get("path") or "",
            "root": digest in roots,
        }
        for digest, spec in lock["concrete_specs"].items()
    ]
    return sorted(rows, key=lambda row: (row["name"], row["hash"]))


def _target(spec: Mapping[str, Any]) -> str:
    target = spec["arch"]["target"]
    return target if isinstance(target, str) else target["name"]


def read_lock(toolchain: Toolchain) -> dict[str, Any]:
    """The lock as Spack wrote it."""
    return json.loads(toolchain.lock.read_text(encoding="utf-8"))
