"""Start-up: the time to run a program that does nothing, in each runtime."""

import math
from statistics import median

from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused


class StartUp(Benchmark):
    """What a runtime needs before and after the program: create, mount, start, take down.

    A cold start has an empty page cache; a warm one finds runtime, image and program in memory.
    """

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        times, is_cold = parameters["repetitions"], parameters["cache"] == "cold"
        return Program(self.binaries, node.cpus[:1], repetitions=times, drop_caches=is_cold)

    def timed_seconds(self, outputs: Outputs) -> float:
        return sum(outputs.wall_seconds)

    def read(self, outputs: Outputs) -> Parsed:
        seconds, asked = outputs.wall_seconds, outputs.parameters["repetitions"]
        if len(seconds) != asked:
            raise Refused("wrong-size", f"asked for {asked} starts, timed {len(seconds)}")
        if not all(math.isfinite(start) and start > 0 for start in seconds):
            raise Refused("unparsable", "a start has no time above zero")
        ends = {"start_seconds_min": min(seconds), "start_seconds_max": max(seconds)}
        return self.measured({"start_seconds": median(seconds), **ends})


BENCHMARK = StartUp()
