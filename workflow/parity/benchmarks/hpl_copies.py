"""Copies of HPL side by side, one on each rank: what a machine does that is divided.

The embarrassingly parallel HPL of Beserra et al. 2015: the copies know nothing of each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.benchmarks.description import Quantity, described
from parity.benchmarks.hpcc import input_file, read_metrics
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.openmpi import placed
from parity.benchmarks.reading import Refused, never_raises, require_equal, stated

_COPY = Path(__file__).with_name("hpl_copies.sh").read_text(encoding="utf-8")
_ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMPI_MCA_btl": "self"}
_SECONDS = r"([0-9]+)m([0-9.]+)s"
_TOOK = re.compile(rf"^copy ([0-9]+) took {_SECONDS} {_SECONDS} of ([0-9]+) CPUs$", re.MULTILINE)

RATE = Quantity("rate", "HPL rate of all copies", "Gflop/s", "higher")
SLOWEST = Quantity("slowest", "rate of the slowest copy", "Gflop/s", "higher")
EXCEEDED = Quantity("host_cpu_exceeded", "more CPU time than the host has", "1")


class HplCopies(Benchmark):
    """hpcc with a single rank, once for each rank of an allocation."""

    name = "hpl-copies"
    title = "Copies of HPL"
    packages = ("hpcc", "openmpi-bin", "libopenblas0-pthread")
    binaries = ("/usr/bin/hpcc",)
    parameters, figures, note = described(__file__, RATE, SLOWEST)
    allocations = "required"
    metrics = (RATE, SLOWEST, EXCEEDED)
    primary = (RATE.metric,)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The copies, each in a folder of its own; ranks of an allocation that are no world.

        Raises:
            UserError: more ranks on a node than CPUs, unless containers share it.
        """
        files = {"hpccinf.txt": input_file(dict(parameters) | {"ranks": 1})}
        cpus = parameters["nodes"] * len(node.cpus)
        argv = ("/bin/sh", "-c", _COPY, "hpl-copies", str(cpus), *self.binaries)
        alone = Program(argv, (), _ALONE, files, ("hpccoutf-*.txt",))
        return placed(alone, parameters, node, "hpl-copies: allocations, ranks of one node")

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Sum and least of the copies' rates; valid if each passed its own checks.

        The CPU time is the copies' own, as the kernel under them counts it.
        """
        asked, ranks = outputs.parameters, outputs.parameters["ranks"]
        texts = [stated(outputs.files, f"hpccoutf-{rank}.txt") for rank in range(ranks)]
        rates = [read_metrics(text, dict(asked) | {"ranks": 1})[0].value for text in texts]
        took = _TOOK.findall(outputs.stdout)
        require_equal(str(sorted(int(copy) for copy, *_ in took)), [*range(ranks)], "copies")
        if not outputs.wall_seconds:
            raise Refused("unparsable", "nothing tells how long the copies took")
        seconds = sum(60 * int(m) + float(s) for _, *of in took for m, s in (of[:2], of[2:4]))
        exceeded = seconds > outputs.wall_seconds[0] * int(took[0][-1])
        metrics = (RATE.measured(sum(rates)), SLOWEST.measured(min(rates)))
        return Parsed(True, metrics=(*metrics, EXCEEDED.measured(float(exceeded))))


BENCHMARK = HplCopies()
