"""Docker: the container is a child of a daemon, not of the runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.runtimes.limits import CpuLimit, engine_words
from parity.runtimes.model import Arm, Launch, Look

# No network of its own making: runs use the host's, and the daemon leaves the host's
# firewall alone (it would otherwise drop what other bridges forward).
DAEMON = ("dockerd", "--bridge=none", "--iptables=false", "--ip-masq=false")
DAEMON_LOG = Path("/var/log/parity-dockerd.log")
DAEMON_PID = Path("/var/run/docker.pid")
_START_SECONDS = 30
DOCKER_TAG = "parity:study"


@dataclass(frozen=True)
class Docker(Arm):
    """`docker run` of the image by its id.

    The output goes to the runner alone: without `--log-driver=none` the daemon keeps a
    copy. A writable container has a layer of its own, an overlay on the daemon's disk, which ends
    with it. Capabilities and seccomp profile are Docker's own defaults, as users have them.
    """

    name: str = "docker"
    runtime: str = "docker"
    look = Look("#0072B2", "X")
    title: str = "Docker"
    image_format: str = "docker"
    isolates: tuple[str, ...] = ("ipc", "mnt", "pid", "uts")
    is_writable: bool = False
    packages: ClassVar[tuple[str, ...]] = ("docker.io", "skopeo")
    converter = ("skopeo", "--version")
    inherits_network = False

    def probe(self) -> Availability:
        if not is_installed("docker"):
            return Availability(False, reason="not installed", remedy="apt-get install docker.io")
        answered, said = answer_of(["docker", "version", "--format={{.Server.Version}}"])
        if answered:
            return Availability(True, version=f"Docker {said}")
        if "permission denied" in said:
            remedy = "as root: usermod -aG docker <user>, then log in again"
            return Availability(False, reason="no access to the daemon", remedy=remedy)
        return Availability(
            False, reason="daemon not running", remedy=f"as root: {' '.join(DAEMON)}"
        )

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        return [
            *("docker", "run", "--rm", f"--name={launch.name}", "--pull=never"),
            *("--log-driver=none", "--network=host"),
            *(() if self.is_writable else ("--read-only",)),
            f"--user={os.getuid()}:{os.getgid()}",
            "--volume=/dev/shm:/dev/shm",
            f"--volume={launch.scratch}:{launch.scratch}",
            *(f"--volume={path}:{path}:ro" for path in launch.binds),
            *launch.limits,
            launch.image.location,
            *inner,
        ]

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        return engine_words(limit)

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        output_of(["skopeo", "copy", f"oci:{oci}:parity", f"docker-daemon:{DOCKER_TAG}"])
        return output_of(["docker", "image", "inspect", "--format={{.Id}}", DOCKER_TAG]).strip()

    def digest(self, location: str) -> str:
        answered, said = answer_of(
            ["docker", "image", "inspect", "--format={{.Id}}", location], seconds=60
        )
        return said if answered else ""

    def size(self, location: str) -> int:
        return int(output_of(["docker", "image", "inspect", "--format={{.Size}}", location]))

    def cleanup(self, *launches: Launch) -> None:
        answer_of(["docker", "rm", "--force", *(launch.name for launch in launches)], seconds=60)

    def start_service(self) -> None:
        """Start the daemon if none answers; it outlives us and writes to `DAEMON_LOG`.

        Raises:
            UserError: it did not answer in time; the message says where its log is.
        """
        if not shutil.which("dockerd") or self.probe().available:
            return
        _forget_dead_daemon()
        with DAEMON_LOG.open("ab") as log:
            subprocess.Popen(
                DAEMON, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self.probe().available:
            if time.monotonic() > deadline:
                raise UserError("dockerd did not start", where=str(DAEMON_LOG))
            time.sleep(0.2)


def _forget_dead_daemon() -> None:
    """Remove the daemon's pid file if its process is not a daemon of Docker any more.

    A machine that was switched off leaves the file, and the daemon refuses to start as soon
    as any other process has that number.
    """
    with suppress(OSError):
        number = DAEMON_PID.read_text(encoding="ascii").strip()
        program = Path("/proc", number, "comm")
        if not program.exists() or program.read_text(encoding="utf-8").strip() != DAEMON[0]:
            DAEMON_PID.unlink()


DOCKERS = (Docker(), Docker("docker-writable", title="Docker (own layer)", is_writable=True))
