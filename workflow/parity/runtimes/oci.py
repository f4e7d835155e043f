"""Containers of the runtime specification from a folder, without an engine: runc and gVisor."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of
from parity.runtimes.model import HOSTS, KERNEL, Arm, Launch, Look, no_root, probed

# Makes the sandbox, binds it as a whole, and only then starts the program in it.
# Processes are numbered apart, because runsc waits until a sandbox that it killed is gone, and as
# an orphan it would stay until the runner looks after its own.
OF_ITS_OWN = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
SANDBOX = Path(__file__).with_name("gvisor_sandbox.sh").read_text(encoding="utf-8")


def bundle(launch: Launch) -> dict[str, object]:
    """The container as the OCI's runtime specification has it; the program is started in it."""

    def mount(kind: str, path: str | Path, source: str | Path, *options: str) -> dict[str, object]:
        names = {"type": kind, "destination": str(path), "source": str(source)}
        return names | {"options": list(options)}

    rights = [f"CAP_{name}" for name in ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SYS_PTRACE")]
    return {
        "ociVersion": "1.0.2",
        "hostname": launch.host,
        "root": {"path": launch.location, "readonly": True},
        "process": {
            "args": ["/bin/sleep", "infinity"],
            "cwd": "/",
            "user": {"uid": 0, "gid": 0},
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), rights),
        },
        "mounts": [
            mount("proc", "/proc", "proc"),
            mount("sysfs", "/sys", "sysfs"),
            mount("tmpfs", "/dev", "tmpfs"),
            mount("tmpfs", "/dev/shm", "tmpfs"),
            mount("bind", launch.scratch, launch.scratch, "rbind", "rw"),
            *(mount("bind", path, path, "rbind", "ro") for path in (HOSTS, *launch.binds)),
        ],
        "linux": {"namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount")]},
    }


@dataclass(frozen=True)
class Gvisor(Arm):
    """`runsc` as root on an unpacked image; system calls are caught by ptrace, without KVM."""

    name: str = "gvisor"
    runtime: str = "gvisor"
    look = Look("#999933", "h")
    title: str = "gVisor"
    image_format: str = "directory"
    isolates: tuple[str, ...] = (KERNEL,)
    packages = ("runsc", "umoci", "util-linux")

    def probe(self) -> Availability:
        return probed("runsc", "apt-get install runsc", no_root)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        (launch.state / "config.json").write_text(json.dumps(bundle(launch)))
        cpus = ",".join(map(str, launch.cpus))
        facts = (str(launch.state), launch.name, cpus)
        return [*OF_ITS_OWN, "/bin/sh", "-euc", SANDBOX, "sandbox", *facts, *inner]

    def cleanup(self, *launches: Launch) -> None:
        for launch in launches:
            state = f"--root={launch.state}/runsc"
            answer_of(["runsc", state, "--ignore-cgroups", "delete", "--force", launch.name])


# Puts the words of a run into a bundle of its own, then becomes runc: of several ranks each has
# words that are filled in on the node.
RUN = """import json, os, sys
from pathlib import Path
state, name, *words = sys.argv[1:]
bundle = Path(state, name)
bundle.mkdir(exist_ok=True)
config = json.loads(Path(state, "config.json").read_text())
config["process"]["args"] = words
(bundle / "config.json").write_text(json.dumps(config))
argv = ["runc", f"--root={state}/runc", "run", f"--bundle={bundle}", name]
os.execvp("runc", argv)
"""
RIGHTS = [f"CAP_{name}" for name in ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL")]


def configuration(launch: Launch) -> dict[str, object]:
    """The container without its words: read-only root, the host's devices and network."""

    def bind(path: Path, access: str) -> dict[str, object]:
        names = {"type": "bind", "source": str(path), "destination": str(path)}
        return names | {"options": ["rbind", access]}

    return {
        "ociVersion": "1.0.2",
        "root": {"path": launch.location, "readonly": True},
        "process": {
            "cwd": "/",
            "env": [f"PATH={os.defpath}"],
            "user": {"uid": 0, "gid": 0},
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), RIGHTS),
        },
        "mounts": [
            {"type": "proc", "source": "proc", "destination": "/proc"},
            *(bind(path, "rw") for path in (Path("/dev"), launch.scratch)),
            *(bind(path, "ro") for path in (Path("/sys"), HOSTS, *launch.binds)),
        ],
        "linux": {"namespaces": [{"type": name} for name in ("ipc", "mount", "pid")]},
    }


@dataclass(frozen=True)
class Runc(Arm):
    """`runc run` as root, without an engine above it."""

    name: str = "runc"
    runtime: str = "runc"
    look = Look("#117733", "<")
    title: str = "runc"
    image_format: str = "directory"
    isolates: tuple[str, ...] = ("ipc", "mnt", "pid")
    packages = ("runc", "umoci")

    def probe(self) -> Availability:
        return probed("runc", "apt-get install runc", no_root)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        (launch.state / "config.json").write_text(json.dumps(configuration(launch)))
        return [sys.executable, "-c", RUN, str(launch.state), launch.name, *inner]

    def cleanup(self, *launches: Launch) -> None:
        for launch in launches:
            answer_of(["runc", f"--root={launch.state}/runc", "delete", "--force", launch.name])


ARMS = (
    Gvisor(),
    Runc(),
)
