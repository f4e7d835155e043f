"""MooseFS 3: a master, servers of chunks, and a client in user space, all from Debian."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parity.benchmarks.model import Program
from parity.extensions.servers.benchmarks.file_server import (
    FIO,
    MOUNT_POINT,
    FileServer,
    on_each_address,
)
from parity.extensions.servers.benchmarks.service import Served, Service, server_address

_MASTER, _CHUNKS = "/usr/sbin/mfsmaster", "/usr/sbin/mfschunkserver"
_CLIENT_PORT, _CHUNK_PORT = 9421, 9422
# Privileges that some arms have not must change nothing: no other priority, no memory that stays.
_ALIKE = dict.fromkeys(("WORKING_USER", "WORKING_GROUP"), "root")
_ALIKE |= dict.fromkeys(("NICE_LEVEL", "LOCK_MEMORY", "DISABLE_OOM_KILLER"), "0")


def _configuration(**settings: str) -> str:
    every = _ALIKE | {"DATA_PATH": "."} | settings
    return "".join(f"{name} = {value}\n" for name, value in every.items())


def _chunk_server(number: int, data: str, parameters: Mapping[str, Any]) -> Service:
    """A server of chunks."""
    own, first = server_address(number), server_address(1)
    settings = {"HDD_CONF_FILENAME": "disks.cfg", "HDD_FSYNC_BEFORE_CLOSE": "1"}
    settings |= {"BIND_HOST": own, "CSSERV_LISTEN_HOST": own, "MASTER_HOST": first}
    files = {"chunks.cfg": _configuration(**settings), "disks.cfg": f"{data}\n"}
    argv = (_CHUNKS, "-f", "-c", "chunks.cfg", "start")
    return Service(f"chunks-{number}", argv, files, port=_CHUNK_PORT, data=data, address=own)


class MooseFs(FileServer):
    """One copy of each chunk of 64 MiB, which its server flushes when it closes it."""

    name = "moosefs"
    title = "MooseFS"
    packages = ("moosefs-master", "moosefs-chunkserver", "moosefs-client", "fio")
    binaries = (FIO, _MASTER, _CHUNKS, "/usr/bin/mfsmount")

    mount = (
        *("/usr/bin/mfsmount", MOUNT_POINT, "-H", server_address(1)),
        *("-o", "mfsnice=0,mfsallowoomkiller,mfsrlimitnofile=4096"),
    )

    def services(self, parameters: Mapping[str, Any]) -> tuple[Service, ...]:
        """The master, on the first server's address, and a server of chunks on each address."""
        hosts = {f"{to}_LISTEN_HOST": server_address(1) for to in ("MATOML", "MATOCS", "MATOCL")}
        files = {
            "master.cfg": _configuration(EXPORTS_FILENAME="exports.cfg", **hosts),
            "exports.cfg": "* / rw,alldirs,admin,maproot=0:0\n",
            # What an empty file system begins with.
            "metadata.mfs": "MFSM NEW",
        }
        argv = (_MASTER, "-f", "-c", "master.cfg", "start")
        master = Service("master", argv, files, port=_CLIENT_PORT, address=server_address(1))
        return (master, *on_each_address(_chunk_server, parameters))

    def served(self, program: Program, parameters: Mapping[str, Any]) -> Program:
        """With one copy of each chunk: new folders have two, where there are servers for them."""
        served = super().served(program, parameters)
        assert isinstance(served.beside, Served)
        mounted = ("/usr/bin/mfssetgoal", "1", MOUNT_POINT)
        return replace(served, beside=replace(served.beside, mounted=mounted))


BENCHMARK = MooseFs()
