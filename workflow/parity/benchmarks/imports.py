"""Imports: a Python program of 5,000 files in its image, which is what users wait for at a start.

Each module is looked for, asked about and read: with few bytes and many questions, so it is the
image's format that is seen: a directory, SquashFS, SIF, an overlay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import median
from typing import Any, ClassVar

from parity.benchmarks import programs
from parity.benchmarks.description import Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import installed
from parity.benchmarks.reading import Refused, never_raises, positive, require_equal
from parity.core.commands import Availability

SOURCE = "imports.sh"
PYTHON = "/usr/bin/python3"
MODULES = 5000
_SAID = re.compile(r"imported ([0-9]+) modules in ([0-9]+) ns\n")

TIME = Quantity("time", "importing", "s", "lower")
RATE = Quantity("files_per_second", "modules per second", "1/s", "higher")
START = Quantity("start_seconds", "start, imports and end", "s", "lower", clock="external")


class Imports(Benchmark):
    """Python without its site, which imports all modules of a folder beside the program.

    A cold start has an empty page cache and reads them from the disk; a warm one follows others.
    """

    name = "imports"
    title = "Imports"
    packages = ("python3-minimal",)
    sources: ClassVar = (SOURCE,)
    binaries = (PYTHON, programs.compiled_path(SOURCE))
    factors: ClassVar = {"cache": ("cold", "warm")}
    parameters, figures, note = described(__file__, TIME, START)
    timed = TIME.metric
    metrics = (TIME, RATE, START)
    primary = (TIME.metric, START.metric)

    def probe(self) -> Availability:
        """Whether Python is installed, and the modules are made."""
        python = installed(self.binaries[:1], self.packages)
        return programs.all_compiled(self.binaries[1:]) if python.available else python

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The program, several times; nothing of Debian's own or of a user is imported."""
        return Program(
            argv=(PYTHON, "-I", "-S", "-B", self.binaries[1]),
            cpus=node.cpus[:1],
            repetitions=parameters["repetitions"],
            drop_caches=parameters["cache"] == "cold",
        )

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Medians of the timed starts; valid if each imported all modules.

        The first start of a run is not timed; its line comes before theirs.
        """
        lines, asked = outputs.stdout.splitlines(keepends=True), outputs.parameters["repetitions"]
        said = [_SAID.fullmatch(line) for line in lines]
        if not said or not all(said):
            raise Refused("unparsable", "the program printed something else, or nothing")
        require_equal(str(len(said)), asked + 1, "starts")
        require_equal(str(len(outputs.wall_seconds)), asked, "timed starts")
        for match in filter(None, said):
            require_equal(match[1], MODULES, "modules")
        times = [positive(match[2], "time") / 1e9 for match in filter(None, said[1:])]
        if any(inner > outer for inner, outer in zip(times, outputs.wall_seconds, strict=True)):
            raise Refused("contradictory", "imports took longer than their whole start")
        seconds = median(times)
        values = (seconds, MODULES / seconds, median(outputs.wall_seconds))
        pairs = zip(self.metrics, values, strict=True)
        return Parsed(True, metrics=tuple(quantity.measured(value) for quantity, value in pairs))


BENCHMARK = Imports()
