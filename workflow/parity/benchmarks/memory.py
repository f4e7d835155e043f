"""Memory: what the node and the program use while a bandwidth kernel runs.

Torrez et al. 2019, section IV-D, look at the node as a whole (MemTotal minus MemFree)
and at the program's private memory as `pmap` counts it, and leave out samples below
40 GiB, a number that fits their program and their nodes. Our rule for the same purpose
fits any: a sample counts if the program's private dirty memory is then at least 95 %
of its largest value in that run. So neither start nor end of the program counts, nor
the time in which it fills its arrays.

Pages on the kernel's per-CPU free lists are free, but MemFree leaves them out, and since
Linux 6.7 (2024) those lists keep hundreds of MiB of what a program before has given
back: with 2 CPUs and Linux 6.18 an increment of 1054 MiB looked like anything from 0 to
870. So the node's use is MemTotal minus MemFree minus those lists; the increment as it
was published is kept beside it.

Sampling happens beside the program, so its speed here is compared with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from parity.benchmarks.likwid import LikwidBench
from parity.benchmarks.model import NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, never_raises

MIB = 2**20
FULL_SIZE = 0.95
FEWEST_SAMPLES = 3

Sample = Mapping[str, Any]


def plateau(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """The samples taken while the program is at its full size, after the module's rule.

    Returns:
        Samples of the node, and samples of the program, at those moments.

    Raises:
        Refused: a sample does not tell what it should, or is there twice.
    """
    taken = [(_seconds(row), row.get("process"), row.get("pid")) for row in samples]
    if len(taken) != len(set(map(repr, taken))):
        raise Refused("several-runs", "the same moment is sampled more than once")
    programs = [
        (number(row, "private_dirty"), row)
        for row in samples
        # A process that ends just then is seen, but not its memory.
        if row.get("process") and row.get("private_dirty") is not None
    ]
    full = FULL_SIZE * max((dirty for dirty, _ in programs), default=0)
    at_full_size = [row for dirty, row in programs if dirty >= full > 0]
    moments = {row["seconds"] for row in at_full_size}
    node = [row for row in samples if not row.get("process") and row["seconds"] in moments]
    return node, at_full_size


def number(row: Sample, key: str, least: float = 0.0) -> float:
    """A number of a sample.

    Raises:
        Refused: it is not there, or null, or not a finite number of `least` at least.
    """
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refused("unparsable", f"a sample does not tell {key}")
    if value < least:
        raise Refused("unparsable", f"a sample tells {key} of {value}")
    return value


def _seconds(row: Sample) -> float:
    """When a sample was taken, since the program's start."""
    return number(row, "seconds", -math.inf)


def node_in_use(row: Sample) -> float:
    """Bytes of the node's memory that are neither free nor on a per-CPU free list."""
    return number(row, "node_used") - number(row, "node_free_per_cpu")


class Memory(LikwidBench):
    """Memory of the node and of the program, sampled in runs of their own.

    The program's private memory is compared by ratio. The node's numbers hold all
    that runs on it, so they are compared by difference: the increment is what program
    and runtime together added to what the node used just before.
    """

    # No `work`: more passes take no more memory.
    work = timed = ""
    factors, metrics = {}, ()

    def kernel(self, parameters: Mapping[str, Any]) -> str:
        """STREAM's triad."""
        return "stream"

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """likwid-bench, sampled."""
        seconds = parameters["sample_seconds"]
        program = super().program(parameters, node)
        return replace(program, sample_seconds=seconds, sample_processes=("likwid-bench",))

    def timed_seconds(self, outputs: Outputs) -> float:
        """The program's own time for its passes, of a run with too few samples, too.

        The wall clock holds its calibration and the filling of its arrays, which stay.
        """
        try:
            return self.read(outputs)["time"]
        except Refused:
            return 0.0

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Medians in MiB; valid if the program did its work and enough samples count."""
        self.read(outputs)
        samples = outputs.samples
        before = [row for row in samples if not row.get("process") and _seconds(row) < 0]
        if not before:
            raise Refused("no-background", "no sample of the node from before the program's start")
        node, programs = plateau(samples)
        if min(len(node), len(programs)) < FEWEST_SAMPLES:
            detail = f"{len(node)} samples with the program at full size, needed {FEWEST_SAMPLES}"
            raise Refused("too-few-samples", detail)
        used = median(node_in_use(row) for row in node)
        published = median(number(row, "node_used") for row in node)
        values = {
            "process_private": median(number(row, "private_writable") for row in programs),
            "process_private_dirty": median(number(row, "private_dirty") for row in programs),
            "node_used_median": used,
            "node_used_increment": used - node_in_use(before[0]),
            "node_used_increment_published": published - number(before[0], "node_used"),
        }
        return self.measured({name: value / MIB for name, value in values.items()})


BENCHMARK = Memory()
