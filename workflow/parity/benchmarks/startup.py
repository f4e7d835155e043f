"""Start-up: the time to run a program that does nothing, in each runtime."""

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused


class StartUp(Benchmark):
    """What a runtime needs before and after the program: create, mount, start, take down.

    A cold start has an empty page cache; a warm one finds runtime, image and program in memory.
    """

    packages = ("coreutils",)
    binaries = ("/bin/true",)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """`true`, several times; before a cold start the page cache is emptied (root only)."""
        return Program(
            argv=("/bin/true",),
            cpus=node.cpus[:1],
            repetitions=parameters["repetitions"],
            drop_caches=parameters["cache"] == "cold",
        )

    def timed_seconds(self, outputs: Outputs) -> float:
        """All of each start."""
        return sum(outputs.wall_seconds)

    def read(self, outputs: Outputs) -> Parsed:
        """Median, shortest and longest start; valid if every start was timed."""
        seconds, asked = outputs.wall_seconds, outputs.parameters["repetitions"]
        if len(seconds) != asked:
            raise Refused("wrong-size", f"asked for {asked} starts, timed {len(seconds)}")
        if not all(math.isfinite(start) and start > 0 for start in seconds):
            raise Refused("unparsable", "a start has no time above zero")
        values = (median(seconds), min(seconds), max(seconds))
        names = ("start_seconds", "start_seconds_min", "start_seconds_max")
        return self.measured(dict(zip(names, values, strict=True)))


BENCHMARK = StartUp()
