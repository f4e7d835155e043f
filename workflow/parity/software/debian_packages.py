"""Debian's packages: which versions are installed natively, and where they come from."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from parity.core.commands import is_installed, output_of
from parity.core.errors import UserError


def installed_versions(packages: Sequence[str]) -> list[str]:
    """`name=version` of each package that is installed natively, sorted.

    A package that is not installed is left out: what cannot run natively has nothing to
    be compared with. Where there is no dpkg at all the bare names are returned, and
    whether both sides have the same binaries is for the audit to say.
    """
    names = sorted(set(packages))
    if not is_installed("dpkg-query"):
        return names
    # One call for all: Snakemake asks each time it reads the rules. It fails if a package
    # is unknown and answers for the others all the same.
    form = "--showformat=${db:Status-Abbrev}\t${Package}=${Version}\n"
    done = subprocess.run(
        ["dpkg-query", "--show", form, *names], capture_output=True, text=True, check=False
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return sorted({said for status, said in lines if status.strip() == "ii"})


def check_installed(packages: Sequence[str], where: str, action: str) -> None:
    """Refuse to go on without packages; raises UserError, which names them."""
    found = {each.partition("=")[0] for each in installed_versions(packages)}
    absent = sorted(set(packages) - found)
    if absent:
        raise UserError(
            f"Debian packages that are not installed: {' '.join(absent)}",
            where=where,
            action=f"{action}, or sudo apt-get install --no-install-recommends {' '.join(absent)}",
        )


def debian_sources(suite: str) -> list[str]:
    """The sources that apt has of a Debian release, as one-line entries of sources.list(5).

    Asks apt, which knows both of its file formats; empty where there is no apt, no
    package list yet, or another distribution.
    """
    if not is_installed("apt-get"):
        return []
    form = "$(ORIGIN)\t$(RELEASE)\t$(REPO_URI)\t$(COMPONENT)"
    lines = output_of(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
    releases = {suite, f"{suite}-updates", f"{suite}-security"}
    targets = [line.split("\t") for line in lines.splitlines()]
    return sorted(
        {
            f"deb {address} {release} {component}"
            for origin, release, address, component in targets
            if origin == "Debian" and release in releases
        }
    )
