"""Container engines: Docker with its daemon, Podman without one, NERSC's Podman-HPC."""

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from parity.core.commands import Availability, answer_of, is_installed, output_of
from parity.core.errors import UserError
from parity.runtimes.limits import CpuLimit
from parity.runtimes.model import Launch, Named, absent, arms_of, probed, store_name
from parity.runtimes.namespaces import no_user_namespaces

# No network of its own making: runs use the host's, and the daemon leaves the host's
# firewall alone (it would otherwise drop what other bridges forward).
DAEMON = ("dockerd", "--bridge=none", "--iptables=false", "--ip-masq=false")
DAEMON_LOG = Path("/var/log/parity-dockerd.log")
DAEMON_PID = Path("/var/run/docker.pid")
_START_SECONDS = 30
_PODMAN_SAYS = (["podman", "--version"], ["podman", "info", "--format={{.Store.GraphDriverName}}"])
# Of an engine without an overlay.
COPIES = "storage driver vfs, by which every start copies the image"
_MOST_PROCESSES = Path("/proc/sys/kernel/pid_max")


@dataclass(frozen=True)
class Engine(Named):
    """What the engines share: an image in a store, run by its id; a name for each container."""

    engine: ClassVar[tuple[str, ...]]  # the program, and its words before those of its command
    store: ClassVar[str]  # where skopeo puts the image, before its name
    is_writable: bool = False  # by a layer, an overlay on the store's disk, which ends with it

    @property
    def variant(self) -> bool:  # type: ignore[override]
        return self.is_writable

    def _run(self, *own: str, launch: Launch, inner: Sequence[str]) -> list[str]:
        # The output goes to the runner alone: without `--log-driver=none` the engine keeps a copy.
        words = [*self.engine, "run", "--rm", f"--name={launch.name}", "--pull=never"]
        words += ["--log-driver=none", "--network=host", *own, "--volume=/dev/shm:/dev/shm"]
        words += [f"--volume={launch.scratch}:{launch.scratch}"]
        words += [f"--volume={path}:{path}:ro" for path in launch.binds]
        return [*words, *launch.limits, launch.location, *inner]

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        if limit.burst_us or limit.is_idle:
            return None  # They have no options for it.
        words = [f"--cpu-shares={limit.shares}"] if limit.shares else []
        if limit.quota_us:
            words += [f"--cpu-period={limit.period_us}", f"--cpu-quota={limit.quota_us}"]
        words += [f"--cgroup-parent=/{limit.group}"] if limit.group else []
        return words + ([f"--cpuset-cpus={limit.cpu_list}"] if limit.cpus else [])

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        name = store_name(oci)
        output_of(["skopeo", "copy", f"oci:{oci}:parity", f"{self.store}{name}"])
        return _as_digest(output_of(self._inspected("Id", name)))

    def digest(self, location: str) -> str:
        answered, identity = answer_of(self._inspected("Id", location), seconds=60)
        return _as_digest(identity) if answered else ""

    def size(self, location: str) -> int:
        return int(output_of(self._inspected("Size", location)))

    def _inspected(self, field: str, image: str) -> list[str]:
        return [self.engine[0], "image", "inspect", f"--format={{{{.{field}}}}}", image]


def _as_digest(identity: str) -> str:
    """The id of an image; Podman leaves out what Docker says before it."""
    return f"sha256:{identity.strip().removeprefix('sha256:')}"


