"""GlusterFS: bricks served from a folder each, and a client in user space, all from Debian.

Bricks and client are started from files that its managing daemon would write. A brick keeps marks
in `trusted.*` attributes, so it refuses to start in a runtime that makes a user namespace of its
own (Charliecloud, Apptainer with `--userns`, rootless Podman), and the run says so.
"""

from dataclasses import replace
from pathlib import Path

from parity.benchmarks.model import Asked, NodeFacts, Program
from parity.extensions.servers.benchmarks.file_server import FIO, MOUNT_POINT, FileServer
from parity.extensions.servers.benchmarks.service import Service, server_address

_SERVER, _CLIENT = "/usr/sbin/glusterfsd", "/usr/sbin/glusterfs"
_PORT, _VOLUME = 24107, "client.vol"
# Translators, in files as its managing daemon writes them; of the client first what each brick has.
_BRICK = Path(__file__).with_name("glusterfs-server.vol").read_text(encoding="utf-8")
_OF_CLIENT = Path(__file__).with_name("glusterfs-client.vol").read_text(encoding="utf-8")


class GlusterFs(FileServer):
    """Whole files on one brick or another, through the translators that a new volume has."""

    binaries = (FIO, _SERVER, _CLIENT)
    mount = (_CLIENT, f"--volfile={_VOLUME}", "--log-file=-", MOUNT_POINT)

    def server(self, number: int, data: str, parameters: Asked) -> Service:
        """A brick; translators take no path that is relative to where the server works."""
        address = server_address(number)
        place = data if data[0] == "/" else f"/proc/self/cwd/{data}"
        argv = (_SERVER, "--no-daemon", "--volfile=brick.vol", "--log-file=-")
        files = {"brick.vol": _BRICK.format(address=address, port=_PORT, place=place)}
        return Service(f"brick-{number}", argv, files, port=_PORT, data=data, address=address)

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """With the client's own file beside it."""
        (of_brick, rest), numbers = _OF_CLIENT.split("\n\n"), range(1, 1 + parameters["servers"])
        parts = [of_brick.format(number=n, port=_PORT, address=server_address(n)) for n in numbers]
        last = rest.format(bricks=" ".join(f"brick-{number}" for number in numbers))
        files = {_VOLUME: "\n".join([*parts, last])}
        return replace(super().program(parameters, node), files=files)


BENCHMARK = GlusterFs()
