"""File systems of servers under the load of Yildirim et al. 2021, with fio in place of IOR."""

import errno
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from parity.benchmarks.description import FigureSpec
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program, described
from parity.benchmarks.reading import Refused, Said, require_equal, said_in, stated_once
from parity.core.commands import Availability
from parity.extensions.servers.benchmarks import service, usage

FIO = "/usr/bin/fio"
MOUNT_POINT = "mounted"
# Where a server's data lie: below its own folder, which every container shows, or in the image's
# own tree, where a container has it in its writable layer. Natively both are its own folder.
DATA_FOLDERS = {"bind": service.BESIDE, "image": "/var/tmp/parity-data"}
_MIB = 2**20
PARAMETERS = described(__file__)["parameters"]


class FileServer(Benchmark):
    """fio writes files on the mounted file system, flushes them, and reads them back.

    Three starts of fio make a run, and the runner empties the page cache before each: reading
    comes from the servers' disks, since `invalidate` of fio itself reaches the client's pages
    alone. The third start is not measured: it reads once more and holds each transfer against
    the checksum and offset that were written in it (`crc32c`, because `pattern` of fio 3.33 ends
    well whatever it finds), which takes 0.3 s of CPU time per GiB of writing.
    """

    binaries: tuple[str, ...] = (FIO,)
    mount: tuple[str, ...] = ()  # the words of the client's mount command
    mounted: tuple[str, ...] = ()  # those of one that is run there once it is mounted
    program_name: ClassVar[str] = "fio"
    metrics = (*usage.RATES, *usage.METRICS)
    # The server of an address, the first of which is number 1, on a folder of data, in a case.
    server: Callable[[int, str, Asked], service.Service] | None = None

    def probe(self) -> Availability:
        return (service.cannot_serve() if self.mount else None) or super().probe()

    def services(self, parameters: Asked) -> tuple[service.Service, ...]:
        """Those that serve it, one on each address; none of files that nobody serves."""
        if not (server := self.server):
            return ()
        data, numbers = DATA_FOLDERS[parameters["data"]], range(1, 1 + parameters["servers"])
        return tuple(server(number, data, parameters) for number in numbers)

    @property
    def figures(self) -> tuple[FigureSpec, ...]:  # type: ignore[override]
        """Those of servers; without any the general one."""
        return usage.figures_of(self.name, self.title) if "inside" in self.factors else ()

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """The load, with the servers beside it and their file system at `MOUNT_POINT`."""
        place, monitor_hz = MOUNT_POINT if self.mount else "", parameters.get("monitor_hz", 0.0)
        services, mount = self.services(parameters), (self.mount, self.mounted)
        write, read, check = self.starts(parameters)
        room = size_of(parameters) + 2**28  # a file system needs some of its own beside the files
        return Program(
            write, service.client_cpus(node.cpus), then=(read,), check=check, drop_caches=True,
            least_free_bytes=room, beside=service.Served(services, *mount, place, monitor_hz),
        )  # fmt: skip

    def read(self, outputs: Outputs) -> Parsed:
        """Rates of both directions; valid if all was read back as it was written."""
        parameters, program = outputs.parameters, self.program_name
        said, lines = list(_documents(outputs.stdout, program)), self.starts(parameters)
        if len(said) != len(lines):
            reason = "truncated" if len(said) < len(lines) else "several-runs"
            raise Refused(reason, f"{program} told of {len(said)} starts of {len(lines)}")
        wrote, read, _ = (self.seconds(*each, parameters) for each in zip(said, lines, strict=True))
        mebibytes = size_of(parameters) / _MIB
        values = {"write": mebibytes / wrote, "read": mebibytes / read, "time": wrote + read}
        return self.measured(values)

    def starts(self, parameters: Asked) -> tuple[tuple[str, ...], ...]:
        """The command lines that write, read, and check; each rank has a file of its own."""
        # IOR makes no room beforehand, so neither does fio, and no file that is missing is made up.
        ranks, folder = parameters["ranks"], MOUNT_POINT if self.mount else "."
        common = (
            *(f"--directory={folder}", "--filename_format=data.$jobnum", "--bs=1M"),
            *(f"--size={size_of(parameters) // ranks}", "--ioengine=psync", f"--numjobs={ranks}"),
            "--group_reporting=1",
        )
        head, again = (FIO, "--output-format=json"), "--allow_file_create=0"
        checked = ("--verify=crc32c", "--verify_state_save=0")
        write = ("--end_fsync=1", "--fallocate=none", "--do_verify=0")
        return (
            (*head, "--name=write", "--rw=write", *common, *checked, *write),
            (*head, "--name=read", "--rw=read", *common, again),
            (*head, "--name=check", "--rw=read", *common, again, *checked),
        )

    def seconds(self, document: Any, words: tuple[str, ...], parameters: Asked) -> float:
        """How long a start took by the JSON that it printed; Refused: it did something else."""
        job, size = _job(document, words), size_of(parameters)
        direction = words[3].removeprefix("--rw=")
        for other in ("read", "write", "trim"):
            moved = size if other == direction else 0
            require_equal(job[f"{other}.io_bytes"], moved, f"bytes of {other}")
        require_equal(job[f"{direction}.total_ios"], size // _MIB, "transfers")
        for short in ("short_ios", "drop_ios"):
            require_equal(job[f"{direction}.{short}"], 0, short)
        runtime = job[f"{direction}.runtime"]
        if not (milliseconds := int(runtime[:18]) if runtime.isdecimal() else 0):
            raise Refused("unparsable", f"runtime is {runtime[:40]!r}")
        # fio tells the same in two rates and in transfers per second, each cut off or rounded.
        rate = size * 1000 // milliseconds
        transfers = f"{size / _MIB * 1000 / milliseconds:.6f}"
        told = [job[f"{direction}.{key}"] for key in ("bw_bytes", "bw", "iops")]
        if told != [str(rate), str(rate // 1024), transfers]:
            raise Refused("contradictory", f"{direction}: runtime and rates contradict each other")
        return milliseconds / 1000


def size_of(parameters: Asked) -> int:
    """Bytes of all files together."""
    return int(float(parameters["gigabytes"]) * 2**30)


def _documents(text: str, program: str) -> Iterator[Any]:
    """What each start of a program printed; Refused: cut off, anything else, or fio's error."""
    decoder = json.JSONDecoder(object_pairs_hook=stated_once, parse_float=str)
    while text := text.lstrip():
        if error := re.match(r"fio: .*err=([0-9]+)/.*error=(.*)", text):
            reason = "validation-failed" if int(error[1]) == errno.EILSEQ else "io-failed"
            raise Refused(reason, f"fio: {error[2]}")
        try:
            document, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            reason = "truncated" if text.startswith("{") else "unparsable"
            raise Refused(reason, f"no whole output of {program} from {text[:40]!r}") from None
        text = text[end:]
        yield document


def _job(document: Any, words: tuple[str, ...]) -> Said:
    """What the one job of a start states, which did without an error what those words asked for."""
    said = said_in(document)
    require_equal(said["fio version"][:6], "fio-3.", "version")
    if said["jobs"] != "1":
        raise Refused("unparsable", "fio's output does not hold one group of jobs")
    job, options = (
        Said((path.removeprefix(top), it) for path, it in said.items() if path.startswith(top))
        for top in ("jobs.0.", "jobs.0.job options.")
    )
    asked = dict(word.removeprefix("--").split("=", 1) for word in words[2:])
    require_equal(job["error"], 0, f"error of {asked['name']}")
    require_equal(str(options), asked, f"options of {asked['name']}")
    return job
