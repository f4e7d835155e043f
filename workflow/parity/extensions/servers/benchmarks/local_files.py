"""The load of file servers on the disk of the node itself, without any: what it takes by itself."""

from typing import ClassVar

from parity.benchmarks.model import Benchmark
from parity.core.commands import Availability
from parity.extensions.servers.benchmarks.file_server import GIGABYTES, PARAMETERS, FileServer
from parity.extensions.servers.benchmarks.usage import RATES


class LocalFiles(FileServer):
    """fio in the arm, in the folder of the host that every container shows: the control."""

    name = "local-files"
    title = "Local files"
    factors: ClassVar = {"gigabytes": GIGABYTES}
    spelt: ClassVar = {size: FileServer.spelt[size] for size in GIGABYTES}
    parameters: ClassVar = {name: PARAMETERS[name] for name in ("ranks", "monitor_hz")}
    primary = tuple(quantity.metric for quantity in RATES)

    def probe(self) -> Availability:
        """Whether fio is here: nothing is mounted."""
        return Benchmark.probe(self)


BENCHMARK = LocalFiles()
