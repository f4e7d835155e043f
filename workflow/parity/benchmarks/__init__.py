"""The benchmarks: one module each, found by being there."""

from __future__ import annotations

import sys
from functools import cache

from parity.benchmarks.model import Benchmark
from parity.core.registry import modules_with


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name, in the order of the modules' names."""
    brought = modules_with(sys.modules[__name__], "BENCHMARK")
    return {benchmark.name: benchmark for benchmark in brought}
