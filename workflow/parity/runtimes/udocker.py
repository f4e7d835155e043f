"""udocker, which an ordinary user installs: PRoot plays the root file system, by ptrace.

No namespace and no privilege is in it. Every system call stops for PRoot, which rewrites the
paths in it; the filter by which it could let most of them pass misses some on a kernel of today,
and then a program reads the host's files.
"""

import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parity.core import files
from parity.core.commands import Availability, answer_of, is_installed, output_of
from parity.runtimes import debian_unstable
from parity.runtimes.model import HOSTS, Arm, Launch, absent, arms_of

CONTAINER = "parity"
# That of Debian 12 knows neither statx(2) nor faccessat2(2), and fails fstat(2) of its C library.
PREFIX = Path("/opt/parity/proot")
_PROOT = PREFIX / "usr/bin/proot"


class Udocker(Arm):
    """`udocker run` in its mode P2, from an image store of our own; it passes no empty words on."""

    def probe(self) -> Availability:
        answers, version = answer_of([*_words(Path("/nonexistent")), "--version"])
        if not (answers and is_installed(str(_PROOT))):
            return absent("not installed", "as root: make setup")
        if not _traces():
            return absent("PRoot cannot trace programs here")
        return Availability(True, version=f"udocker {version.partition(': ')[2]}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        binds = [f"--volume={path}:{path}" for path in (launch.scratch, HOSTS, *launch.binds)]
        return [*_words(Path(launch.location)), "run", "--nobanner", *binds, CONTAINER, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        destination.mkdir()
        with tempfile.NamedTemporaryFile(dir=destination, suffix=".tar") as archive:
            output_of(["tar", "--create", "--file", archive.name, "--directory", rootfs, "."])
            words = ["import", "--tocontainer", f"--name={CONTAINER}", archive.name]
            output_of([*_words(destination), *words])
        return str(destination)

    def digest(self, location: str) -> str:
        root = Path(location, "containers", CONTAINER, "ROOT")
        # Beside it udocker keeps notes, which change with each run.
        return files.digest(root) if root.exists() else ""

    def install(self) -> None:
        if not _traces():
            debian_unstable.install("proot", ("libc6", "libtalloc2"), ["usr/bin/proot"], PREFIX)


def _traces() -> bool:
    """Whether PRoot runs a program as udocker asks for it, with the kernel's version pretended."""
    asked = ("-k", platform.release(), "-r", "/", "/bin/true")
    return answer_of(["env", "PROOT_NO_SECCOMP=1", str(_PROOT), *asked])[0]


def _words(store: Path) -> list[str]:
    """How udocker is called: without a filter, with our PRoot, and by root if that is us."""
    variables = [f"UDOCKER_DIR={store}", "UDOCKER_DEFAULT_EXECUTION_MODE=P2"]
    # Else it downloads a PRoot of its own, in a version that nothing here pins.
    variables += ["UDOCKER_TARBALL=", f"UDOCKER_USE_PROOT_EXECUTABLE={_PROOT}"]
    return ["env", *variables, sys.executable, "-m", "udocker.maincmd", "--allow-root", "--quiet"]


ARMS = arms_of(Udocker)
