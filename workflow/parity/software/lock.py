"""The lock that Spack made of a toolchain: what it was made from, and the packages in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from parity.core import digests
from parity.core.documents import (
    Document,
    Format,
    read_document,
    said_from_2_on,
    unchanged,
    write_document,
)  # fmt: skip
from parity.core.errors import UserError
from parity.core.files import files_below
from parity.software.environment import compose, read_builds
from parity.software.toolchain import Toolchain

ORIGIN_VERSION = 2


class LockOrigin(Document, frozen=True):
    """What a lock was made from: `lock.json`, beside it."""

    version: int
    spack: str
    recipes: str
    manifest: str = msgspec.field(name="spack.yaml")
    lock: str = msgspec.field(name="spack.lock")


read_origin = Format(LockOrigin, (unchanged,), said_from_2_on).read


def check_only_grown(toolchain: Toolchain, release: tuple[int, ...]) -> None:
    """Refuse to add to a lock that was made from another entry, or for another layout of Spack.

    Raises:
        UserError: composing the same packages gives another spack.yaml than the locked one.
    """
    assert toolchain.entry is not None
    locked = toolchain.manifest.read_text(encoding="utf-8")
    if compose(toolchain.entry, read_builds(toolchain.manifest), release) != locked:
        raise UserError(
            "the lock was made with another compiler, target, library or layout of Spack",
            where=str(toolchain.manifest),
            allowed="the same entry of `toolchains` in the system's file as when it was made",
            action="undo the change, give the changed entry another name, or let Spack decide"
            " anew: snakemake lock",
        )


def write_origin(toolchain: Toolchain, spack_version: str) -> None:
    """Note what the lock was made from, for `check_lock`."""
    write_document(toolchain.origin, _state(toolchain, spack_version))


def check_lock(toolchain: Toolchain) -> None:
    """Refuse a lock that was made from another spack.yaml or other recipes, or was edited.

    Spack itself would install such a lock without a word.

    Raises:
        UserError: the lock is missing, or does not match; with both hashes.
    """
    missing = [path for path in (toolchain.lock, toolchain.origin) if not path.exists()]
    if missing:
        raise UserError("the toolchain has no lock", where=str(missing[0]), action="snakemake lock")
    noted = read_origin(toolchain.origin)
    now = _state(toolchain, noted.spack)
    for name, before, after in (
        ("spack.yaml", noted.manifest, now.manifest),
        ("recipes", noted.recipes, now.recipes),
        ("spack.lock", noted.lock, now.lock),
    ):
        if before != after:
            raise UserError(
                f"the lock does not match {name}: it was made with {before}, and there is {after}",
                where=str(toolchain.lock),
                action=f"undo the change of {name}, or let Spack decide anew: snakemake lock",
            )


def _state(toolchain: Toolchain, spack_version: str) -> LockOrigin:
    return LockOrigin(
        version=ORIGIN_VERSION,
        spack=spack_version,
        recipes=_recipes_digest(toolchain.recipes),
        manifest=digests.digest(toolchain.manifest),
        lock=digests.digest(toolchain.lock),
    )


def _recipes_digest(folder: Path) -> str:
    """`sha256:…` over names and texts; what Python leaves beside a recipe does not count."""
    state = hashlib.sha256()
    for path in files_below(folder):
        state.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return f"sha256:{state.hexdigest()}"


class _Root(msgspec.Struct):
    hash: str


class _Target(msgspec.Struct):
    name: str


class _Arch(msgspec.Struct):
    target: str | _Target


class _External(msgspec.Struct):
    path: str | None = None


class _Spec(msgspec.Struct):
    name: str
    version: str
    arch: _Arch
    parameters: dict[str, list[str] | str | float | bool | None] = {}
    external: _External | None = None


class SpackLock(msgspec.Struct):
    """What is read of a spack.lock; Spack writes more, and more with each release."""

    roots: tuple[_Root, ...]
    concrete_specs: dict[str, _Spec]


def packages_of(lock: Path) -> list[str]:
    """The hashes of all packages of a lock file; each covers its dependencies, too.

    Raises:
        UserError: it is no lock file.
    """
    return sorted(read_document(lock, SpackLock).concrete_specs)


class BuiltPackage(Document, frozen=True):
    """A package of a lock.

    Attributes:
        flags: those of the compilers that are set, by kind.
        external: prefix of a package that Spack did not build, or empty.
        root: whether it was asked for.
    """

    name: str
    version: str
    hash: str
    target: str
    flags: dict[str, str]
    external: str
    root: bool


def specs_of(path: Path) -> list[BuiltPackage]:
    """The packages of a lock file: those asked for and those they need, by name and hash.

    Raises:
        UserError: it is no lock file.
    """
    lock = read_document(path, SpackLock)
    roots = {root.hash for root in lock.roots}
    packages = [
        BuiltPackage(
            name=spec.name,
            version=spec.version,
            hash=digest,
            target=spec.arch.target if isinstance(spec.arch.target, str) else spec.arch.target.name,
            flags={
                name: " ".join(words)
                for name, words in spec.parameters.items()
                if name.endswith("flags") and isinstance(words, list) and words
            },
            external=(spec.external.path or "") if spec.external else "",
            root=digest in roots,
        )
        for digest, spec in lock.concrete_specs.items()
    ]
    return sorted(packages, key=lambda package: (package.name, package.hash))
