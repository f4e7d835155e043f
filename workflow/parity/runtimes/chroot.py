"""A bare chroot into the unpacked image, twice: the second-best reference of a foreign image.

Where nobody has a native build of the program, its container cannot be compared with one. These
run the very same bytes with as little between them and the host as there can be: a mount
namespace, in which the image's root becomes theirs. What that costs is not seen.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
from parity.runtimes.model import Arm, Launch, Look
from parity.runtimes.namespaces import ENTER, no_user_namespaces


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
        assert launch.image is not None
        enter = ["/bin/sh", "-euc", ENTER, "namespaces", launch.image.location, str(launch.scratch)]
        return self._enter(*enter, *map(str, launch.binds), "--", *inner)

    def _enter(self, *words: str) -> list[str]:
        """The words in namespaces of their own."""
        mapped = ["--map-root-user"] if "user" in self.isolates else []
        return ["unshare", *mapped, "--mount", *words]


CHROOTS = (Chroot("chroot-a", "Chroot A"), Chroot("chroot-b", "Chroot B"))
