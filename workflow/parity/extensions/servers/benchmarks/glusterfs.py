"""GlusterFS: bricks served from a folder each, and a client in user space, all from Debian.

Bricks and client are started from files that its managing daemon would write. A brick keeps marks
in `trusted.*` attributes, so it refuses to start in a runtime that makes a user namespace of its
own (Charliecloud, Apptainer with `--userns`, rootless Podman), and the run says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from parity.benchmarks.model import Program
from parity.extensions.servers.benchmarks.file_server import (
    DATA_FOLDERS,
    FIO,
    MOUNT_POINT,
    FileServer,
)
from parity.extensions.servers.benchmarks.service import Service, server_address

_SERVER, _CLIENT = "/usr/sbin/glusterfsd", "/usr/sbin/glusterfs"
_PORT = 24107
_VOLUME = "client.vol"
# Translators take no path that is relative to where the server works.
_HERE = "/proc/self/cwd"


class GlusterFs(FileServer):
    """Whole files on one brick or another, through the translators that a new volume has."""

    name = "glusterfs"
    title = "GlusterFS"
    packages = ("glusterfs-server", "fio")
    binaries = (FIO, _SERVER, _CLIENT)
    mount = (_CLIENT, f"--volfile={_VOLUME}", "--log-file=-", MOUNT_POINT)

    def services(self, parameters: Mapping[str, Any]) -> tuple[Service, ...]:
        """A brick on each address."""
        data = DATA_FOLDERS[parameters["data"]]
        return tuple(_brick(number, data) for number in range(1, 1 + parameters["servers"]))

    def served(self, program: Program, parameters: Mapping[str, Any]) -> Program:
        """With the client's own file beside it."""
        return super().served(replace(program, files={_VOLUME: _client(parameters)}), parameters)


def _brick(number: int, data: str) -> Service:
    address, place = server_address(number), data if data.startswith("/") else f"{_HERE}/{data}"
    listens = {
        "transport-type": "tcp",
        "transport.socket.bind-address": address,
        "transport.socket.listen-port": str(_PORT),
        "auth.addr.brick.allow": "*",
    }
    volumes = [
        _volume("posix", "storage/posix", (), {"directory": place}),
        _volume("locks", "features/locks", ("posix",)),
        _volume("brick", "performance/io-threads", ("locks",)),
        _volume("server", "protocol/server", ("brick",), listens),
    ]
    argv = (_SERVER, "--no-daemon", "--volfile=brick.vol", "--log-file=-")
    files = {"brick.vol": "".join(volumes)}
    return Service(f"brick-{number}", argv, files, port=_PORT, data=data, address=address)


def _client(parameters: Mapping[str, Any]) -> str:
    """The client's translators, the last of which is mounted."""
    numbers = range(1, 1 + parameters["servers"])
    same = {"transport-type": "tcp", "remote-port": str(_PORT), "remote-subvolume": "brick"}
    at = {f"brick-{number}": {"remote-host": server_address(number)} for number in numbers}
    volumes = [
        *(_volume(name, "protocol/client", (), same | host) for name, host in at.items()),
        _volume("all", "cluster/distribute", tuple(at)),
        _volume("behind", "performance/write-behind", ("all",)),
        _volume("ahead", "performance/read-ahead", ("behind",)),
    ]
    return "".join(volumes)


def _volume(
    name: str, kind: str, below: Sequence[str], options: Mapping[str, str] | None = None
) -> str:
    lines = [f"volume {name}", f"  type {kind}"]
    lines += [f"  option {option} {value}" for option, value in (options or {}).items()]
    lines += [f"  subvolumes {' '.join(below)}"] if below else []
    return "\n".join([*lines, "end-volume", ""])


BENCHMARK = GlusterFs()
