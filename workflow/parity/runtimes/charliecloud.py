"""Charliecloud, from an unpacked directory, a SquashFS file, or a copy of the image in memory."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.core.commands import Availability, no_fuse
from parity.runtimes.model import Image, Launch, Named, absent, arms_of, probed
from parity.runtimes.namespaces import mounted, mounting, no_user_namespaces


def _mounts_no_squashfs() -> Availability | None:
    # Its --feature does not tell.
    if b"squashfuse" in Path(shutil.which("ch-run") or "").read_bytes():
        return None
    return absent("built without SquashFS", "install a ch-run that is linked with libsquashfuse")


@dataclass(frozen=True)
class Charliecloud(Named):
    """`ch-run` on one image format. Needs USER in its environment to start at all."""

    image_format: str
    root_filesystem: str = ""

    def probe(self) -> Availability:
        problems = [no_user_namespaces]
        if self.image_format == "squashfs":
            problems += [_mounts_no_squashfs, no_fuse]
        return probed("ch-run", "apt-get install charliecloud-runtime", *problems, called="ch-run ")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        words = ["ch-run"]
        if self.image_format == "squashfs":
            # A mount point of the run's own; the mount itself ends with ch-run's namespace.
            (point := launch.state / "mount").mkdir(exist_ok=True)
            words.append(f"--mount={point}")
        # ch-run knows no read-only bind: only the host's own permissions protect it.
        words += [f"--bind={path}:{path}" for path in (launch.scratch, *launch.binds)]
        return [*words, launch.location, "--", *inner]


@dataclass(frozen=True)
class InMemory(Charliecloud):
    """`ch-run` on a copy of the image in a tmpfs of the run's own."""

    filler_mib: int = 0  # how much larger than the image

    # So Torrez et al. (CANOPIE-HPC 2019) had it, but that theirs was copied once before each job.
    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        words = mounted(
            f"memory:{self.filler_mib}", launch.location, copied := launch.state / "mount"
        )
        image = Image(self.image_format, str(copied), "")
        return [*mounting(), *words, *super().command(replace(launch, image=image), inner)]


ARMS = arms_of(Charliecloud, InMemory)
