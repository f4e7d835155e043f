"""A runtime and a benchmark that nothing else knows, each one file, and a study of both."""

from clones import NATIVES, USUAL

RUNTIME = '''"""A toy: the unpacked image, entered as by namespaces, with its own IPC."""

from collections.abc import Sequence
from dataclasses import dataclass

from parity.runtimes.model import Launch
from parity.runtimes.namespaces import Namespaces


@dataclass(frozen=True)
class Toy(Namespaces):
    """It brings no look of its own."""

    name: str = "toy"
    runtime: str = "toy"
    title: str = "Toy runtime"
    look = None
    isolates: tuple[str, ...] = ("ipc", "mnt", "pid", "user")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        unshare, *words = super().command(launch, inner)
        return [unshare, "--ipc", *words]


ARMS = (Toy(),)
'''

BENCHMARK = '''"""A toy: dd from one device to another. It brings no figure of its own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import said_by

TIME = Quantity("time", "copying time", "s", "lower", shown="ms", factor=1e3)
RATE = Quantity("rate", "copying rate", "GB/s", "higher")


class ToyCopy(Benchmark):
    """Zeros are copied to nowhere."""

    name = "toy-copy"
    title = "Toy copy"
    packages = ("coreutils",)
    binaries = ("/bin/dd",)
    factors: ClassVar = {"piece": ("small", "large")}
    parameters: ClassVar = {"count": {"type": "integer", "default": 4000, "description": "Pieces."}}
    metrics = (TIME, RATE)
    primary = (TIME.metric, RATE.metric)
    spelt: ClassVar = {"small": "64 KiB", "large": "256 KiB"}

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        size = {"small": "64K", "large": "256K"}[parameters["piece"]]
        pieces = (f"bs={size}", f"count={parameters['count']}")
        return Program(("/bin/dd", "if=/dev/zero", "of=/dev/null", *pieces), node.cpus[:1])

    def read(self, outputs: Outputs) -> Parsed:
        lines = {"size": r"^([0-9]+) bytes", "time": r"copied, ([0-9.e-]+) s"}
        said = said_by(lines, outputs.stderr)
        seconds = said.positive("time")
        rate = said.positive("size") / seconds / 1e9
        return Parsed(valid=True, metrics=(TIME.measured(seconds), RATE.measured(rate)))


BENCHMARK = ToyCopy()
'''

STUDY = USUAL | {
    "study": "toys", "title": "A toy in a toy", "arms": [*NATIVES, "toy"],
    "benchmarks": {"toy-copy": {"margin_percent": 25, "factors": {"piece": ["small", "large"]}}},
    "scales": {"tiny": {"blocks": 4}},
}  # fmt: skip
