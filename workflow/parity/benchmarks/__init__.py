"""The benchmarks: one module each, found by being there; or a program that a study describes."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from parity.benchmarks.model import SOFTWARE, Benchmark
from parity.benchmarks.own_program import COMMAND, own_program
from parity.benchmarks.unknown import Unknown
from parity.core.package import modules_with


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name, in the order of the modules' names."""
    brought = modules_with(sys.modules[__name__], "BENCHMARK")
    return {benchmark.name: benchmark for benchmark in brought}


def benchmark_of(name: str, parameters: Mapping[str, Any]) -> Benchmark:
    """The benchmark of a case: its module's, or the program that its parameters describe.

    Of software that a site built it has the places that the parameters say.

    One that neither tells is somebody else's (`unknown.py`); studies cannot ask for it.
    """
    if command := parameters.get(COMMAND):
        return own_program(name, command)
    known = benchmarks().get(name) or Unknown(name)
    return known.located(parameters[SOFTWARE]) if SOFTWARE in parameters else known
