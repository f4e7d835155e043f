"""Servers that a benchmark needs, and where they and their client are: facts that runners follow.

A service works in `servers/<name>` below the folder of measured programs, so relative paths in its
words and files are the same in every arm.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.benchmarks.model import Asked, Beside
from parity.core.commands import FUSE, Availability, is_installed, no_fuse
from parity.runtimes.model import KERNEL, absent

BESIDE = "data"  # of a server, below its own folder
INSIDE = "inside"  # the factor whose level is the side that runs in the arm, not natively
SERVERS = "servers"  # the one of its levels; the other is `client`
# The one link between servers, which have an address each on the host, and the client.
PREFIX_LENGTH = 24
HOST_ADDRESS, CLIENT_ADDRESS = "10.213.1.254", "10.213.1.1"
MOST_SERVERS = 4
_PACKAGE_OF = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}


@dataclass(frozen=True)
class Service:
    """A server, all of whose state is below its folder."""

    name: str  # unique in the run, `[a-z0-9-]+`
    argv: tuple[str, ...]  # absolute path and arguments; it stays in the foreground
    files: Mapping[str, str] = field(default_factory=dict)  # texts in its folder, by relative path
    environment: Mapping[str, str] = field(default_factory=dict)  # beyond the runner's fixed ones
    port: int = 0  # TCP port that answers when it is ready; 0 for none
    # Folder of its data, below its own, or absolute in the image's own tree; made before it starts.
    data: str = BESIDE
    address: str = HOST_ADDRESS  # where the port answers
    # Absolute path of what serves, where `argv` is a shell that prepares, starts and awaits it.
    executable: str = ""

    def below(self, own: Path) -> "Service":
        """The same where there is no image: its data are below its own folder `own`."""
        if not Path(self.data).is_absolute():
            return self
        there = f"{own}/{BESIDE}"
        files = {name: text.replace(self.data, there) for name, text in self.files.items()}
        return replace(self, files=files, data=BESIDE)


@dataclass(frozen=True)
class Served(Beside):
    """Servers beside a program, and what it mounts of them; what it uses is counted."""

    services: tuple[Service, ...] = ()  # in the order in which they are started
    mount: tuple[str, ...] = ()  # words of the client's mount command, run in the client's network
    mounted: tuple[str, ...] = ()  # words of a command that is run there once it is mounted
    mount_point: str = ""  # folder of that mount, below the working directory; empty for none
    monitor_hz: float = 0.0  # how often a second what the run uses is read beside it; 0 for never

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(service.name for service in self.services)

    def reworded(self, change: Callable[[str], str]) -> "Served":
        services = tuple(
            replace(each, argv=tuple(map(change, each.argv)), executable=change(each.executable))
            for each in self.services
        )
        mount, mounted = (tuple(map(change, words)) for words in (self.mount, self.mounted))
        return replace(self, services=services, mount=mount, mounted=mounted)

    def is_in_arm(self, parameters: Asked) -> bool:
        """Whether the client is: where the servers are in the arm it is native."""
        return not self.services or parameters[INSIDE] != SERVERS

    def refusal(self, isolates: Collection[str], ranks: int) -> str:
        if self.services and KERNEL in isolates:
            return "servers and client share the host's kernel, and this arm has another"
        if self.services and ("net" in isolates or ranks):
            return "servers are on the host's network, beside a program that is started once"
        return ""


def server_address(number: int) -> str:
    """The address of a server on the link, the first of which is number 1."""
    return f"10.213.1.{10 + number}"


def client_cpus(cpus: Sequence[int]) -> tuple[int, ...]:
    """The first half of a node's logical CPUs, which the client has; at least one."""
    return tuple(cpus[: max(1, len(cpus) // 2)])


def server_cpus(cpus: Sequence[int]) -> tuple[int, ...]:
    """The second half of a node's logical CPUs, which all servers share; at least one."""
    return tuple(cpus[len(cpus) // 2 :])


def cannot_serve(device: Path = FUSE) -> Availability | None:
    """Why no file system of servers can be mounted over a link here; None if it can."""
    if os.geteuid():
        return absent("a link between servers and client needs root", "run the study as root")
    if missing := [program for program in _PACKAGE_OF if not is_installed(program)]:
        packages = " ".join(sorted({_PACKAGE_OF[program] for program in missing}))
        return absent(f"{', '.join(missing)} not installed", f"apt-get install {packages}")
    return no_fuse(device)
