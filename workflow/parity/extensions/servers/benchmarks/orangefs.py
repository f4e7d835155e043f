"""OrangeFS 2.10 and IOR, as Yildirim et al. 2021 had them: a site's own builds of both.

Nobody packages OrangeFS, so the system's file names what the site built (`software`). Its client
speaks FUSE 2, which splits transfers of 1 MiB into parts.
"""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from parity.benchmarks.ior import rate
from parity.benchmarks.model import Asked, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, require_equal, said_in
from parity.core.commands import Availability, answer_of
from parity.extensions.servers.benchmarks import file_server
from parity.extensions.servers.benchmarks.file_server import MOUNT_POINT, PARAMETERS, FileServer
from parity.extensions.servers.benchmarks.service import Service, cannot_serve, server_address
from parity.runtimes.model import absent

_PORT = 3334
# A server makes its storage in a start of its own, and then serves it.
_SERVE = Path(__file__).with_name("orangefs.sh").read_text(encoding="utf-8")
_CONFIGURATION = Path(__file__).with_name("orangefs.conf").read_text(encoding="utf-8")
_BUILD = "./configure --prefix=PREFIX --with-db-backend=lmdb --enable-fuse --enable-shared"


class OrangeFs(FileServer):
    """Stripes of 64 KiB over all servers, each of which has metadata and data; IOR is the client.

    Its three starts have one signature (`-G`), written in each transfer and expected at the end.
    """

    software = ("orangefs", "ior")
    program_name = "IOR"
    # Several ranks would need a launcher in the client's network.
    parameters: ClassVar = {name: PARAMETERS[name] for name in PARAMETERS if name != "ranks"}

    def built(self, name: str, path: str) -> str:
        """Where a file of a site's build is; nowhere as long as no prefix is known."""
        return f"{self.prefixes.get(name, f'/no-prefix-of-{name}')}/{path}"

    @property
    def binaries(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.built("orangefs", "sbin/pvfs2-server"), self.built("ior", "bin/ior"))

    @property
    def mount(self) -> tuple[str, ...]:  # type: ignore[override]
        """The client with its library, wherever that was copied to."""
        server = f"fs_spec=tcp://{server_address(1)}:{_PORT}/orangefs"
        libraries = f"LD_LIBRARY_PATH={self.built('orangefs', 'lib')}"
        client = self.built("orangefs", "bin/pvfs2fuse")
        return ("/usr/bin/env", libraries, client, MOUNT_POINT, "-o", server)

    def probe(self) -> Availability:
        if missing := [name for name in self.software if name not in self.prefixes]:
            reason = f"the system's file does not say where {' and '.join(missing)} were built"
            remedy = f"software: {{orangefs: PREFIX, ior: PREFIX}} in it; OrangeFS by {_BUILD}"
            return absent(reason, remedy)
        if problem := cannot_serve():
            return problem
        server, ior = self.binaries
        for path in (server, ior, client := self.built("orangefs", "bin/pvfs2fuse")):
            if not os.access(path, os.X_OK):
                made = path == client and "OrangeFS was built without its FUSE client: "
                remedy = f"build it: {_BUILD}" if path != ior else "build IOR, or mend its prefix"
                return absent(f"{made or ''}no program {path}", remedy)
        # Of its back ends lmdb alone is in the server itself, which exports its functions.
        if b"mdb_env_open" not in Path(server).read_bytes():
            reason = f"{server} was built with another back end than lmdb"
            return absent(reason, f"build it: {_BUILD}")
        _, version = answer_of([server, "--version"])
        return _without_posix(ior) or Availability(True, version=version)

    def server(self, number: int, data: str, parameters: Asked) -> Service:
        server, address = self.binaries[0], server_address(number)
        argv = ("/bin/sh", "-c", _SERVE, "orangefs", server, f"s{number}")
        files = {"fs.conf.in": configuration(parameters["servers"], data)}
        return Service(f"server-{number}", argv, files, {}, _PORT, data, address, server)

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """A world of one rank, which starts no daemon of Open MPI."""
        alone = {"OMPI_MCA_ess_singleton_isolated": "1"}
        return replace(super().program(parameters, node), environment=alone)

    def starts(self, parameters: Asked) -> tuple[tuple[str, ...], ...]:
        """The command lines of IOR that write, read, and check; files stay for the next (`-k`)."""
        size = file_server.size_of(parameters)
        common = (
            *(self.binaries[1], "-a", "POSIX", "-t", "1m", "-b", f"{size}"),
            *("-o", f"{MOUNT_POINT}/ior.data", "-k", "-G", "1", "-O", "summaryFormat=JSON"),
        )
        return (*common, "-w", "-e"), (*common, "-r"), (*common, "-r", "-R")

    def read(self, outputs: Outputs) -> Parsed:
        if "Incorrect data on" in outputs.stdout:  # IOR says so in the midst of its JSON
            raise Refused("validation-failed", "what was read is not what was written")
        return super().read(outputs)

    def seconds(self, document: Any, words: tuple[str, ...], parameters: Asked) -> float:
        said, size = said_in(document), file_server.size_of(parameters)
        require_equal(said["Version"][:2], "4.", "version")
        asked = {"writeFile": "-w", "readFile": "-r", "checkRead": "-R", "fsync": "-e"}
        settings = {key: int(word in words) for key, word in asked.items()}
        settings |= {"setTimeStampSignature/incompressibleSeed": 1, "keepFile": 1}
        settings |= {"transferSize": 2**20, "blockSize": size, "segmentCount": 1}
        said.require({f"tests.0.Parameters.{key}": value for key, value in settings.items()})
        said.require({"tests": 1, "tests.0.Results": 1, "summary": 1, "tests.0.Options.tasks": 1})
        require_equal(said["tests.0.Parameters.api"], "POSIX", "api")
        return size / 2**20 / rate(said, 0, "write" if "-w" in words else "read", size // 2**20)


def _without_posix(ior: str) -> Availability | None:
    """Why an IOR does not use files as programs do, or does not start here; None if it does."""
    # Its help, after which it ends with status 1: `API for I/O [POSIX|DUMMY|...]`.
    asked = subprocess.run([ior, "-h"], capture_output=True, text=True, check=False)
    if not (known := re.search(r"API for I/O \[([A-Z0-9|]+)\]", asked.stdout)):
        said = asked.stderr.strip().partition("\n")[0][:200] or "it has no help"
        return absent(f"{ior} does not start: {said}", f"ldd {ior}")
    if "POSIX" in known[1].split("|"):
        return None
    reason = f"{ior} was built without its POSIX interface"
    return absent(reason, "build it: ./configure --with-posix")


def configuration(servers: int, data: str) -> str:
    """The file of all servers, as `pvfs2-genconfig` writes it, with the addresses of the link."""
    numbers, ranges = range(1, 1 + servers), []
    # Each has an equal part of the handles of files, and of those of their pieces.
    for first, last in ((3, 2**62), (2**62 + 1, 2**63 - 2)):
        size = (last - first + 1) // servers
        starts = [first + part * size for part in range(servers)]
        parts = zip(numbers, starts, [*(start - 1 for start in starts[1:]), last], strict=True)
        ranges.append("".join(f"\t\tRange s{n} {begin}-{end}\n" for n, begin, end in parts))
    aliases = "".join(f"\tAlias s{n} tcp://{server_address(n)}:{_PORT}\n" for n in numbers)
    place = data if data.startswith("/") else f"@own@/{data}"
    return _CONFIGURATION.format(data=place, aliases=aliases, meta=ranges[0], io=ranges[1])


BENCHMARK = OrangeFs()
