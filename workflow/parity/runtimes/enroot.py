"""NVIDIA's Enroot, from a SquashFS file that is mounted anew for each start.

Written from its documentation (doc/cmd/start.md, doc/image-format.md); no machine here has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed
from parity.runtimes.model import HOSTS, Arm, Launch, Look
from parity.runtimes.namespaces import no_user_namespaces


@dataclass(frozen=True)
class Enroot(Arm):
    """`enroot start` of an image; its root is read-only unless it is told otherwise."""

    name: str = "enroot"
    runtime: str = "enroot"
    look = Look("#44AA99", ">")
    title: str = "Enroot"
    image_format: str = "squashfs"
    isolates: tuple[str, ...] = ("mnt", "user")
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    def probe(self) -> Availability:
        needed = ("enroot", "squashfuse", "fuse-overlayfs")
        if missing := [name for name in needed if not is_installed(name)]:
            remedy = "https://github.com/NVIDIA/enroot/blob/master/doc/installation.md"
            return Availability(False, reason=f"no {' and no '.join(missing)}", remedy=remedy)
        _, version = answer_of(["enroot", "version"])
        return no_user_namespaces() or Availability(True, version=f"enroot {version}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        # The fields of fstab(5), with a colon between them.
        shown = [f"{path}:{path}:none:bind,ro" for path in (HOSTS, *launch.binds)]
        mounts = [f"--mount={fields}" for fields in (f"{launch.scratch}:{launch.scratch}", *shown)]
        return ["enroot", "start", *mounts, launch.image.location, *inner]


ARMS = (Enroot(),)
