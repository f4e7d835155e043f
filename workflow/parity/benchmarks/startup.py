"""Start-up: the time to run a program that does nothing, in each runtime."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any, ClassVar

from parity.benchmarks.debian import installed
from parity.benchmarks.model import Benchmark, Metric, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, total
from parity.core.availability import Presence


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
    parameters: ClassVar = {
        "repetitions": {
            "type": "integer",
            "minimum": 2,
            "maximum": 1000,
            "default": 5,
            "description": "Timed starts in one run, after one that is not timed.",
        }
    }
    primary = ("start_seconds",)
    differences = ("start_seconds",)

    def probe(self) -> Presence:
        """Whether there is a program that does nothing."""
        return installed(self.binaries, self.packages)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """`true`, several times; before a cold start the page cache is emptied (root only)."""
        return Program(
            argv=("/bin/true",),
            cpus=node.cpus[:1],
            repetitions=parameters["repetitions"],
            drop_caches=parameters["cache"] == "cold",
        )

    @total
    def parse(self, outputs: Outputs) -> Parsed:
        """Median, shortest and longest start; valid if every start was timed."""
        seconds, asked = outputs.wall_seconds, outputs.parameters["repetitions"]
        if len(seconds) != asked:
            raise Refused("wrong-size", f"asked for {asked} starts, timed {len(seconds)}")
        if not all(math.isfinite(start) and start > 0 for start in seconds):
            raise Refused("unparsable", "a start has no time above zero")
        named = {"": median(seconds), "_min": min(seconds), "_max": max(seconds)}
        return Parsed(
            valid=True,
            metrics=tuple(
                Metric(f"start_seconds{suffix}", value, "s", "lower", clock="external")
                for suffix, value in named.items()
            ),
        )


BENCHMARK = StartUp()
