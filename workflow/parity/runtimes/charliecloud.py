"""Charliecloud, from an unpacked directory and from a SquashFS file."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of, is_installed, no_fuse
from parity.runtimes.model import Arm, Launch, Look
from parity.runtimes.namespaces import no_user_namespaces


def _mounts_squashfs() -> bool:
    """Whether ch-run is linked with libsquashfuse; its --feature does not tell."""
    program = Path(shutil.which("ch-run") or "")
    return b"squashfuse" in program.read_bytes()


@dataclass(frozen=True)
class Charliecloud(Arm):
    """`ch-run` on one image format. Needs USER in its environment to start at all."""

    name: str
    title: str
    image_format: str
    root_filesystem: str = ""
    runtime: str = "charliecloud"
    look = Look("#56B4E9", "s")
    isolates: tuple[str, ...] = ("mnt", "user")
    packages = ("charliecloud-runtime", "squashfs-tools", "umoci")
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    @property
    def _squashed(self) -> bool:
        return self.image_format == "squashfs"

    def probe(self) -> Availability:
        if not is_installed("ch-run"):
            remedy = "apt-get install charliecloud-runtime"
            return Availability(False, reason="not installed", remedy=remedy)
        if missing := no_user_namespaces():
            return missing
        if self._squashed and not _mounts_squashfs():
            remedy = "install a ch-run that is linked with libsquashfuse"
            return Availability(False, reason="built without SquashFS", remedy=remedy)
        if self._squashed and (missing := no_fuse()):
            return missing
        _, version = answer_of(["ch-run", "--version"])
        return Availability(True, version=f"ch-run {version}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        mount = []
        if self._squashed:
            # A mount point of the run's own; the mount itself ends with ch-run's namespace.
            point = launch.state / "mount"
            point.mkdir(exist_ok=True)
            mount = [f"--mount={point}"]
        # ch-run knows no read-only bind: only the host's own permissions protect it.
        bind = [f"--bind={path}:{path}" for path in (launch.scratch, *launch.binds)]
        return ["ch-run", *mount, *bind, launch.location, "--", *inner]


ARMS = (
    Charliecloud("charliecloud-dir", "Charliecloud (directory)", "directory"),
    Charliecloud("charliecloud-sqfs", "Charliecloud (SquashFS)", "squashfs", "fuse"),
)
