"""Where programs come from, and whether they are there: our sources, Debian's packages, Spack."""

from __future__ import annotations

import copy
import hashlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parity.core.commands import Availability, answer_of, is_installed
from parity.core.spack_paths import PREFIX, TOOLCHAIN, toolchain_of, view_of

if TYPE_CHECKING:
    from parity.benchmarks.model import Benchmark


COMPILED = PREFIX / "compiled"
SCRIPT = Path(__file__).with_name("compile.sh")
# What our sources include.
HEADER = SCRIPT.with_name("trace.h")


def compiled_path(source: str) -> str:
    """The absolute path of the program of a source, natively and in the image."""
    return str(COMPILED / Path(source).stem)


def compiler_packages(sources: Sequence[str]) -> tuple[str, ...]:
    """Debian packages that compile sources, natively and in a stage that no image keeps.

    A source says by what it includes whether it needs MPI; the script goes by the same line.
    """
    texts = [SCRIPT.with_name(name).read_text(encoding="utf-8") for name in sources]
    mpi = any("\n#include <mpi.h>\n" in text for text in texts)
    return (*(("gcc", "libc6-dev") if sources else ()), *(("libopenmpi-dev",) if mpi else ()))


def source_paths(sources: Sequence[str]) -> list[Path]:
    """The sources of that name, if there are any, with what all of them include and the script."""
    return [SCRIPT, HEADER, *(SCRIPT.with_name(name) for name in sources)] if sources else []


def all_compiled(binaries: Sequence[str]) -> Availability:
    """Whether all `binaries` are there."""
    missing = [path for path in binaries if not os.access(path, os.X_OK)]
    if missing:
        reason = f"not compiled: {', '.join(missing)}"
        return Availability(
            False, reason=reason, remedy="`snakemake --force compile` with a study of it"
        )
    return Availability(True, version="compiled from its source")


DPKG = Path("/var/lib/dpkg/info")


def installed(binaries: Sequence[str], packages: Sequence[str]) -> Availability:
    """Whether all `binaries` can be run here.

    Returns:
        The version of the first of `packages` that the package manager knows; it is
        empty where there is no dpkg, which is no reason not to run.
    """
    missing = [path for path in binaries if not os.access(path, os.X_OK)]
    if missing:
        return Availability(
            available=False,
            reason=f"not installed: {', '.join(missing)}",
            remedy=f"apt-get install {' '.join(packages)}",
        )
    return Availability(available=True, version=package_version(packages[0]) if packages else "")


def altered(paths: Iterable[str], dpkg: Path = DPKG) -> dict[str, tuple[str, str]]:
    """Programs that are not what their Debian package brought.

    Args:
        paths: absolute paths; links are followed. What no package brought is passed over.
        dpkg: where dpkg keeps the MD5 sums of all packages' files.

    Returns:
        By path: the MD5 sum that the package has, and the one that was found.
    """
    real_paths = {path: Path(path).resolve() for path in paths}
    packages = packages_of(real_paths.values())
    found = {}
    for path, real in real_paths.items():
        for sums in (dpkg / f"{name}.md5sums" for name in packages.get(str(real), ())):
            expected = _sum_of(sums, real)
            if expected and real.is_file() and (seen := _md5(real)) != expected:
                found[path] = (expected, seen)
    return found


def packages_of(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The Debian packages that brought each file, by its path; nothing where there is no dpkg.

    All files are asked for at once: dpkg reads all of its lists for each question.
    """
    packages: dict[str, list[str]] = {str(path): [] for path in paths}
    if not packages or not is_installed("dpkg-query"):
        return {}
    # Its status is 1 if there is any file that it does not know.
    words = ["dpkg-query", "--search", *packages]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    for line in said.splitlines():
        names, _, path = line.rpartition(": ")
        if path in packages:
            packages[path] += names.split(", ")
    return packages


def _sum_of(sums: Path, path: Path) -> str:
    """The sum of one file in a list of dpkg, whose names have no leading slash."""
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    entries = (line.split("  ", 1) for line in lines)
    return next((digest for digest, name in entries if name == str(path)[1:]), "")


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def package_version(package: str) -> str:
    """The installed version of a Debian package; empty if it or dpkg is absent."""
    known, said = answer_of(["dpkg-query", "--show", "--showformat=${Version}", package])
    return said if known else ""


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
