"""Memory: what the node and the program use while a bandwidth kernel runs (Torrez 2019, IV-D).

The node's use is MemTotal minus MemFree, which leaves out pages on the kernel's per-CPU free lists:
since Linux 6.7 hundreds of MiB that a program before gave back. They are subtracted, too; the
increment as it was published is kept beside it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from parity.benchmarks.likwid import LikwidBench
from parity.benchmarks.model import Asked, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Refused

MIB, FULL_SIZE, FEWEST_SAMPLES = 2**20, 0.95, 3
Sample = Mapping[str, Any]


def plateau(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """The samples of the node, and of the program, while the program is at its full size.

    A sample counts if the program's private dirty memory is then at least `FULL_SIZE` of its
    largest value: neither its start, nor the filling of its arrays, nor its end. The publication
    leaves out samples below 40 GiB, which fits its program and nodes. Raises Refused: a sample does
    not tell what it should, or is there twice.
    """
    taken = [(number(it, "seconds", -math.inf), it.get("process"), it.get("pid")) for it in samples]
    if len(taken) != len(set(map(repr, taken))):
        raise Refused("several-runs", "the same moment is sampled more than once")
    # A process that ends just then is seen, but not its memory.
    seen = (it for it in samples if it.get("process") and it.get("private_dirty") is not None)
    programs = [(number(row, "private_dirty"), row) for row in seen]
    full = FULL_SIZE * max((dirty for dirty, _ in programs), default=0)
    at_full_size = [row for dirty, row in programs if dirty >= full > 0]
    moments = {row["seconds"] for row in at_full_size}
    node = [row for row in samples if not row.get("process") and row["seconds"] in moments]
    return node, at_full_size


def number(row: Sample, key: str, least: float = 0.0) -> float:
    """A number of a sample; `Refused` unless it is finite and of `least` at least."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refused("unparsable", f"a sample does not tell {key}")
    if value < least:
        raise Refused("unparsable", f"a sample tells {key} of {value}")
    return value


def node_in_use(row: Sample) -> float:
    """Bytes of the node's memory that are neither free nor on a per-CPU free list."""
    return number(row, "node_used") - number(row, "node_free_per_cpu")


class Memory(LikwidBench):
    """Memory of the node and of the program, sampled in runs whose speed is compared with nothing.

    The program's private memory is compared by ratio. The node's numbers hold all that runs on
    it, so they are compared by difference: the increment is what the run added.
    """

    # No `work`: more passes take no more memory.
    work = timed = ""
    factors, metrics = {}, ()

    def kernel(self, parameters: Asked) -> str:
        return "stream"

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        program, seconds = super().program(parameters, node), parameters["sample_seconds"]
        return replace(program, sample_seconds=seconds, sample_processes=("likwid-bench",))

    def timed_seconds(self, outputs: Outputs) -> float:
        # Of a run with too few samples, too.
        try:
            return self.values(outputs)["time"]
        except Refused:
            return 0.0

    def read(self, outputs: Outputs) -> Parsed:
        self.values(outputs)
        node = [row for row in outputs.samples if not row.get("process")]
        before = [row for row in node if number(row, "seconds", -math.inf) < 0]
        if not before:
            raise Refused("no-background", "no sample of the node from before the program's start")
        node, programs = plateau(outputs.samples)
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
