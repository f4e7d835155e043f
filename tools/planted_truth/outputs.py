"""What a benchmark prints for a given cost: its real output with the measured numbers replaced.

The texts are the golden outputs of real runs, so a planted log has every line, space and
tab that the real program prints. Two benchmarks stand for all: of one less is better (a
time), of the other more is (a bandwidth).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from parity.benchmarks import benchmarks, likwid, sysbench
from parity.benchmarks.model import Benchmark, NodeFacts
from parity.core.documents import Document

# A node that never was, with the cache of the machine that printed the golden outputs.
NODE = NodeFacts(cpus=(0, 1), last_level_cache=272_629_760, memory=24_684_092 * 1024)
PROCESSOR, BANDWIDTH = sysbench.BENCHMARK.name, likwid.BENCHMARK.name
CLOCK_HERTZ = 2_299_950_634
PROCESSOR_SECONDS = 100.0
EVENTS = 2800
BANDWIDTH_SECONDS = 4.973632
MEGA = 1e6

Values = Mapping[str, float]


class Printer(Document, frozen=True):
    """How to print what one benchmark would have printed; an entry of `outputs.yaml`.

    Attributes:
        name: the benchmark's.
        golden: its real output, relative to the folder of golden outputs.
        metric: the number that arms are compared by.
        parameters: what its cases have in common beside its defaults.
        counter: the parameter by which cases differ.
        places: text of the golden output, and the format string that replaces it.
    """

    name: str
    golden: str
    metric: str
    parameters: dict[str, Any]
    counter: str
    places: tuple[tuple[str, str], ...]

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark itself."""
        return benchmarks()[self.name]

    def values(self, parameters: Mapping[str, Any], log_cost: float) -> Values:
        """What to fill in, from parameters and log cost."""
        return _VALUES[self.name](parameters, log_cost)

    def case_parameters(self, number: int) -> dict[str, Any]:
        """The parameters of the case of that number, from 0."""
        defaults = {name: rule["default"] for name, rule in self.benchmark.parameters.items()}
        parameters = defaults | self.parameters
        return parameters | {self.counter: parameters[self.counter] + number}

    def text(self, folder: Path, parameters: Mapping[str, Any], log_cost: float) -> str:
        """The whole standard output.

        Args:
            folder: of the golden outputs.
            log_cost: log of the cost relative to the benchmark's usual one.
        """
        template = _template(folder / self.golden, self.places)
        return template.format(**self.values(parameters, log_cost))

    def seconds(self, parameters: Mapping[str, Any], log_cost: float) -> float:
        """How long the program's own work takes at that cost."""
        return self.values(parameters, log_cost)["seconds"]


@cache
def _template(golden: Path, places: tuple[tuple[str, str], ...]) -> str:
    """The golden text as a format string.

    Raises:
        ValueError: a text that is to be replaced is not there exactly once.
    """
    text = golden.read_text(encoding="utf-8").replace("{", "{{").replace("}", "}}")
    for old, new in places:
        if text.count(old) != 1:
            raise ValueError(f"{golden}: {old!r} is there {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def _processor(parameters: Mapping[str, Any], log_cost: float) -> Values:
    seconds = PROCESSOR_SECONDS * parameters["events"] / EVENTS * math.exp(log_cost)
    busy = seconds - 0.0007
    return {
        "prime": parameters["prime"],
        "events": parameters["events"],
        "rate": parameters["events"] / seconds,
        "seconds": seconds,
        "busy": busy,
        "mean": 1000 * busy / parameters["events"],
        "total": 1000 * busy,
    }


def _bandwidth(parameters: Mapping[str, Any], log_cost: float) -> Values:
    argv = likwid.BENCHMARK.program(parameters, NODE).argv
    size = int(argv[argv.index("-w") + 1].split(":")[1].removesuffix("kB")) * 1000
    seconds = BANDWIDTH_SECONDS * parameters["iterations"] / 60 * math.exp(log_cost)
    volume = size * parameters["iterations"]
    return {
        "cycles": round(seconds * CLOCK_HERTZ),
        "seconds": seconds,
        "iterations": parameters["iterations"],
        "size": size,
        "volume": volume,
        "rate": volume / seconds / MEGA,
    }


_VALUES = {PROCESSOR: _processor, BANDWIDTH: _bandwidth}
PRINTERS = {
    printer.name: printer
    for printer in msgspec.yaml.decode(
        Path(__file__).with_suffix(".yaml").read_bytes(), type=list[Printer]
    )
}
