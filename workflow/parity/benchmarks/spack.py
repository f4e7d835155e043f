"""Where the programs that Spack builds lie, and whether they are there.

The view has the same path natively and in every image, and a folder for each package, so
that several builds of one package fit beside each other: `<view>/<package>/bin/<program>`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parity.core.availability import Presence
from parity.core.spack_paths import VIEW

PROVIDER = "spack"


def program_path(package: str, name: str) -> str:
    """The absolute path of a program.

    Args:
        package: the folder of its build: the package's name, with a suffix if it is built
            several times.
    """
    return f"{VIEW}/{package}/bin/{name}"


def library_path(package: str, name: str) -> str:
    """The absolute path of a library that is preloaded."""
    return f"{VIEW}/{package}/lib/{name}"


def built(files: Sequence[str], specs: Sequence[str]) -> Presence:
    """Whether all `files` are there, built by Spack.

    Returns:
        As the version the folder of the first one's build, which Spack names after
        package, version and hash.
    """
    missing = [path for path in files if not os.access(path, os.R_OK)]
    if missing:
        others = f" and {len(missing) - 1} more" if missing[1:] else ""
        return Presence(
            available=False,
            reason=f"not built: {missing[0]}{others}",
            remedy=f"add {', '.join(specs)} to envs/spack/debian12/spack.yaml, "
            "then `snakemake lock` and `snakemake native`",
        )
    return Presence(available=True, version=Path(files[0]).resolve().parents[1].name)
