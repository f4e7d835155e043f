"""What a builder is sent: the Dockerfile, and all that the image's stage is built from.

Everything is copied into one folder, since that is the one way to hand files to a build
which docker, podman and buildah share.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.benchmarks.programs import COMPILED, source_paths
from parity.core.documents import canonical
from parity.core.files import files_below
from parity.software.lock import read_origin
from parity.software.spack import Spack, write_scope
from parity.software.toolchain import LOCKED, Toolchain, installed_packages

# The parts of Spack that it runs from; the others are its history, tests and caches. Its
# packages are part of it before 1.0 only.
SPACK_PARTS = ("bin", "etc", "lib", "share", "var/spack/repos")
# Where the build stage has the source mirror, and Spack's packages from 1.0 on.
_SOURCES = "file:///sources"
_PACKAGES = Path("/spack/builtin/repos/spack_repo/builtin")
_COMPILE = Path(__file__).with_name("compiled.Dockerfile")
_BYTECODE = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass(frozen=True)
class Context:
    """A build's input.

    Attributes:
        folder: what is sent to the builder; the Dockerfile is in it.
        stage: stage of the Dockerfile that is the image.
        arguments: build arguments, apart from BASE and RECIPE.
        made_from: text that changes with what the image is made from, apart from the base
            and the arguments.
    """

    folder: Path
    stage: str
    arguments: Mapping[str, str]
    made_from: str


def recipe_of(context: Context, base_digest: str) -> str:
    """SHA-256 (hexadecimal) over all that decides what the image is."""
    arguments = [f"{key}={value}" for key, value in sorted(context.arguments.items())]
    text = "\0".join([context.stage, context.made_from, base_digest, *arguments])
    return hashlib.sha256(text.encode()).hexdigest()


def system_context(containers: Path, packages: Sequence[str]) -> Context:
    """The image of Debian's packages (`name=version`), from the folder of the Dockerfile."""
    return Context(containers, "system", {"PACKAGES": " ".join(packages)}, _texts(containers))


def compiled_context(
    containers: Path,
    packages: Sequence[str],
    sources: Sequence[str],
    compiler: Sequence[str],
    folder: Path,
) -> Context:
    """The same image with, on top, the programs that are compiled from our own sources.

    Args:
        sources: their names.
        compiler: packages (`name=version`) that compile them, natively as well.
        folder: an empty folder that becomes the context.
    """
    shutil.copytree(containers, folder, dirs_exist_ok=True)
    dockerfile = folder / "Dockerfile"
    # Its first stage, without those that are built on it.
    system, _, _ = dockerfile.read_text(encoding="utf-8").partition("\nFROM system")
    dockerfile.write_text(system + _COMPILE.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "sources").mkdir()
    for path in source_paths(sources):
        shutil.copy(path, folder / "sources")
    context = system_context(folder, packages)
    own = {"COMPILER": compiler, "SOURCES": sources, "FOLDER": (str(COMPILED),)}
    arguments = {key: " ".join(words) for key, words in own.items()}
    return replace(context, stage="compiled", arguments={**context.arguments, **arguments})


def spack_context(
    containers: Path,
    packages: Sequence[str],
    toolchain: Toolchain,
    spack: Spack,
    sources: Path,
    folder: Path,
) -> Context:
    """The image that has, on top, what Spack builds from the toolchain's lock.

    Args:
        sources: source mirror that has all sources of the lock.
        folder: an empty folder that becomes the context.

    Raises:
        UserError: a package that building or running takes is not installed natively.
    """
    # Natively the same versions compile, so the same bytes can come out.
    debian = installed_packages(toolchain)
    for path in files_below(containers):
        copy = folder / path.relative_to(containers)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    _copy_spack(spack, folder / "spack")
    # The toolchain's own files, and the recipes within: this is what the image shows of them.
    shutil.copytree(toolchain.recipes, folder / "toolchain/recipes", ignore=_BYTECODE)
    for name in LOCKED:
        shutil.copy(toolchain.folder / name, folder / "toolchain")
    shutil.copytree(sources, folder / "sources", symlinks=True)
    site = replace(spack.site, sources=_SOURCES)
    packages_there = _PACKAGES if spack.packages else None
    write_scope(site, spack.home, spack.home / "recipes", packages_there, folder / "scope")
    origin = read_origin(toolchain.origin)
    arguments = {
        "PACKAGES": " ".join(sorted({*packages, *debian.run})),
        "BUILD_PACKAGES": " ".join(debian.build),
        "PREFIX": str(spack.site.prefix),
        "TOOLCHAIN": toolchain.name,
        "LOCK": origin.lock,
        "RECIPES": origin.recipes,
    }
    made_from = [_texts(containers), canonical(origin), spack.version, spack.commit]
    return Context(folder, "spack", arguments, "\0".join(made_from))


def _texts(containers: Path) -> str:
    """Names and contents of all files that a Dockerfile may copy."""
    return "\0".join(
        f"{path.relative_to(containers)}\0{path.read_text(encoding='latin-1')}"
        for path in files_below(containers)
    )


def _copy_spack(spack: Spack, destination: Path) -> None:
    """Spack as it is used natively, without what it compiled of itself."""
    checkout = spack.program.parents[1]
    for part in SPACK_PARTS:
        if (checkout / part).is_dir():
            shutil.copytree(checkout / part, destination / part, symlinks=True, ignore=_BYTECODE)
    if spack.packages:
        builtin = destination / _PACKAGES.relative_to("/spack")
        shutil.copytree(spack.packages, builtin, symlinks=True, ignore=_BYTECODE)
