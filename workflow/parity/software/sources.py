"""Gets the sources of a toolchain's lock, before the first compiler starts."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from parity.core.errors import UserError
from parity.software.images import publish, remove
from parity.software.spack import Spack
from parity.software.toolchain import Toolchain, specs_of


def fetch_sources(spack: Spack, environment: Path, log: Path) -> None:
    """Fetch all sources of a Spack environment that are not installed yet; raises UserError."""
    _fetch(spack, environment, log, "fetch", "--missing")


def gather_sources(spack: Spack, toolchain: Toolchain, destination: Path, log: Path) -> None:
    """Lay out a source mirror with all that the lock is built from.

    Raises:
        UserError: a source cannot be fetched; an older mirror is left as it was.
    """
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    with tempfile.TemporaryDirectory() as environment:
        for path in (toolchain.manifest, toolchain.lock):
            shutil.copy(path, environment)
        _fetch(spack, Path(environment), log, "mirror", "create", "--all", "--directory", part)
    publish(part, destination)


def _fetch(spack: Spack, environment: Path, log: Path, *words: str | Path) -> None:
    try:
        spack.run("--env-dir", environment, *words, log=log)
    except UserError as error:
        packages = specs_of(environment / "spack.lock")
        names = sorted({package.name for package in packages if package.root})
        raise UserError(
            f"a source cannot be fetched: {unfetched(error.what)}",
            where=f"config/config.yaml: spack.sources; {log}",
            allowed="empty (the network), or the folder or address of a Spack source mirror",
            action="where there is a network, `spack mirror create --directory <folder>"
            f" {' '.join(names)}`, and name that folder",
        ) from None


def unfetched(said: str) -> str:
    """What Spack could not fetch, from what it said: the packages, or else its last error."""
    if packages := set(re.findall(r"Error while fetching (\S+)", said)):
        return ", ".join(sorted(packages))
    errors = re.findall(r"Error: (.+)", said)
    return errors[-1] if errors else said.splitlines()[-1]
