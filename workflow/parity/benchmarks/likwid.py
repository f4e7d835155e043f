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
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from parity.benchmarks.description import Metric, Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.openmpi import first_cpus
from parity.benchmarks.reading import (
    Printed,
    Refused,
    never_raises,
    positive,
    printed,
    require_agreement,
    require_complete,
    require_equal,
    search_text,
)
from parity.core.errors import UserError

# Streams and threads share the working set in whole elements, four at a time, in all
# kernels (2, 3 or 4 streams of 8-byte numbers) if it is a multiple of 384 bytes for
# each thread; likwid takes units of 1000 bytes. Otherwise likwid rounds by itself,
# differently for each kernel.
_KILOBYTES_PER_THREAD = math.lcm(384, 1000) // 1000

BANDWIDTH = Quantity("bandwidth", "bandwidth", "GB/s", "higher")
TIME = Quantity("time", "computing time", "s", "lower")


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
        Refused: a line is missing, kernel, size, iterations or threads are not those
            that were asked for, or rate and time contradict each other.
    """
    text = outputs.stdout
    require_complete(text, "LIKWID MICRO BENCHMARK", r"UOPs:\t+[0-9]+\n-{80}")
    iterations, threads = outputs.parameters["iterations"], outputs.parameters["threads"]
    size = _bytes_asked_for(outputs.command)
    for pattern, asked, what in (
        (r"^Test: (\S+)$", kernel, "Test"),
        (r"^Using ([0-9]+) threads$", threads, "threads"),
        (r"^Iterations per thread:\t([0-9]+)$", iterations, "Iterations per thread"),
        (r"^Size \(Byte\):\t+([0-9]+)$", size, "Size (Byte)"),
    ):
        require_equal(search_text(pattern, text, what), asked, what)
    rate = search_text(r"^MByte/s:\t+([0-9.]+)$", text, "bandwidth")
    time = search_text(r"^Time:\t+([0-9.e+-]+) sec$", text, "time")
    # Each iteration goes once through the working set of all threads.
    moved = printed(rate, "bandwidth") * printed(time, "time")
    require_agreement(moved, Printed(size * iterations / 1e6), "rate times time, and MB moved")
    return (
        BANDWIDTH.measured(positive(rate, "bandwidth") / 1000),
        TIME.measured(positive(time, "time")),
    )


def size_of(command: Sequence[str]) -> str:
    """The working set of a command line, in words; empty if it tells none."""
    try:
        return f"working set of {_bytes_asked_for(command) / 1e6:g} MB"
    except Refused:
        return ""


def _bytes_asked_for(command: Sequence[str]) -> int:
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
    parameters, figures, note = described(__file__, BANDWIDTH)
    work = "iterations"
    sized_by = "iterations"
    # On a busy virtual machine runs of 0.1 s scattered more than those of 0.3 s, and of 1.0 s no
    # less (20 pairs of each, standard deviation of a pair's ratio 30, 12 and 15 %). But the
    # program sleeps for a second before it, to measure its clock: about half of it is to count.
    target_seconds = 1.0
    timed = TIME.metric
    metrics = (BANDWIDTH, TIME)
    primary = (BANDWIDTH.metric,)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """likwid-bench with the kernel of this case.

        Raises:
            UserError: too many threads, or a node of unknown cache.
        """
        return kernel_program(parameters["kernel"], parameters, node)

    def size(self, command: Sequence[str]) -> str:
        """The working set of all threads."""
        return size_of(command)

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Bandwidth and time; valid if all was done as asked for and no line is missing."""
        return Parsed(valid=True, metrics=kernel_metrics(outputs.parameters["kernel"], outputs))


BENCHMARK = LikwidBench()
