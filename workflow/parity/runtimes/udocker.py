"""udocker, which an ordinary user installs: PRoot plays the root file system, by ptrace.

No namespace and no privilege is in it. System calls stop for PRoot, which rewrites the paths in
them: all of them, or, where it can set a filter, those that name a file.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from parity.core import digests
from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.runtimes.model import HOSTS, Arm, Launch, Look

CONTAINER = "parity"
# udocker always asks for a kernel's version to be pretended, and PRoot 5.1, which does so, fails
# fstat(2) as C libraries from 2.33 on call it. The words before `--rootfs` lose that one.
PROOT = """#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
    word=$1 left=$((left - 1))
    shift
    if [ "$word" = -k ]; then shift; left=$((left - 1)); continue; fi
    set -- "$@" "$word"
    if [ "$word" = -r ]; then break; fi
done
while [ "$left" -gt 0 ]; do
    word=$1 left=$((left - 1))
    shift
    set -- "$@" "$word"
done
exec proot "$@"
"""


@dataclass(frozen=True)
class Udocker(Arm):
    """`udocker run` in a mode of PRoot, from an image store of our own (`UDOCKER_DIR`)."""

    name: str = "udocker"
    title: str = "udocker (PRoot)"
    mode: str = "P1"
    runtime: str = "udocker"
    look = Look("#44AA99", "h")
    image_format: str = "udocker"
    packages: ClassVar[tuple[str, ...]] = ("proot", "tar", "umoci")
    made_from: ClassVar[str] = "directory"
    converter: ClassVar[tuple[str, ...]] = ("tar", "--version")

    def probe(self) -> Availability:
        if not is_installed("proot"):
            return Availability(False, reason="not installed", remedy="apt-get install proot")
        answered, _ = answer_of(["proot", "/bin/true"])
        if not answered:
            return Availability(False, reason="PRoot cannot trace programs here")
        found, version = answer_of([*_words(Path("/nonexistent")), "--version"])
        if not found:
            return Availability(False, reason="not installed", remedy="make setup")
        return Availability(True, version=f"udocker {version.partition(': ')[2]}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        binds = [f"--volume={path}:{path}" for path in (launch.scratch, HOSTS, *launch.binds)]
        store = Path(launch.image.location)
        return [*_words(store, self.mode), "run", "--nobanner", *binds, CONTAINER, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        _proot(destination).parent.mkdir(parents=True)
        _proot(destination).write_text(PROOT)
        _proot(destination).chmod(0o755)
        with tempfile.NamedTemporaryFile(dir=destination, suffix=".tar") as archive:
            output_of(["tar", "--create", "--file", archive.name, "--directory", rootfs, "."])
            words = ["import", "--tocontainer", f"--name={CONTAINER}", archive.name]
            output_of([*_words(destination), *words])
        return str(destination)

    def digest(self, location: str) -> str:
        root = Path(location, "containers", CONTAINER, "ROOT")
        # Beside it udocker keeps notes, which change with each run.
        return digests.digest(root) if root.exists() else ""


def _proot(store: Path) -> Path:
    return store / "bin/proot"


def _words(store: Path, mode: str = "P1") -> list[str]:
    """How udocker is called: with the distribution's PRoot, and by root if that is us."""
    settings = {
        "UDOCKER_DIR": store,
        "UDOCKER_DEFAULT_EXECUTION_MODE": mode,
        # Else it downloads a PRoot of its own, in a version that nothing here pins.
        "UDOCKER_TARBALL": "",
        "UDOCKER_USE_PROOT_EXECUTABLE": _proot(store),
    }
    variables = [f"{name}={value}" for name, value in settings.items()]
    return ["env", *variables, sys.executable, "-m", "udocker.maincmd", "--allow-root", "--quiet"]


ARMS = (Udocker(),)
