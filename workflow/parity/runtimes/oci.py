"""Containers that root starts from a folder without an engine: LXC, runc and gVisor."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from parity.core.commands import Availability
from parity.runtimes.limits import NO_LIMIT, CpuLimit
from parity.runtimes.model import HOSTS, Arm, Launch, arms_of, no_root, probed

BUNDLES = Path(__file__).with_name("oci.yaml").read_bytes()


class Lxc(Arm):
    """`lxc-execute`; its small init starts the program and passes its status on."""

    def probe(self) -> Availability:
        return probed("lxc-execute", "apt-get install lxc", no_root, called="LXC ")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        lines = [
            f"lxc.rootfs.path = dir:{launch.location}", "lxc.rootfs.options = ro",
            "lxc.net.0.type = none", "lxc.mount.auto = proc:rw sys:rw",
            "lxc.mount.entry = /dev dev none rbind 0 0", _entry(launch.scratch, "rbind,rw"),
            *(_entry(path, "bind,ro") for path in (HOSTS, *launch.binds)),
        ]  # fmt: skip
        (file := launch.state / "lxc.conf").write_text("".join(f"{line}\n" for line in lines))
        words = ["lxc-execute", f"--name={launch.name}", f"--lxcpath={launch.state}"]
        words += [f"--rcfile={file}", f"--define=lxc.uts.name={launch.host}"]
        return [*words, *launch.limits, "--", *inner]

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        # Where its group is made, and none of what a group limits.
        where_alone = limit.group and replace(limit, group="") == NO_LIMIT
        return [f"--define=lxc.cgroup.dir={limit.group}"] if where_alone else None


def _entry(path: Path, options: str) -> str:
    """The line that shows a file or folder of the host; its words are those of fstab(5)."""
    word = str(path).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
    return f"lxc.mount.entry = {word} {word.removeprefix('/')} none {options} 0 0"


def _write_bundle(runtime: str, launch: Launch, *writable: Path, readable: Sequence[Path]) -> None:
    """Write the runtime's configuration of a container, which shows these paths of the host."""
    bundle = msgspec.yaml.decode(BUNDLES)[runtime]
    bundle["root"]["path"] = launch.location
    shown = [(str(path), "rw") for path in writable] + [(str(path), "ro") for path in readable]
    bundle["mounts"] += [
        {"type": "bind", "source": path, "destination": path, "options": ["rbind", access]}
        for path, access in shown
    ]
    if "hostname" in bundle:
        bundle["hostname"] = launch.host
    (launch.state / "config.json").write_text(json.dumps(bundle))


# Makes the sandbox, binds it as a whole, and only then starts the program in it.
# Processes are numbered apart, because runsc waits until a sandbox that it killed is gone, and as
# an orphan it would stay until the runner looks after its own.
OF_ITS_OWN = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
SANDBOX = Path(__file__).with_name("gvisor_sandbox.sh").read_text(encoding="utf-8")


class Gvisor(Arm):
    """`runsc` on an unpacked image; system calls are caught by ptrace, without KVM."""

    def probe(self) -> Availability:
        return probed("runsc", "apt-get install runsc", no_root)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        _write_bundle("gvisor", launch, launch.scratch, readable=(HOSTS, *launch.binds))
        facts = (str(launch.state), launch.name, ",".join(map(str, launch.cpus)))
        return [*OF_ITS_OWN, "/bin/sh", "-euc", SANDBOX, "sandbox", *facts, *inner]


# Puts the words of a run into a bundle of its own, then becomes runc: of several ranks each has
# words that are filled in on the node.
RUN = Path(__file__).with_name("runc_run.txt").read_text(encoding="utf-8")


class Runc(Arm):
    """`runc run`, with the host's devices and network."""

    def probe(self) -> Availability:
        return probed("runc", "apt-get install runc", no_root)

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        readable = (Path("/sys"), HOSTS, *launch.binds)
        _write_bundle("runc", launch, Path("/dev"), launch.scratch, readable=readable)
        return [sys.executable, "-c", RUN, str(launch.state), launch.name, *inner]


ARMS = arms_of(Lxc, Gvisor, Runc)
