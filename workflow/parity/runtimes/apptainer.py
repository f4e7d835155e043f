"""Apptainer, from a SIF file, without any privilege of root."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of, is_installed, no_fuse, output_of
from parity.runtimes import debian_unstable
from parity.runtimes.model import HOSTS, Launch, Named, absent, arms_of
from parity.runtimes.namespaces import no_user_namespaces

PREFIX = Path("/opt/parity/apptainer")
_PROGRAMS = ("usr/bin/apptainer", "usr/lib/x86_64-linux-gnu/apptainer/bin/starter")
_LIBRARIES = ("libc6", "libseccomp2", "libsqlite3-0", "libzstd1", "zlib1g")


def program() -> str:
    """The site's own `apptainer` if there is one, else where `install` puts it."""
    return shutil.which("apptainer") or str(PREFIX / "usr/bin/apptainer")


@dataclass(frozen=True)
class Apptainer(Named):
    """`apptainer exec` in a user namespace: the mode that needs neither setuid nor root."""

    # Whether the ranks of a node are in one user and mount namespace.
    variant: bool = False  # type: ignore[misc]

    @property
    def converter(self) -> tuple[str, ...]:  # type: ignore[override]
        return (program(), "--version")

    def probe(self) -> Availability:
        answered, version = answer_of([program(), "--version"])
        if not answered:
            return absent("not installed", "as root: make setup")
        # Without it Apptainer unpacks the whole image at every start.
        if not is_installed("squashfuse"):
            return absent("no squashfuse", "apt-get install squashfuse")
        return no_user_namespaces() or no_fuse() or Availability(True, version=version)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        # By default it mounts the caller's home, working directory, /tmp and some files of /etc;
        # here nothing of the host but its devices and the scratch directory comes in.
        binds = [launch.scratch, HOSTS, *(f"{path}:{path}:ro" for path in launch.binds)]
        words = [program(), "--silent", "exec", *(["--sharens"] if self.variant else [])]
        words += ["--userns", "--cleanenv", "--no-mount=home,tmp,cwd,bind-paths"]
        return [*words, f"--bind={','.join(map(str, binds))}", launch.location, *inner]

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            argv = [program(), "build", "--force", str(destination), f"oci:{oci}"]
            output_of(argv, environment={"APPTAINER_TMPDIR": folder, "APPTAINER_CACHEDIR": folder})
        return str(destination)

    def install(self) -> None:
        if not answer_of([program(), "--version"])[0]:
            debian_unstable.install("apptainer", _LIBRARIES, _PROGRAMS, PREFIX, _lay_out)


def _lay_out(tree: Path) -> None:
    # It takes its prefix from where its program is: `usr` for the command and, because Debian has
    # one folder more than usual above the starter, `usr/lib` for that.
    (tree / "etc").rename(tree / "usr/etc")
    (tree / "usr/var/lib/apptainer/mnt/session").mkdir(parents=True)
    for name in ("etc", "var"):
        (tree / "usr/lib" / name).symlink_to(Path("..", name))


ARMS = arms_of(Apptainer)
