"""Plain Linux namespaces: a container, a bare chroot, and each way to mount an image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from parity.core.commands import Availability, answer_of, is_installed, no_fuse
from parity.runtimes.model import Arm, Launch, Look

# Assembles the root file system inside the new namespaces; its words come as arguments,
# never as part of the script. /dev and /sys are the host's, /proc is that of the new
# process namespace, and everything of the image is read-only. An ordinary user's PATH
# does not lead to chroot.
ENTER = Path(__file__).with_name("namespaces_enter.sh").read_text(encoding="utf-8")

UNSHARE = ("unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child")


def no_user_namespaces() -> Availability | None:
    """Why an ordinary process cannot make user namespaces here; None if it can."""
    if answer_of(["unshare", "--user", "--map-root-user", "true"])[0]:
        return None
    remedy = "sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone must allow them"
    return Availability(False, reason="no user namespaces", remedy=remedy)


@dataclass(frozen=True)
class Namespaces(Arm):
    """The unpacked image, entered through user, mount and process namespaces."""

    name: str = "namespaces"
    runtime: str = "namespaces"
    look = Look("#E69F00", "^")
    title: str = "Namespaces"
    image_format: str = "directory"
    isolates: tuple[str, ...] = ("mnt", "pid", "user")
    packages = ("util-linux", "umoci")
    converter = ("umoci", "--version")

    def probe(self) -> Availability:
        if not is_installed("unshare"):
            return Availability(False, reason="not installed", remedy="apt-get install util-linux")
        _, version = answer_of(["unshare", "--version"])
        return no_user_namespaces() or Availability(
            True, version=version.removeprefix("unshare from ")
        )

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", launch.location, str(launch.scratch)]
        return [*UNSHARE, *enter, *map(str, launch.binds), "--", *inner]


@dataclass(frozen=True)
class Chroot(Arm):
    """The unpacked image by `chroot`: as root, or in a user namespace."""

    name: str
    title: str
    runtime: str = "chroot"
    look = Look("#7a7a7a", "d")
    image_format: str = "directory"
    packages = ("util-linux", "umoci")
    converter = ("umoci", "--version")
    stands_in: ClassVar[bool] = True

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("mnt", "user") if os.getuid() else ("mnt",)

    def probe(self) -> Availability:
        if not is_installed("unshare"):
            return Availability(False, reason="not installed", remedy="apt-get install util-linux")
        if os.getuid() and (missing := no_user_namespaces()):
            return missing
        if not answer_of(self._enter("true"))[0]:
            remedy = "run the study where mount namespaces can be made"
            return Availability(False, reason="no mount namespaces", remedy=remedy)
        return Availability(True, version=answer_of(["unshare", "--version"])[1])

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", launch.location, str(launch.scratch)]
        return self._enter(*enter, *map(str, launch.binds), "--", *inner)

    def _enter(self, *words: str) -> list[str]:
        """The words in namespaces of their own."""
        mapped = ["--map-root-user"] if "user" in self.isolates else []
        return ["unshare", *mapped, "--mount", *words]


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
        point = launch.state / "mount"
        words = ["unshare", "--mount", *mounted(self.way, launch.location, point)]
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", str(point), str(launch.scratch)]
        return [*words, *enter, *map(str, launch.binds), "--", *inner]


ARMS = (
    Namespaces(),
    Chroot("chroot-a", "Chroot A"),
    Chroot("chroot-b", "Chroot B"),
    Mount("mount-directory", "Directory (bind)", "directory", "directory"),
    Mount("mount-squashfs", "SquashFS (kernel)", "squashfs", "squashfs", "squashfs"),
    Mount("mount-squashfuse", "squashfuse", "squashfuse", "squashfs", "fuse"),
    Mount("mount-squashfuse-ll", "squashfuse_ll", "squashfuse_ll", "squashfs", "fuse"),
    Mount("mount-overlay", "OverlayFS (kernel)", "overlay", "directory", "overlay"),
    Mount("mount-fuse-overlayfs", "fuse-overlayfs", "fuse-overlayfs", "directory", "fuse"),
)
