"""likwid-bench: memory bandwidth by kernel, with a working set larger than the cache.

Its `stream` is STREAM's triad, and its `triad` Schönauer's vector triad. Each load and each store
counts once, as in STREAM; the line that a store may have to read first does not.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Printed, Refused, require_agreement
from parity.core.errors import UserError

# Streams (2, 3 or 4 of 8-byte numbers) and threads share the working set in whole elements, four at
# a time, if it is a multiple of 384 bytes for each thread; likwid takes units of 1000 bytes.
# Otherwise likwid rounds by itself, differently for each kernel.
_KILOBYTES_PER_THREAD = math.lcm(384, 1000) // 1000


def working_set(parameters: Asked, node: NodeFacts) -> int:
    """The working set in units of 1000 bytes, rounded down so that likwid need not round.

    Raises UserError: the node does not tell its last-level cache, and no size is given.
    """
    wanted = parameters["working_set_mib"] * 2**20
    if not wanted and not node.last_level_cache:
        problem = "this node does not tell the size of its last-level cache"
        action = "give working_set_mib in the study: four times the cache, in MiB"
        raise UserError(problem, where="likwid and memory: cache_multiple", action=action)
    wanted = wanted or parameters["cache_multiple"] * node.last_level_cache
    allowed = min(wanted, parameters["memory_fraction"] * node.memory)
    unit: int = _KILOBYTES_PER_THREAD * parameters["threads"]
    return max(1, int(allowed / 1000 / unit)) * unit


def _bytes_asked_for(command: Sequence[str]) -> int:
    """The working set in bytes from the last `-w` of a command line (runtimes have one too)."""
    sizes = [word for option, word in pairwise(command) if option == "-w"]
    size = sizes[-1].split(":")[1].removesuffix("kB") if sizes and ":" in sizes[-1] else ""
    if not (size.isascii() and size.isdigit()):
        raise Refused("unparsable", "the command line tells no working set")
    return int(size[:18]) * 1000


class LikwidBench(Benchmark):
    """Memory bandwidth from Debian's packages; STREAM 5.10 itself is in none of them."""

    def kernel(self, parameters: Asked) -> str:
        return str(parameters["kernel"])

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        # With a fixed number of iterations the work is fixed.
        threads, kilobytes = parameters["threads"], working_set(parameters, node)
        words = ("-t", self.kernel(parameters), "-w", f"N:{kilobytes}kB:{threads}")
        argv = (*self.binaries, *words, "-i", str(parameters["iterations"]))
        cpus = node.first_cpus(threads, "likwid and memory: threads")
        return Program(argv, cpus, memory_bytes=1000 * kilobytes)

    def size(self, command: Sequence[str]) -> str:
        try:
            return f"working set of {_bytes_asked_for(command) / 1e6:g} MB"
        except Refused:
            return ""

    def values(self, outputs: Outputs) -> dict[str, float]:
        """Bandwidth in GB/s and time in s; `Refused` if they are not of what was asked for."""
        said, asked = self.printed.read(outputs.stdout), outputs.parameters
        size, iterations = _bytes_asked_for(outputs.command), asked["iterations"]
        work = {"Iterations per thread": iterations, "Size (Byte)": size}
        said.require({"Test": self.kernel(asked), "threads": asked["threads"], **work})
        # Each iteration goes once through the working set of all threads.
        moved = said.printed("bandwidth") * said.printed("time")
        require_agreement(moved, Printed(size * iterations / 1e6), "rate times time, and MB moved")
        return {"bandwidth": said.positive("bandwidth") / 1000, "time": said.positive("time")}

    def read(self, outputs: Outputs) -> Parsed:
        return self.measured(self.values(outputs))


BENCHMARK = LikwidBench()
