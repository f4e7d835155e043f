"""likwid-bench: memory bandwidth by kernel, with a working set larger than the cache.

Its kernels, by what they do and by the names others use:

    copy     a[i] = b[i]                STREAM copy
    stream   a[i] = b[i] * s + c[i]     STREAM triad
    triad    a[i] = b[i] * c[i] + d[i]  Schönauer's vector triad, not STREAM's

Bandwidth counts each load and each store once; the line that a store may have to read
first is not counted, as in STREAM. The program spends about a second on measuring
the clock, and touches all of its memory, before its own clock starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from parity.benchmarks.debian import installed
from parity.benchmarks.figure_spec import FigureSpec
from parity.benchmarks.metrics import Metric, Quantity
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Refused,
    never_raises,
    positive,
    require_complete,
    require_equal,
    search_text,
)
from parity.benchmarks.sizing import first_cpus
from parity.core.availability import Presence
from parity.core.errors import UserError

# Streams and threads share the working set in whole elements, four at a time, in all
# kernels (2, 3 or 4 streams of 8-byte numbers) if it is a multiple of 384 bytes for
# each thread; likwid takes units of 1000 bytes. Otherwise likwid rounds by itself,
# differently for each kernel.
_KILOBYTES_PER_THREAD = math.lcm(384, 1000) // 1000

BANDWIDTH = Quantity("bandwidth", "bandwidth", "GB/s", "higher")
TIME = Quantity("time", "computing time", "s", "lower")

SIZE_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "cache_multiple": {
        "type": "number",
        "minimum": 1,
        "maximum": 64,
        "default": 4,
        "description": "Working set (all arrays together) in multiples of the last-level cache.",
    },
    "memory_fraction": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 0.8,
        "default": 0.25,
        "description": "The working set never exceeds this part of the node's memory.",
    },
    "working_set_mib": {
        "type": "integer",
        "minimum": 0,
        "maximum": 16_777_216,
        "default": 0,
        "description": "Working set in MiB instead of a multiple of the cache; 0 for the multiple.",
    },
}

THREADS_PARAMETER: Mapping[str, Any] = {
    "type": "integer",
    "minimum": 1,
    "maximum": 4096,
    "default": 1,
    "description": "Threads, each pinned to a logical CPU of its own.",
}


def working_set(parameters: Mapping[str, Any], node: NodeFacts) -> int:
    """The working set in units of 1000 bytes, rounded down so that likwid need not round.

    Raises:
        UserError: the node does not tell its last-level cache, and no size is given.
    """
    wanted = parameters["working_set_mib"] * 2**20
    if not wanted and not node.last_level_cache:
        raise UserError(
            "this node does not tell the size of its last-level cache",
            where="likwid and memory: cache_multiple",
            action="give working_set_mib in the study: four times the cache, in MiB",
        )
    wanted = wanted or parameters["cache_multiple"] * node.last_level_cache
    allowed = min(wanted, parameters["memory_fraction"] * node.memory)
    unit: int = _KILOBYTES_PER_THREAD * parameters["threads"]
    return max(1, int(allowed / 1000 / unit)) * unit


def kernel_program(kernel: str, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
    """likwid-bench with one kernel and a fixed number of iterations: the work is fixed."""
    threads = parameters["threads"]
    argv = (
        *("/usr/bin/likwid-bench", "-t", kernel),
        *("-w", f"N:{working_set(parameters, node)}kB:{threads}"),
        *("-i", str(parameters["iterations"])),
    )
    return Program(argv=argv, cpus=first_cpus(node, threads, "likwid and memory: threads"))


def kernel_metrics(kernel: str, outputs: Outputs) -> tuple[Metric, ...]:
    """Bandwidth and time of one kernel.

    Raises:
        Refused: a line is missing, or kernel, size, iterations or threads are not
            those that were asked for.
    """
    text = outputs.stdout
    require_complete(text, "LIKWID MICRO BENCHMARK", r"UOPs:\t+[0-9]+\n-{80}\n")
    iterations, threads = outputs.parameters["iterations"], outputs.parameters["threads"]
    for line, asked in (
        ("Test: {}", kernel),
        ("Using {} threads", threads),
        ("Iterations per thread:\t{}", iterations),
        ("Size (Byte):\t\t{}", _bytes_asked_for(outputs.command)),
    ):
        _require_line(text, line, asked)
    rate = search_text(r"^MByte/s:\t+([0-9.]+)$", text, "bandwidth")
    time = search_text(r"^Time:\t+([0-9.e+-]+) sec$", text, "time")
    return (
        BANDWIDTH.measured(positive(rate, "bandwidth") / 1000),
        TIME.measured(positive(time, "time")),
    )


def _require_line(text: str, line: str, asked: object) -> None:
    before, after = line.split("{}")
    lines = [row for row in text.splitlines() if row.startswith(before) and row.endswith(after)]
    if not lines:
        raise Refused("unparsable", f"the output has no line {line!r}")
    seen = lines[0].removeprefix(before).removesuffix(after)
    require_equal(seen, asked, before.strip(": \t"))


def _bytes_asked_for(command: tuple[str, ...]) -> int:
    """The working set in bytes from the last `-w` of a command line (runtimes have one too)."""
    sizes = [word for option, word in pairwise(command) if option == "-w"]
    size = sizes[-1].split(":")[1].removesuffix("kB") if sizes and ":" in sizes[-1] else ""
    if not (size.isascii() and size.isdigit()):
        raise Refused("unparsable", "the command line tells no working set")
    return int(size[:18]) * 1000


class LikwidBench(Benchmark):
    """Memory bandwidth from Debian's packages; STREAM 5.10 itself is in none of them."""

    name = "likwid"
    title = "likwid-bench"
    packages = ("likwid",)
    binaries = ("/usr/bin/likwid-bench",)
    factors: ClassVar = {"kernel": ("copy", "triad", "stream")}
    parameters: ClassVar = {
        **SIZE_PARAMETERS,
        "threads": THREADS_PARAMETER,
        "iterations": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000_000,
            "default": 6,
            "description": "How often each thread goes through the arrays in the timed part.",
        },
    }
    metrics = (BANDWIDTH, TIME)
    primary = (BANDWIDTH.metric,)
    figures = (
        FigureSpec(
            "bandwidth",
            (BANDWIDTH,),
            "Memory bandwidth",
            "Memory bandwidth of likwid-bench's kernels, in the manner of Fig. 2 of Torrez et al. "
            "(2019), which shows STREAM's; these are not STREAM results. Copy is the same in "
            "both; stream is a = b·s + c, which STREAM calls triad; triad is a = b·c + d, which "
            "STREAM does not have.",
            order=60,
            # Names of kernels alone mislead: two programs call different kernels "triad".
            levels={
                "copy": "copy: a = b",
                "stream": "stream: a = b·s + c",
                "triad": "triad: a = b·c + d",
            },
        ),
    )
    note = (
        "The working set is all arrays of a kernel together; STREAM's run rules ask for "
        "four times the cache in each array, so these are not STREAM results."
    )

    def probe(self) -> Presence:
        """Whether likwid-bench is installed."""
        return installed(self.binaries, self.packages)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """likwid-bench with the kernel of this case.

        Raises:
            UserError: too many threads, or a node of unknown cache.
        """
        return kernel_program(parameters["kernel"], parameters, node)

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Bandwidth and time; valid if all was done as asked for and no line is missing."""
        return Parsed(valid=True, metrics=kernel_metrics(outputs.parameters["kernel"], outputs))


BENCHMARK = LikwidBench()
