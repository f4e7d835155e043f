"""MooseFS 3: a master, servers of chunks, and a client in user space, all from Debian."""

from pathlib import Path

from parity.benchmarks.model import Asked
from parity.extensions.servers.benchmarks.file_server import FIO, MOUNT_POINT, FileServer
from parity.extensions.servers.benchmarks.service import Service, server_address

_MASTER, _CHUNKS = "/usr/sbin/mfsmaster", "/usr/sbin/mfschunkserver"
_CLIENT_PORT, _CHUNK_PORT = 9421, 9422
# Privileges that some arms have not must change nothing: no other priority, no memory that stays.
_OF_MASTER = Path(__file__).with_name("moosefs-master.cfg").read_text(encoding="utf-8")
_OF_CHUNKS = Path(__file__).with_name("moosefs-chunks.cfg").read_text(encoding="utf-8")


class MooseFs(FileServer):
    """One copy of each chunk of 64 MiB, which its server flushes when it closes it."""

    binaries = (FIO, _MASTER, _CHUNKS, "/usr/bin/mfsmount")
    mount = (
        *("/usr/bin/mfsmount", MOUNT_POINT, "-H", server_address(1)),
        *("-o", "mfsnice=0,mfsallowoomkiller,mfsrlimitnofile=4096"),
    )
    # One copy of each chunk: new folders have two, where there are servers for them.
    mounted = ("/usr/bin/mfssetgoal", "1", MOUNT_POINT)

    def services(self, parameters: Asked) -> tuple[Service, ...]:
        """The master, on the first server's address, and a server of chunks on each address."""
        files = {
            "master.cfg": _OF_MASTER.format(address=server_address(1)),
            "exports.cfg": "* / rw,alldirs,admin,maproot=0:0\n",
            "metadata.mfs": "MFSM NEW",  # what an empty file system begins with
        }
        argv = (_MASTER, "-f", "-c", "master.cfg", "start")
        master = Service("master", argv, files, port=_CLIENT_PORT, address=server_address(1))
        return (master, *super().services(parameters))

    def server(self, number: int, data: str, parameters: Asked) -> Service:
        own, argv = server_address(number), (_CHUNKS, "-f", "-c", "chunks.cfg", "start")
        settings = _OF_CHUNKS.format(address=own, master=server_address(1))
        files = {"chunks.cfg": settings, "disks.cfg": f"{data}\n"}
        return Service(f"chunks-{number}", argv, files, port=_CHUNK_PORT, data=data, address=own)


BENCHMARK = MooseFs()
