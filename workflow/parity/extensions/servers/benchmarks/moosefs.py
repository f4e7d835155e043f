"""MooseFS 3: a master, servers of chunks, and a client in user space, all from Debian."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parity.benchmarks.model import Program
from parity.extensions.servers.benchmarks.file_server import (
    DATA_FOLDERS,
    FIO,
    MOUNT_POINT,
    FileServer,
)
from parity.extensions.servers.benchmarks.service import Served, Service, server_address

_MASTER, _CHUNKS = "/usr/sbin/mfsmaster", "/usr/sbin/mfschunkserver"
_CLIENT_PORT, _CHUNK_PORT = 9421, 9422
# Privileges that some arms have not must change nothing: no other priority, no memory that stays.
_ALIKE = {
    "WORKING_USER": "root",
    "WORKING_GROUP": "root",
    "NICE_LEVEL": "0",
    "LOCK_MEMORY": "0",
    "DISABLE_OOM_KILLER": "0",
    "DATA_PATH": ".",
}


def _configuration(**settings: str) -> str:
    return "".join(f"{name} = {value}\n" for name, value in (_ALIKE | settings).items())


class MooseFs(FileServer):
    """One copy of each chunk of 64 MiB, which its server flushes when it closes it."""

    name = "moosefs"
    title = "MooseFS"
    packages = ("moosefs-master", "moosefs-chunkserver", "moosefs-client", "fio")
    binaries = (FIO, _MASTER, _CHUNKS, "/usr/bin/mfsmount")

    def services(self, parameters: Mapping[str, Any]) -> tuple[Service, ...]:
        """The master, on the first server's address, and a server of chunks on each address."""
        data = DATA_FOLDERS[parameters["data"]]
        numbers = range(1, 1 + parameters["servers"])
        return (_master(server_address(1)), *(_chunks(number, data) for number in numbers))

    def served(self, program: Program, parameters: Mapping[str, Any]) -> Program:
        """With one copy of each chunk: new folders have two, where there are servers for them."""
        served = super().served(program, parameters)
        assert isinstance(served.beside, Served)
        mounted = ("/usr/bin/mfssetgoal", "1", MOUNT_POINT)
        return replace(served, beside=replace(served.beside, mounted=mounted))

    @property
    def mount(self) -> tuple[str, ...]:
        """The client, which says how it ended as soon as the file system is mounted."""
        options = "mfsnice=0,mfsallowoomkiller,mfsrlimitnofile=4096"
        return ("/usr/bin/mfsmount", MOUNT_POINT, "-H", server_address(1), "-o", options)


def _master(address: str) -> Service:
    hosts = {f"{to}_LISTEN_HOST": address for to in ("MATOML", "MATOCS", "MATOCL")}
    files = {
        "master.cfg": _configuration(EXPORTS_FILENAME="exports.cfg", **hosts),
        "exports.cfg": "* / rw,alldirs,admin,maproot=0:0\n",
        # What an empty file system begins with.
        "metadata.mfs": "MFSM NEW",
    }
    argv = (_MASTER, "-f", "-c", "master.cfg", "start")
    return Service("master", argv, files, port=_CLIENT_PORT, address=address)


def _chunks(number: int, data: str) -> Service:
    address = server_address(number)
    files = {
        "chunks.cfg": _configuration(
            HDD_CONF_FILENAME="disks.cfg",
            HDD_FSYNC_BEFORE_CLOSE="1",
            BIND_HOST=address,
            CSSERV_LISTEN_HOST=address,
            MASTER_HOST=server_address(1),
        ),
        "disks.cfg": f"{data}\n",
    }
    argv = (_CHUNKS, "-f", "-c", "chunks.cfg", "start")
    name = f"chunks-{number}"
    return Service(name, argv, files, port=_CHUNK_PORT, data=data, address=address)


BENCHMARK = MooseFs()
