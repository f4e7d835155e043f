"""What Spack builds for a benchmark, where its programs lie, and whether they are there.

The view has the same path natively and in every image, and a folder for each build, so
that several builds of one package fit beside each other: `<view>/<folder>/bin/<program>`.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parity.core.availability import Availability
from parity.core.spack_paths import TOOLCHAIN, toolchain_of, view_of

if TYPE_CHECKING:
    from parity.benchmarks.model import Benchmark


@dataclass(frozen=True)
class SpackPackage:
    """One build of a package of Spack's repository, or of envs/spack/repo.

    Attributes:
        name: Spack's own name of it.
        version: the pinned version; `git.<commit>=<version>` where a release has no archive.
        variants: variants and flags as in a spec, such as `+openmp`; empty for none.
        folder: its folder in the view; the package's name if empty.
    """

    name: str
    version: str
    variants: str = ""
    folder: str = ""

    @property
    def spec(self) -> str:
        """The spec that Spack is asked for."""
        return f"{self.name}@{self.version} {self.variants}".strip()

    @property
    def view_folder(self) -> str:
        """The name of its folder in the view."""
        return self.folder or self.name


def program_path(folder: str, name: str, toolchain: str = TOOLCHAIN) -> str:
    """The absolute path of a program of the build that has that folder in the view."""
    return f"{view_of(toolchain)}/{folder}/bin/{name}"


def library_path(folder: str, name: str, toolchain: str = TOOLCHAIN) -> str:
    """The absolute path of a library that is preloaded."""
    return f"{view_of(toolchain)}/{folder}/lib/{name}"


def in_toolchain(benchmark: Benchmark, provider: str) -> Benchmark:
    """A benchmark that Spack builds, with the programs of that provider's toolchain."""
    toolchain = toolchain_of(provider) or TOOLCHAIN
    if not benchmark.spack_packages or toolchain == benchmark.toolchain:
        return benchmark
    view, other_view = f"{view_of(benchmark.toolchain)}/", f"{view_of(toolchain)}/"
    other = copy.copy(benchmark)
    other.toolchain = toolchain
    other.binaries = tuple(path.replace(view, other_view) for path in benchmark.binaries)
    return other


def built_by_spack(files: Sequence[str], packages: Sequence[SpackPackage]) -> Availability:
    """Whether all `files` are there, built by Spack.

    Returns:
        As the version the folder of the first one's build, which Spack names after
        package, version and hash.
    """
    missing = [path for path in files if not os.access(path, os.R_OK)]
    if missing:
        others = f" and {len(missing) - 1} more" if missing[1:] else ""
        names = dict.fromkeys(f"{package.name}@{package.version}" for package in packages)
        return Availability(
            available=False,
            reason=f"not built: {missing[0]}{others}",
            remedy=f"`snakemake native` with a study of it; Spack builds {', '.join(names)}",
        )
    return Availability(available=True, version=Path(files[0]).resolve().parents[1].name)
