"""Imports: a Python program of 5,000 files in its image, which is what users wait for at a start.

Few bytes and many questions are read, so it is the image's format that is seen.
"""

import re
from statistics import median

from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import compiled_path
from parity.benchmarks.reading import Refused, positive, require_equal

SOURCE, PYTHON, MODULES = "imports.sh", "/usr/bin/python3", 5000
_LINE = re.compile(r"imported ([0-9]+) modules in ([0-9]+) ns\n")


class Imports(Benchmark):
    """Python without its site, which imports all modules of a folder beside the program.

    A cold start has an empty page cache and reads them from the disk; a warm one follows others.
    """

    sources = (SOURCE,)
    binaries = (PYTHON, compiled_path(SOURCE))

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        # Nothing of Debian's own or of a user is imported.
        argv = (PYTHON, "-I", "-S", "-B", self.binaries[1])
        times, is_cold = parameters["repetitions"], parameters["cache"] == "cold"
        return Program(argv, node.cpus[:1], repetitions=times, drop_caches=is_cold)

    def read(self, outputs: Outputs) -> Parsed:
        # The first start of a run is not timed; its line comes before those of the others.
        walls, asked = outputs.wall_seconds, outputs.parameters["repetitions"]
        lines = list(map(_LINE.fullmatch, outputs.stdout.splitlines(keepends=True)))
        starts = [line.groups() for line in lines if line]
        if not starts or not all(lines):
            raise Refused("unparsable", "the program printed something else, or nothing")
        require_equal(str(len(starts)), asked + 1, "starts")
        require_equal(str(len(walls)), asked, "timed starts")
        for modules, _ in starts:
            require_equal(modules, MODULES, "modules")
        times = [positive(nanoseconds, "time") / 1e9 for _, nanoseconds in starts[1:]]
        if any(inner > outer for inner, outer in zip(times, walls, strict=True)):
            raise Refused("contradictory", "imports took longer than their whole start")
        values = {"time": (seconds := median(times)), "files_per_second": MODULES / seconds}
        return self.measured({**values, "start_seconds": median(walls)})


BENCHMARK = Imports()
