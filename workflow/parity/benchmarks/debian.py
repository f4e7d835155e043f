"""Whether a benchmark is installed, and which version of its Debian package."""

from __future__ import annotations

import os
from collections.abc import Sequence

from parity.commands import answer_of
from parity.presence import Presence


def installed(binaries: Sequence[str], packages: Sequence[str]) -> Presence:
    """Whether all `binaries` can be run here.

    Returns:
        The version of the first of `packages` that the package manager knows; it is
        empty where there is no dpkg, which is no reason not to run.
    """
    missing = [path for path in binaries if not os.access(path, os.X_OK)]
    if missing:
        return Presence(
            available=False,
            reason=f"not installed: {', '.join(missing)}",
            remedy=f"apt-get install {' '.join(packages)}",
        )
    return Presence(available=True, version=package_version(packages[0]) if packages else "")


def package_version(package: str) -> str:
    """The installed version of a Debian package; empty if it or dpkg is absent."""
    known, said = answer_of(["dpkg-query", "--show", "--showformat=${Version}", package])
    return said if known else ""
