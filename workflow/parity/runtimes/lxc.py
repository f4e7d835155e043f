"""LXC: one command in a container of its own, from a configuration written for the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.core.commands import Availability, answer_of
from parity.runtimes.model import HOSTS, Arm, Launch, Look, no_root, probed


def _fstab_word(path: Path) -> str:
    """A path as a word of fstab(5), which the mount entries follow."""
    return str(path).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")


def configuration(launch: Launch) -> str:
    """The container's configuration: read-only root, the host's devices and network."""
    scratch = _fstab_word(launch.scratch)
    binds = "".join(_bind(path) for path in (HOSTS, *launch.binds))
    return f"""lxc.rootfs.path = dir:{launch.location}
lxc.rootfs.options = ro
lxc.net.0.type = none
lxc.mount.auto = proc:rw sys:rw
lxc.mount.entry = /dev dev none rbind 0 0
lxc.mount.entry = {scratch} {scratch.removeprefix("/")} none rbind,rw 0 0
{binds}"""


def _bind(path: Path) -> str:
    """The line that shows a file or folder of the host, read-only."""
    word = _fstab_word(path)
    return f"lxc.mount.entry = {word} {word.removeprefix('/')} none bind,ro 0 0\n"


@dataclass(frozen=True)
class Lxc(Arm):
    """`lxc-execute` as root; its small init starts the program and passes its status on."""

    name: str = "lxc"
    runtime: str = "lxc"
    look = Look("#D55E00", "v")
    title: str = "LXC"
    image_format: str = "directory"
    isolates: tuple[str, ...] = ("ipc", "mnt", "pid", "uts")
    packages = ("lxc", "umoci")

    def probe(self) -> Availability:
        return probed("lxc-execute", "apt-get install lxc", no_root, called="LXC ")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        file = launch.state / "lxc.conf"
        file.write_text(configuration(launch))
        return [
            *("lxc-execute", f"--name={launch.name}", f"--lxcpath={launch.state}"),
            *(f"--rcfile={file}", f"--define=lxc.uts.name={launch.host}", "--", *inner),
        ]

    def cleanup(self, *launches: Launch) -> None:
        for launch in launches:
            folder = f"--lxcpath={launch.state}"
            answer_of(["lxc-stop", f"--name={launch.name}", folder, "--kill"], seconds=30)


ARMS = (Lxc(),)
