"""Bubblewrap, which Flatpak is built on: the image's folder, put together mount by mount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity.core.commands import Availability
from parity.runtimes.model import HOSTS, Arm, Launch, Look, probed
from parity.runtimes.namespaces import no_user_namespaces


@dataclass(frozen=True)
class Bubblewrap(Arm):
    """`bwrap` in a user namespace; processes are the host's, so that ranks see each other."""

    name: str = "bubblewrap"
    runtime: str = "bubblewrap"
    look = Look("#882255", "p")
    title: str = "Bubblewrap"
    image_format: str = "directory"
    isolates: tuple[str, ...] = ("mnt", "user")
    packages = ("bubblewrap", "umoci")

    def probe(self) -> Availability:
        return probed("bwrap", "apt-get install bubblewrap", no_user_namespaces)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        scratch = str(launch.scratch)
        binds = [word for path in (HOSTS, *launch.binds) for word in ("--ro-bind", path, path)]
        return [
            *("bwrap", "--unshare-user", "--ro-bind", launch.location, "/"),
            *("--dev-bind", "/dev", "/dev", "--ro-bind", "/sys", "/sys"),
            # One that is made anew needs processes that are numbered anew.
            *("--bind", "/proc", "/proc", "--bind", scratch, scratch),
            *(*map(str, binds), "--", *inner),
        ]


ARMS = (Bubblewrap(),)
