"""Charliecloud, from an unpacked directory, a SquashFS file, or a copy of the image in memory."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.core.commands import Availability, no_fuse
from parity.runtimes.model import Arm, Image, Launch, absent, probed
from parity.runtimes.namespaces import mounted, no_user_namespaces


def _mounts_no_squashfs() -> Availability | None:
    # Its --feature does not tell.
    if b"squashfuse" in Path(shutil.which("ch-run") or "").read_bytes():
        return None
    return absent("built without SquashFS", "install a ch-run that is linked with libsquashfuse")


@dataclass(frozen=True)
class Charliecloud(Arm):
    """`ch-run` on one image format. Needs USER in its environment to start at all."""

    name: str
    title: str
    image_format: str
    root_filesystem: str = ""

    def probe(self) -> Availability:
        problems = [no_user_namespaces]
        if self.image_format == "squashfs":
            problems += [_mounts_no_squashfs, no_fuse]
        install = "apt-get install charliecloud-runtime"
        return probed("ch-run", install, *problems, called="ch-run ")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        mount = []
        if self.image_format == "squashfs":
            # A mount point of the run's own; the mount itself ends with ch-run's namespace.
            point = launch.state / "mount"
            point.mkdir(exist_ok=True)
            mount = [f"--mount={point}"]
        # ch-run knows no read-only bind: only the host's own permissions protect it.
        bind = [f"--bind={path}:{path}" for path in (launch.scratch, *launch.binds)]
        return ["ch-run", *mount, *bind, launch.location, "--", *inner]


@dataclass(frozen=True)
class InMemory(Charliecloud):
    """`ch-run` on a copy of the image in a tmpfs of the run's own.

    So Torrez et al. (CANOPIE-HPC 2019) had it, but that theirs was copied once before each job.
    """

    variant = True

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        rights = ["--map-root-user"] if os.getuid() else []
        copied = launch.state / "mount"
        words = mounted("memory", launch.location, copied)
        image = Image(self.image_format, str(copied), "")
        return [
            "unshare",
            *rights,
            "--mount",
            *words,
            *super().command(replace(launch, image=image), inner),
        ]


ARMS = (
    Charliecloud("charliecloud-dir", "Charliecloud (directory)", "directory"),
    Charliecloud("charliecloud-sqfs", "Charliecloud (SquashFS)", "squashfs", "fuse"),
    InMemory("charliecloud-tmpfs", "Charliecloud (in memory)", "directory", "tmpfs"),
)
