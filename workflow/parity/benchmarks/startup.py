"""Start-up: the time to run a program that does nothing, in each runtime."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any, ClassVar

from parity.benchmarks.description import Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, never_raises

START, SHORTEST, LONGEST = (
    Quantity(metric, label, "s", "lower", "external", shown, factor)
    for metric, label, shown, factor in (
        ("start_seconds", "start-up time", "ms", 1e3),
        ("start_seconds_min", "start seconds min", "", 1.0),
        ("start_seconds_max", "start seconds max", "", 1.0),
    )
)


class StartUp(Benchmark):
    """What a runtime needs before and after the program: create, mount, start, take down.

    A cold start has an empty page cache, so it reads runtime, image and program from
    the disk; a warm one finds them in memory. Measured by the runner's clock alone.
    """

    name = "startup"
    title = "Start-up"
    packages = ("coreutils",)
    binaries = ("/bin/true",)
    factors: ClassVar = {"cache": ("cold", "warm")}
    parameters, figures, note = described(__file__, START)
    metrics = (START, SHORTEST, LONGEST)
    primary = differences = (START.metric,)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """`true`, several times; before a cold start the page cache is emptied (root only)."""
        return Program(
            argv=("/bin/true",),
            cpus=node.cpus[:1],
            repetitions=parameters["repetitions"],
            drop_caches=parameters["cache"] == "cold",
        )

    def timed_seconds(self, outputs: Outputs) -> float:
        """All of each start: that is what is timed."""
        return sum(outputs.wall_seconds)

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Median, shortest and longest start; valid if every start was timed."""
        seconds, asked = outputs.wall_seconds, outputs.parameters["repetitions"]
        if len(seconds) != asked:
            raise Refused("wrong-size", f"asked for {asked} starts, timed {len(seconds)}")
        if not all(math.isfinite(start) and start > 0 for start in seconds):
            raise Refused("unparsable", "a start has no time above zero")
        return Parsed(
            valid=True,
            metrics=(
                START.measured(median(seconds)),
                SHORTEST.measured(min(seconds)),
                LONGEST.measured(max(seconds)),
            ),
        )


BENCHMARK = StartUp()