@dataclass(frozen=True)
class Docker(Engine):
    """`docker run`; capabilities and seccomp profile are Docker's own defaults, as users have."""

    isolates: tuple[str, ...] = ("ipc", "mnt", "pid", "uts")

    def probe(self) -> Availability:
        if not is_installed("docker"):
            return absent("not installed", "apt-get install docker.io")
        answered, answer = answer_of(["docker", "version", "--format={{.Server.Version}}"])
        if answered:
            return Availability(True, version=f"Docker {answer}")
        if "permission denied" in answer:
            remedy = "as root: usermod -aG docker <user>, then log in again"
            return absent("no access to the daemon", remedy)
        return absent("daemon not running", f"as root: {' '.join(DAEMON)}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        kept = () if self.is_writable else ("--read-only",)
        user = f"--user={os.getuid()}:{os.getgid()}"
        return self._run(*kept, user, launch=launch, inner=inner)

    def cleanup(self, *launches: Launch) -> None:
        answer_of(["docker", "rm", "--force", *(launch.name for launch in launches)], seconds=60)

    def start_service(self) -> None:
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
    """Remove the daemon's pid file if its process is not a daemon of Docker any more."""
    # A machine that was switched off leaves it, and none starts while any process has the number.
    with suppress(OSError):
        number = DAEMON_PID.read_text(encoding="ascii").strip()
        program = Path("/proc", number, "comm")
        if not program.exists() or program.read_text(encoding="utf-8").strip() != DAEMON[0]:
            DAEMON_PID.unlink()


def ulimits() -> list[str]:
    """Our own hard limits as options."""
    # Podman's defaults are above them, and raising a limit takes a capability that not even every
    # root has. Podman cuts its own process limit at the kernel's largest pid before it starts the
    # container, so no container can have more.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes, most = resource.getrlimit(resource.RLIMIT_NPROC)[1], int(_MOST_PROCESSES.read_text())
    processes = most if processes == resource.RLIM_INFINITY else min(processes, most)
    return [f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}"]


@dataclass(frozen=True)
class Podman(Engine):
    """`podman run` with runc: crun refuses mixed cgroup layouts."""

    # Namespaces that it shares with the host. Ranks of a node that all have process 1 in namespaces
    # of their own take each other for themselves in Open MPI 4's shared memory, and crash.
    shared: tuple[str, ...] = ()

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in ("ipc", "mnt", "pid", "uts") if name not in self.shared)

    def probe(self) -> Availability:
        if not (is_installed("podman") and is_installed("runc")):
            return absent("not installed", "apt-get install podman runc")
        if os.getuid() and (missing := no_user_namespaces()):
            return missing
        version, driver = (answer_of(words)[1] for words in _PODMAN_SAYS)
        slow = f"; {COPIES}" if driver == "vfs" else ""
        return Availability(True, version=f"{version}{slow}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        kept = () if self.is_writable else ("--read-only", "--read-only-tmpfs=false")
        shared = [f"--{name}=host" for name in self.shared]
        return self._run(*kept, *shared, *ulimits(), launch=launch, inner=inner)

    def cleanup(self, *launches: Launch) -> None:
        names = [launch.name for launch in launches]
        words = [self.engine[0], "rm", "--force", "--ignore", "--time=0", *names]
        # It refuses to remove what is about to end, and forgets nothing by itself.
        for pause_seconds in (1.0, 2.0, 0.0) if names else ():
            if answer_of(words, seconds=60)[0]:
                return
            time.sleep(pause_seconds)


@dataclass(frozen=True)
class PodmanHpc(Podman):
    """`podman-hpc run`, with the host's processes, so that ranks of a node see each other."""

    shared: tuple[str, ...] = ("ipc", "pid")

    def probe(self) -> Availability:
        return probed("podman-hpc", "https://github.com/NERSC/podman-hpc")

    def convert(self, oci: Path, rootfs: Path, destination: Path) -> str:
        name = f"localhost/{store_name(oci)}"
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            archive = f"{folder}/parity.tar"
            output_of(["skopeo", "copy", f"oci:{oci}:parity", f"docker-archive:{archive}:{name}"])
            output_of(["podman-hpc", "load", f"--input={archive}"])
        output_of(["podman-hpc", "migrate", name])
        return _as_digest(output_of(self._inspected("Id", name)))


ARMS = arms_of(Docker, Podman, PodmanHpc)
