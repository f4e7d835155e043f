"""One image mounted in each way there is, and entered alike: only the mount differs.

How an image is mounted decides who serves its files: the kernel, or a program in user space
that takes CPU time of its own. Each way is entered by a mount namespace and chroot, as root,
which alone may mount all of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
from parity.core.fuse import no_fuse
from parity.runtimes.model import Arm, Launch, Look
from parity.runtimes.namespaces import ENTER

# Mounts an image in one way for the words alone. Where a program serves its files, that one is
# a child that ends when it is unmounted, and is waited for.
MOUNTED = Path(__file__).with_name("mounted.sh").read_text(encoding="utf-8")


def mounted(way: str, image: str, point: Path) -> list[str]:
    """The words in front of a program's that mount an image in their mount namespace.

    Args:
        way: `directory`, `squashfs`, `overlay`, or the program that serves the files:
            `fuse-overlayfs`, `squashfuse`, `squashfuse_ll`.
    """
    point.mkdir(exist_ok=True)
    return ["/bin/sh", "-euc", MOUNTED, "mounted", way, image, str(point)]


@dataclass(frozen=True)
class Mount(Arm):
    """The image mounted in one way.

    Attributes:
        way: as `mounted` has it.
        root_filesystem: `fuse` where a program serves the files.
    """

    name: str
    title: str
    way: str
    image_format: str
    root_filesystem: str = ""
    runtime: str = "mounts"
    look = Look("#44AA99", "p")
    isolates: tuple[str, ...] = ("mnt",)
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    @property
    def _server(self) -> tuple[str, ...]:
        return (self.way,) if self.root_filesystem == "fuse" else ()

    @property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]
        tools = ("squashfs-tools",) if self.image_format == "squashfs" else ()
        return ("util-linux", "umoci", *tools, *(name.removesuffix("_ll") for name in self._server))

    def probe(self) -> Availability:
        if os.getuid():
            return Availability(False, reason="needs root", remedy="run the study as root")
        if not all(map(is_installed, ("unshare", *self._server))):
            remedy = f"apt-get install {' '.join(self.packages)}"
            return Availability(False, reason="not installed", remedy=remedy)
        known, needed = Path("/proc/filesystems").read_text("utf-8").split(), self.root_filesystem
        if needed and needed not in known:
            remedy = f"modprobe {needed}, if the kernel has it as a module"
            return Availability(False, reason=f"no {needed} in the kernel", remedy=remedy)
        if needed == "squashfs" and not Path("/dev/loop-control").exists():
            return Availability(False, reason="no loop devices", remedy="as root: modprobe loop")
        if self._server and (missing := no_fuse()):
            return missing
        if not answer_of(["unshare", "--mount", "true"])[0]:
            remedy = "run the study where root may make mount namespaces"
            return Availability(False, reason="no mount namespaces", remedy=remedy)
        return Availability(True, version=answer_of(["unshare", "--version"])[1])

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        point = launch.state / "mount"
        words = ["unshare", "--mount", *mounted(self.way, launch.image.location, point)]
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", str(point), str(launch.scratch)]
        return [*words, *enter, *map(str, launch.binds), "--", *inner]


MOUNTS = (
    Mount("mount-directory", "Directory (bind)", "directory", "directory"),
    Mount("mount-squashfs", "SquashFS (kernel)", "squashfs", "squashfs", "squashfs"),
    Mount("mount-squashfuse", "squashfuse", "squashfuse", "squashfs", "fuse"),
    Mount("mount-squashfuse-ll", "squashfuse_ll", "squashfuse_ll", "squashfs", "fuse"),
    Mount("mount-overlay", "OverlayFS (kernel)", "overlay", "directory", "overlay"),
    Mount("mount-fuse-overlayfs", "fuse-overlayfs", "fuse-overlayfs", "directory", "fuse"),
)
