"""Where programs come from, and whether they are there: our sources, Debian's packages, Spack.

One script compiles the sources beside a benchmark's module, natively and in the image, so the same
compiler makes the same bytes; a source may be a script that writes its program.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of, is_installed
from parity.core.spack_paths import PREFIX, TOOLCHAIN, view_of

COMPILED = PREFIX / "compiled"
SCRIPT = Path(__file__).with_name("compile.sh")
DPKG = Path("/var/lib/dpkg/info")  # with the MD5 sums of all packages' files


def compiled_path(source: str) -> str:
    """The absolute path of the program of a source, natively and in the image."""
    return str(COMPILED / Path(source).stem)


def compiler_packages(sources: Sequence[str]) -> tuple[str, ...]:
    """Debian packages that compile sources, natively and in a stage that no image keeps."""
    # The script goes by the same line.
    texts = [SCRIPT.with_name(name).read_text(encoding="utf-8") for name in sources]
    mpi = any("\n#include <mpi.h>\n" in text for text in texts)
    return (*(("gcc", "libc6-dev") if sources else ()), *(("libopenmpi-dev",) if mpi else ()))


def source_paths(sources: Sequence[str]) -> list[Path]:
    """The sources, if there are any, with what all of them include and the script."""
    names = (SCRIPT.name, "trace.h", *sources)
    return [SCRIPT.with_name(name) for name in names] if sources else []


def installed(
    binaries: Sequence[str], packages: Sequence[str], compiled: Sequence[str] = ()
) -> Availability:
    """Whether all `binaries` can be run here, and those that are `compiled` from our sources.

    The version is that of the first of `packages`; without dpkg it is empty, and they run as well.
    """
    ways = {"installed": (binaries, f"apt-get install {' '.join(packages)}")}
    ways["compiled"] = (compiled, "`snakemake --force compile` with a study of it")
    for how, (paths, remedy) in ways.items():
        if missing := [path for path in paths if not os.access(path, os.X_OK)]:
            return Availability(False, reason=f"not {how}: {', '.join(missing)}", remedy=remedy)
    version = package_version(packages[0]) if packages else ""
    return Availability(True, version="compiled from its source" if compiled else version)


def altered(paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Programs that are not what their Debian package brought, with both MD5 sums by path.

    `paths` are absolute, and links are followed; what no package brought is passed over.
    """
    real_paths = {path: Path(path).resolve() for path in paths}
    packages = packages_of(real_paths.values())
    changed = {}
    for path, real in real_paths.items():
        for sums in (DPKG / f"{name}.md5sums" for name in packages.get(str(real), ())):
            lines = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
            # The names in these lists have no leading slash.
            entries = (line.split("  ", 1) for line in lines)
            expected = next((md5 for md5, name in entries if name == str(real)[1:]), "")
            if expected and real.is_file():
                seen = hashlib.md5(real.read_bytes(), usedforsecurity=False).hexdigest()
                if seen != expected:
                    changed[path] = (expected, seen)
    return changed


def packages_of(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The Debian packages that brought each file, by its path; nothing where there is no dpkg."""
    packages: dict[str, list[str]] = {str(path): [] for path in paths}
    if not packages or not is_installed("dpkg-query"):
        return {}
    # One question for all, since dpkg reads all of its lists; status 1 if a file is unknown.
    words = ["dpkg-query", "--search", *packages]
    answer = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    for line in answer.splitlines():
        names, _, path = line.rpartition(": ")
        if path in packages:
            packages[path] += names.split(", ")
    return packages


def package_version(package: str) -> str:
    """The installed version of a Debian package; empty if it or dpkg is absent."""
    known, version = answer_of(["dpkg-query", "--show", "--showformat=${Version}", package])
    return version if known else ""


@dataclass(frozen=True)
class SpackPackage:
    """One build of a package of Spack's repository, or of envs/spack/repo."""

    name: str
    version: str  # the pinned version; `git.<commit>=<version>` where a release has no archive
    variants: str = ""  # variants and flags as in a spec, such as `+openmp`; empty for none
    folder: str = ""  # the build's own in the view; the package's name if empty

    @property
    def spec(self) -> str:
        """The spec that Spack is asked for."""
        return f"{self.name}@{self.version} {self.variants}".strip()

    @property
    def view_folder(self) -> str:
        return self.folder or self.name


def program_path(folder: str, name: str, toolchain: str = TOOLCHAIN) -> str:
    """The absolute path of a program of the build that has that folder in the view."""
    return f"{view_of(toolchain)}/{folder}/bin/{name}"


def built_by_spack(files: Sequence[str], packages: Sequence[SpackPackage]) -> Availability:
    """Whether all `files` are there, built by Spack; as version the first one's folder."""
    missing = [path for path in files if not os.access(path, os.R_OK)]
    if not missing:
        return Availability(True, version=Path(files[0]).resolve().parents[1].name)
    others = f" and {len(missing) - 1} more" if missing[1:] else ""
    names = ", ".join(dict.fromkeys(f"{package.name}@{package.version}" for package in packages))
    remedy = f"`snakemake native` with a study of it; Spack builds {names}"
    return Availability(False, reason=f"not built: {missing[0]}{others}", remedy=remedy)
