"""OrangeFS 2.10, the file system of Yildirim et al. 2021: a site's own build of it (`_BUILD`).

It lies where `<arm>-shared-tree` shows it, or in the site's base image at the same path. A server
must stay in its folder, by which the runner knows whose it is, so one line of its source goes.
Its client speaks FUSE 2, which splits transfers of 1 MiB into parts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.benchmarks import programs
from parity.benchmarks.programs import installed
from parity.core.commands import Availability
from parity.core.spack_paths import view_of
from parity.extensions.servers.benchmarks.file_server import (
    FIO,
    MOUNT_POINT,
    FileServer,
    on_each_address,
)
from parity.extensions.servers.benchmarks.service import Service, cannot_serve, server_address

# What a site builds by itself lies as what Spack builds with a toolchain of that name.
_SITE = "site"
_PREFIX = view_of(_SITE) / "orangefs"
_SERVER = str(_PREFIX / "sbin/pvfs2-server")
_CLIENT = programs.program_path("orangefs", "pvfs2fuse", _SITE)
_BUILD = (
    'take `chdir("/")` out of OrangeFS 2.10\'s src/server/pvfs2-server.c, and build it with'
    f" ./configure --prefix={_PREFIX} --with-db-backend=lmdb --enable-fuse"
    f" --enable-shared --disable-usrint CFLAGS='-O2 -fcommon' LDFLAGS=-Wl,-rpath,{_PREFIX}/lib"
)
_PORT = 3334
# A server makes its storage in a start of its own, and then serves it in the same process.
_SERVE = Path(__file__).with_name("orangefs.sh").read_text(encoding="utf-8")
_CONFIGURATION = Path(__file__).with_name("orangefs.conf").read_text(encoding="utf-8")
_FIRST_DATA, _LAST = 2**62, 2**63 - 2


class OrangeFs(FileServer):
    """Stripes of 64 KiB over all servers, each of which has metadata and data."""

    name = "orangefs"
    title = "OrangeFS"
    packages = ("fio", "libfuse2", "liblmdb0", "libssl3")
    binaries = (FIO, _SERVER, _CLIENT)
    mount = (_CLIENT, MOUNT_POINT, "-o", f"fs_spec=tcp://{server_address(1)}:{_PORT}/orangefs")

    def probe(self) -> Availability:
        """Whether a site's build is here, and can be mounted."""
        found = cannot_serve() or installed(self.binaries, self.packages)
        missing = not found.available and _PREFIX.name in found.reason
        return Availability(False, reason=found.reason, remedy=_BUILD) if missing else found

    def services(self, parameters: Mapping[str, Any]) -> tuple[Service, ...]:
        """A server on each address."""
        return on_each_address(_server, parameters)


def _server(number: int, data: str, parameters: Mapping[str, Any]) -> Service:
    """A server, with the one configuration of all."""
    argv = ("/bin/sh", "-c", _SERVE, "orangefs", _SERVER, f"s{number}")
    files, address = {"fs.conf": configuration(parameters["servers"], data)}, server_address(number)
    return Service(f"server-{number}", argv, files, {}, _PORT, data, address, _SERVER)


def configuration(servers: int, data: str) -> str:
    """The file of all servers, as `pvfs2-genconfig` writes it, with the addresses of the link.

    `data`: folder of each server's data, below its own or absolute.
    """
    numbers, ranges = range(1, 1 + servers), []
    # Each has an equal part of the handles of files, and of those of their pieces.
    for first, last in ((3, _FIRST_DATA), (_FIRST_DATA + 1, _LAST)):
        size = (last - first + 1) // servers
        starts = [first + part * size for part in range(servers)]
        parts = zip(numbers, starts, [*(start - 1 for start in starts[1:]), last], strict=True)
        ranges.append("".join(f"\t\tRange s{n} {begin}-{end}\n" for n, begin, end in parts))
    aliases = "".join(f"\tAlias s{n} tcp://{server_address(n)}:{_PORT}\n" for n in numbers)
    place = data if data.startswith("/") else f"/proc/self/cwd/{data}"
    return _CONFIGURATION.format(data=place, aliases=aliases, meta=ranges[0], io=ranges[1])


BENCHMARK = OrangeFs()
