"""Plain Linux namespaces, made by `unshare` of util-linux: the runtime that is always there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
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
        assert launch.image is not None
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", launch.image.location, str(launch.scratch)]
        return [*UNSHARE, *enter, *map(str, launch.binds), "--", *inner]


ARMS = (Namespaces(),)
