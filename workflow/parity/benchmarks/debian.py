"""Whether a benchmark is installed, and which version of its Debian package."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed

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
