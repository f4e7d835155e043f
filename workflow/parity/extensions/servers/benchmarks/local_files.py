"""The load of file servers on the disk of the node itself, without any: what it takes by itself."""

from typing import ClassVar

from parity.extensions.servers.benchmarks.file_server import PARAMETERS, FileServer


class LocalFiles(FileServer):
    """fio in the arm, in the folder of the host that every container shows: the control."""

    parameters: ClassVar = {name: PARAMETERS[name] for name in ("ranks", "monitor_hz")}


BENCHMARK = LocalFiles()
