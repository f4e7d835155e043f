"""Copies of HPL side by side, one on each rank: what a machine does that is divided.

The embarrassingly parallel HPL of Beserra et al. 2015: the copies know nothing of each other.
"""

import re
from pathlib import Path

from parity.benchmarks.hpcc import gflop, input_file, read_values
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.openmpi import placed
from parity.benchmarks.reading import Refused, Said, require_equal

_COPY = Path(__file__).with_name("hpl_copies.sh").read_text(encoding="utf-8")
_ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMPI_MCA_btl": "self"}
_SECONDS = r"([0-9]+)m([0-9]+\.?[0-9]*)s"
_TOOK = re.compile(rf"^copy ([0-9]+) took {_SECONDS} {_SECONDS} of ([0-9]+) CPUs$", re.MULTILINE)


class HplCopies(Benchmark):
    """hpcc with a single rank, once for each rank of an allocation, in a folder of its own."""

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        files = {"hpccinf.txt": input_file({**parameters, "ranks": 1})}
        cpus = parameters["nodes"] * len(node.cpus)
        argv = ("/bin/sh", "-c", _COPY, "hpl-copies", str(cpus), *self.binaries)
        alone = Program(argv, (), _ALONE, files, ("hpccoutf-*.txt",))
        return placed(alone, parameters, node, "hpl-copies: allocations, ranks of one node")

    def seconds_of(self, metric: str, value: float, parameters: Asked) -> float:
        # The rate is of all copies, and a case may not say what was done.
        known = metric == "rate" and value > 0 and {"n", "ranks"} <= parameters.keys()
        return gflop(parameters["n"]) * parameters["ranks"] / value if known else 0.0

    def read(self, outputs: Outputs) -> Parsed:
        ranks, files = range(outputs.parameters["ranks"]), Said(outputs.files.items())
        asked = {**outputs.parameters, "ranks": 1}
        rates = [read_values(files[f"hpccoutf-{rank}.txt"], asked)["hpl"] for rank in ranks]
        took = _TOOK.findall(outputs.stdout)
        require_equal(str(sorted(int(copy) for copy, *_ in took)), [*ranks], "copies")
        if not outputs.wall_seconds:
            raise Refused("unparsable", "nothing tells how long the copies took")
        seconds = sum(60 * int(m) + float(s) for _, *of in took for m, s in (of[:2], of[2:4]))
        over = float(seconds > outputs.wall_seconds[0] * int(took[0][-1]))
        values = {"rate": sum(rates), "slowest": min(rates), "host_cpu_exceeded": over}
        return self.measured(values)


BENCHMARK = HplCopies()
