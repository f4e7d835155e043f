"""What a benchmark prints for a given cost: its real output with the measured numbers replaced.

The texts are the golden outputs of real runs, so a planted log has every line, space and
tab that the real program prints. Two benchmarks stand for all: of one less is better (a
time), of the other more is (a bandwidth).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from parity.benchmarks import likwid, sysbench
from parity.benchmarks.model import Benchmark, NodeFacts

# A node that never was, with the cache of the machine that printed the golden outputs.
NODE = NodeFacts(cpus=(0, 1), last_level_cache=272_629_760, memory=24_684_092 * 1024)
PROCESSOR, BANDWIDTH = sysbench.BENCHMARK.name, likwid.BENCHMARK.name
CLOCK_HERTZ = 2_299_950_634
PROCESSOR_SECONDS = 100.0
EVENTS = 2800
BANDWIDTH_SECONDS = 4.973632
MEGA = 1e6

Values = Mapping[str, float]


@dataclass(frozen=True)
class Printer:
    """How to print what one benchmark would have printed.

    Attributes:
        golden: its real output, relative to the folder of golden outputs.
        metric: the number that arms are compared by.
        parameters: what its cases have in common beside its defaults.
        counter: the parameter by which cases differ.
        places: text of the golden output, and the format string that replaces it.
        values: what to fill in, from parameters and log cost.
    """

    benchmark: Benchmark
    golden: str
    metric: str
    parameters: Mapping[str, Any]
    counter: str
    places: Sequence[tuple[str, str]]
    values: Callable[[Mapping[str, Any], float], Values]

    def case_parameters(self, number: int) -> dict[str, Any]:
        """The parameters of the case of that number, from 0."""
        defaults = {name: rule["default"] for name, rule in self.benchmark.parameters.items()}
        parameters = defaults | dict(self.parameters)
        return parameters | {self.counter: parameters[self.counter] + number}

    def text(self, folder: Path, parameters: Mapping[str, Any], log_cost: float) -> str:
        """The whole standard output.

        Args:
            folder: of the golden outputs.
            log_cost: log of the cost relative to the benchmark's usual one.
        """
        template = _template(folder / self.golden, tuple(self.places))
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


PRINTERS = {
    PROCESSOR: Printer(
        benchmark=sysbench.BENCHMARK,
        golden="sysbench/real.txt",
        metric="time",
        parameters={},
        counter="prime",
        places=(
            ("Prime numbers limit: 10000\n", "Prime numbers limit: {prime}\n"),
            ("per second:  2612.51\n", "per second: {rate:8.2f}\n"),
            ("                          1.0704s\n", "                          {seconds:.4f}s\n"),
            ("of events:              2800\n", "of events:              {events}\n"),
            ("avg:                                    0.38\n", "avg: {mean:39.2f}\n"),
            ("sum:                                 1069.72\n", "sum: {total:39.2f}\n"),
            ("   2800.0000/0.00\n", "   {events:.4f}/0.00\n"),
            ("   1.0697/0.00\n", "   {busy:.4f}/0.00\n"),
        ),
        values=_processor,
    ),
    BANDWIDTH: Printer(
        benchmark=likwid.BENCHMARK,
        golden="likwid/real-copy.txt",
        metric="bandwidth",
        parameters={"kernel": "copy"},
        counter="iterations",
        places=(
            ("Cycles:\t\t\t1143910844\n", "Cycles:\t\t\t{cycles}\n"),
            ("Time:\t\t\t4.973632e-01 sec\n", "Time:\t\t\t{seconds:.6e} sec\n"),
            ("Iterations:\t\t6\n", "Iterations:\t\t{iterations}\n"),
            ("Iterations per thread:\t6\n", "Iterations per thread:\t{iterations}\n"),
            ("Size (Byte):\t\t1090512000\n", "Size (Byte):\t\t{size}\n"),
            ("Size per thread:\t1090512000\n", "Size per thread:\t{size}\n"),
            ("(Byte):\t6543072000\n", "(Byte):\t{volume}\n"),
            ("MByte/s:\t\t13155.52\n", "MByte/s:\t\t{rate:.2f}\n"),
        ),
        values=_bandwidth,
    ),
}
