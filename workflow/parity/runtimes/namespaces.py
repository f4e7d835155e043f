"""Plain Linux namespaces: by unshare, Bubblewrap, a bare chroot, each way to mount an image."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of, is_installed, no_fuse
from parity.runtimes.model import HOSTS, Arm, Launch, Named, absent, arms_of, no_root, probed

# Assembles the root file system inside the new namespaces; its words come as arguments, never as
# part of the script. /dev and /sys are the host's, /proc is that of the new process namespace, and
# everything of the image is read-only. An ordinary user's PATH does not lead to chroot.
ENTER = Path(__file__).with_name("namespaces_enter.sh").read_text(encoding="utf-8")
# Mounts an image in one way for the words alone. Where a program serves its files, that one is
# a child that ends when it is unmounted, and is waited for.
MOUNTED = Path(__file__).with_name("mounted.sh").read_text(encoding="utf-8")
_INSTALL = "apt-get install util-linux"


def no_user_namespaces() -> Availability | None:
    """Why an ordinary process cannot make user namespaces here; None if it can."""
    if answer_of(["unshare", "--user", "--map-root-user", "true"])[0]:
        return None
    remedy = "sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone must allow them"
    return absent("no user namespaces", remedy)


def _entered(root: str | Path, launch: Launch, inner: Sequence[str]) -> list[str]:
    """The words in a root file system, in the namespaces that they are started in."""
    facts = map(str, (root, launch.scratch, *launch.binds))
    return ["/bin/sh", "-euc", ENTER, "namespaces", *facts, "--", *inner]


class Namespaces(Arm):
    """The unpacked image, entered through user, mount and process namespaces."""

    def probe(self) -> Availability:
        return probed("unshare", _INSTALL, no_user_namespaces)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        apart = ("--map-root-user", "--mount", "--pid", "--fork", "--kill-child")
        return ["unshare", *apart, *_entered(launch.location, launch, inner)]


class Bubblewrap(Arm):
    """`bwrap` in a user namespace; processes are the host's, so that ranks see each other."""

    def probe(self) -> Availability:
        return probed("bwrap", "apt-get install bubblewrap", no_user_namespaces)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        words = ["bwrap", "--unshare-user", "--ro-bind", launch.location, "/"]
        words += ["--dev-bind", "/dev", "/dev", "--ro-bind", "/sys", "/sys"]
        # A /proc that is made anew needs processes that are numbered anew.
        words += ["--bind", "/proc", "/proc", "--bind", *[str(launch.scratch)] * 2]
        for path in (HOSTS, *launch.binds):
            words += ["--ro-bind", str(path), str(path)]
        return [*words, "--", *inner]


class Chroot(Named):
    """The unpacked image by `chroot`: as root, or in a user namespace."""

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("mnt", "user") if os.getuid() else ("mnt",)

    def probe(self) -> Availability:
        user = [no_user_namespaces] if os.getuid() else []
        return probed("unshare", _INSTALL, *user, _no_mounts)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return [*mounting(), *_entered(launch.location, launch, inner)]


def mounting() -> list[str]:
    """The words before those that mount: only root may without a user namespace to do it in."""
    return ["unshare", *(["--map-root-user"] if os.getuid() else []), "--mount"]


def _no_mounts() -> Availability | None:
    remedy = "run the study where mount namespaces can be made"
    return None if answer_of([*mounting(), "true"])[0] else absent("no mount namespaces", remedy)


def mounted(way: str, image: str, point: Path) -> list[str]:
    """The words in front of a program's that mount an image in their mount namespace."""
    # The way: `directory`, `squashfs`, `overlay`, `memory:<MiB>` (a copy in memory, beside a file
    # of that size), or what serves the files: `fuse-overlayfs`, `squashfuse`, `squashfuse_ll`.
    point.mkdir(exist_ok=True)
    return ["/bin/sh", "-euc", MOUNTED, "mounted", way, image, str(point)]


@dataclass(frozen=True)
class Mount(Named):
    """The image mounted in one way."""

    way: str  # as `mounted` has it
    image_format: str
    packages: tuple[str, ...]  # type: ignore[misc]
    root_filesystem: str = ""  # `fuse` where a program serves the files

    def probe(self) -> Availability:
        install = f"apt-get install {' '.join(self.packages)}"
        return probed("unshare", install, no_root, self._unserved, _no_mounts)

    def _unserved(self) -> Availability | None:
        needed = self.root_filesystem
        if needed == "fuse" and not is_installed(self.way):
            return absent("not installed", f"apt-get install {' '.join(self.packages)}")
        if needed and needed not in Path("/proc/filesystems").read_text("utf-8").split():
            remedy = f"modprobe {needed}, if the kernel has it as a module"
            return absent(f"no {needed} in the kernel", remedy)
        if needed == "squashfs" and not Path("/dev/loop-control").exists():
            return absent("no loop devices", "as root: modprobe loop")
        return no_fuse() if needed == "fuse" else None

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        point = launch.state / "mount"
        words = ["unshare", "--mount", *mounted(self.way, launch.location, point)]
        return [*words, *_entered(point, launch, inner)]


ARMS = arms_of(Namespaces, Bubblewrap, Chroot, Mount)
