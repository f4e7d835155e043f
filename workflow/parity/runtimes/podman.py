"""Podman, without a daemon; the same arm as root and as an ordinary user."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from parity.core.availability import Availability
from parity.core.commands import answer_of, is_installed, output_of
from parity.runtimes.limits import CpuLimit, engine_words
from parity.runtimes.model import Arm, Launch, Look
from parity.runtimes.namespaces import no_user_namespaces

TAG = "localhost/parity:study"
_MOST_PROCESSES = Path("/proc/sys/kernel/pid_max")


def ulimits() -> list[str]:
    """Our own hard limits as options.

    Podman's defaults are above them, and raising a limit takes a capability that not
    even every root has. Podman cuts its own process limit at the kernel's largest pid
    before it starts the container, so no container can have more.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    largest_pid = int(_MOST_PROCESSES.read_text())
    if processes == resource.RLIM_INFINITY or processes > largest_pid:
        processes = largest_pid
    return [f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}"]


@dataclass(frozen=True)
class Podman(Arm):
    """`podman run` of the image by its id, with runc: crun refuses mixed cgroup layouts.

    The container shares the namespaces `shared` with the host; a writable one has a layer of its
    own, an overlay on the image's disk, which ends with it.
    """

    name: str = "podman"
    title: str = "Podman"
    shared: tuple[str, ...] = ()
    is_writable: bool = False
    runtime: str = "podman"
    look = Look("#CC79A7", "P")
    image_format: str = "podman"
    # It holds the user namespace of an ordinary user's containers.
    lasting = ("catatonit", "podman pause")
    engine: ClassVar[tuple[str, ...]] = ("podman", "--runtime=runc")
    packages: ClassVar[tuple[str, ...]] = ("podman", "runc", "skopeo", "uidmap")
    converter = ("skopeo", "--version")

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in ("ipc", "mnt", "pid", "uts") if name not in self.shared)

    def probe(self) -> Availability:
        if not (is_installed("podman") and is_installed("runc")):
            return Availability(False, reason="not installed", remedy="apt-get install podman runc")
        if os.getuid() and (missing := no_user_namespaces()):
            return missing
        _, version = answer_of(["podman", "--version"])
        return Availability(True, version=version)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        assert launch.image is not None
        return [
            *(*self.engine, "run", "--rm", f"--name={launch.name}", "--pull=never"),
            *("--log-driver=none", "--network=host"),
            *(() if self.is_writable else ("--read-only", "--read-only-tmpfs=false")),
            *(f"--{name}=host" for name in self.shared),
            *ulimits(),
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
        output_of(["skopeo", "copy", f"oci:{oci}:parity", f"containers-storage:{TAG}"])
        return f"sha256:{self._inspect(TAG, '{{.Id}}')}"

    def digest(self, location: str) -> str:
        answered, said = answer_of(
            [self.engine[0], "image", "inspect", "--format={{.Id}}", location], seconds=60
        )
        return f"sha256:{said.removeprefix('sha256:')}" if answered else ""

    def size(self, location: str) -> int:
        return int(self._inspect(location, "{{.Size}}"))

    def _inspect(self, image: str, field: str) -> str:
        words = [self.engine[0], "image", "inspect", f"--format={field}", image]
        return output_of(words).strip()

    def cleanup(self, *launches: Launch) -> None:
        names = [launch.name for launch in launches]
        words = [self.engine[0], "rm", "--force", "--ignore", "--time=0", *names]
        # It refuses to remove what is about to end, and forgets nothing by itself.
        for pause_seconds in (1.0, 2.0, 0.0) if names else ():
            if answer_of(words, seconds=60)[0]:
                return
            time.sleep(pause_seconds)


# Ranks of one node that all have process 1 in namespaces of their own take each other for
# themselves in Open MPI 4's shared memory, and crash; hence the second variant.
ARMS = (
    Podman(),
    Podman("podman-shared", "Podman (host's processes)", ("ipc", "pid")),
    Podman("podman-writable", "Podman (own layer)", is_writable=True),
)
