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
from typing import Any, ClassVar

from parity.benchmarks.description import Quantity, described
from parity.benchmarks.likwid import LikwidBench, kernel_metrics, kernel_program, size_of
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused, never_raises

MIB = 2**20
KERNEL = "stream"
FULL_SIZE = 0.95
FEWEST_SAMPLES = 3

Sample = Mapping[str, Any]


def _memory(metric: str, label: str) -> Quantity:
    return Quantity(metric, label, "MiB", "lower", clock="external")


PRIVATE = _memory("process_private", "process memory")
DIRTY = _memory("process_private_dirty", "process private dirty")
NODE = _memory("node_used_median", "node memory in use")
ADDED = _memory("node_used_increment", "node memory added by the run")
PUBLISHED = _memory(
    "node_used_increment_published", "node memory added by the run, free lists included"
)


def plateau(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """The samples taken while the program is at its full size, after the module's rule.

    Returns:
        Samples of the node, and samples of the program, at those moments.

    Raises:
        Refused: a sample does not tell what it should, or is there twice.
    """
    taken = [(number(row, "seconds"), row.get("process"), row.get("pid")) for row in samples]
    if len(taken) != len(set(taken)):
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


def number(row: Sample, key: str) -> float:
    """A number of a sample.

    Raises:
        Refused: it is not there, or null, or not a finite number.
    """
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refused("unparsable", f"a sample does not tell {key}")
    return value


def background(samples: Sequence[Sample]) -> Sample:
    """The node's sample from before the program's start.

    Raises:
        Refused: there is none.
    """
    before = [row for row in samples if not row.get("process") and number(row, "seconds") < 0]
    if not before:
        raise Refused("no-background", "no sample of the node from before the program's start")
    return before[0]


def node_in_use(row: Sample) -> float:
    """Bytes of the node's memory that are neither free nor on a per-CPU free list.

    Raises:
        Refused: the sample does not tell what is on those lists.
    """
    return number(row, "node_used") - number(row, "node_free_per_cpu")


PARAMETERS, FIGURES, NOTE = described(__file__, NODE, ADDED, PRIVATE)


class Memory(Benchmark):
    """Memory of the node and of the program, sampled in runs of their own.

    The program's private memory is compared by ratio. The node's numbers hold all
    that runs on it, so they are compared by difference: the increment is what program
    and runtime together added to what the node used just before.
    """

    name = "memory"
    title = "Memory"
    packages = ("likwid",)
    binaries = ("/usr/bin/likwid-bench",)
    parameters: ClassVar = {**LikwidBench.parameters, **PARAMETERS}
    # No `work`: more passes take no more memory.
    sized_by = "iterations"
    # Taking a sample every 0.2 s takes 0.08 s more. Passes of 0.6 s left 2 samples in each of 3
    # runs, of 0.9 s 3, and of 1.4 s 5; that of the pilot may be a fifth shorter, and an arm, too.
    target_seconds = 1.5
    metrics = (PRIVATE, DIRTY, NODE, ADDED, PUBLISHED)
    primary = (PRIVATE.metric, NODE.metric, ADDED.metric)
    differences = (NODE.metric, ADDED.metric)
    figures, note = FIGURES, NOTE

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """likwid-bench with STREAM's triad, sampled.

        Raises:
            UserError: too many threads, or a node of unknown cache.
        """
        return replace(
            kernel_program(KERNEL, parameters, node),
            sample_seconds=parameters["sample_seconds"],
            sample_processes=("likwid-bench",),
        )

    def size(self, command: Sequence[str]) -> str:
        """The working set of all threads."""
        return size_of(command)

    def timed_seconds(self, outputs: Outputs) -> float:
        """The program's own time for its passes, of a run with too few samples, too.

        The wall clock holds its calibration and the filling of its arrays, which stay.
        """
        try:
            _, time = kernel_metrics(KERNEL, outputs)
        except Refused:
            return 0.0
        return time.value

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Medians in MiB; valid if the program did its work and enough samples count."""
        kernel_metrics(KERNEL, outputs)
        first = background(outputs.samples)
        node, programs = plateau(outputs.samples)
        if min(len(node), len(programs)) < FEWEST_SAMPLES:
            detail = f"{len(node)} samples with the program at full size, needed {FEWEST_SAMPLES}"
            raise Refused("too-few-samples", detail)
        used = median(node_in_use(row) for row in node)
        published = median(number(row, "node_used") for row in node) - number(first, "node_used")
        values = {
            PRIVATE: median(number(row, "private_writable") for row in programs),
            DIRTY: median(number(row, "private_dirty") for row in programs),
            NODE: used,
            ADDED: used - node_in_use(first),
            PUBLISHED: published,
        }
        return Parsed(
            valid=True,
            metrics=tuple(what.measured(value / MIB) for what, value in values.items()),
        )


BENCHMARK = Memory()
