"""HPC Challenge: HPL and all that hpcc runs beside it, in one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks import openmpi, spack
from parity.benchmarks.debian import installed
from parity.benchmarks.figure_spec import FigureSpec, Form
from parity.benchmarks.hpcc_output import HPL, METRICS, process_grid, read_metrics
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import never_raises
from parity.benchmarks.sizing import cpus_for_ranks, first_cpus
from parity.core.availability import Presence
from parity.core.spack_paths import DISTRIBUTION

# The order of lines is the format (hpcc's README); what varies is marked.
_INPUT = """\
HPLinpack benchmark input file
written by parity
HPL.out      output file name (unused)
8            output to the results file
1            number of problem sizes
{n}          N
1            number of block sizes
{nb}         NB
0            process mapping by row
1            number of process grids
{p}          P
{q}          Q
16.0         threshold of the residual
1            number of panel factorisations
2            right-looking
1            number of recursive stopping criteria
4            NBMIN
1            number of panels in recursion
2            NDIV
1            number of recursive panel factorisations
1            Crout
1            number of broadcasts
1            modified ring
1            number of lookahead depths
1            depth
2            swap: mix
64           swapping threshold
0            L1 transposed
0            U transposed
1            equilibration
8            alignment in doubles
##### hpcc reads this line and ignores it #####
0            additional problem sizes for PTRANS
1200         N
0            additional block sizes for PTRANS
40           NB
"""

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def input_file(parameters: Mapping[str, Any]) -> str:
    """hpccinf.txt for one problem size, block size and process grid."""
    rows, columns = process_grid(parameters)
    return _INPUT.format(n=parameters["n"], nb=parameters["nb"], p=rows, q=columns)


class HpcChallenge(Benchmark):
    """hpcc of the University of Tennessee, with Debian's Open MPI and OpenBLAS.

    On an allocation the site's launcher starts each rank in a container of its own.
    Without one there is a single node, and the launcher runs inside of the arm, in all
    arms alike.
    """

    name = "hpcc"
    title = "HPC Challenge"
    packages = ("hpcc", "openmpi-bin", "libopenblas0-pthread")
    binaries = ("/usr/bin/hpcc", openmpi.LAUNCHER)
    parameters: ClassVar = {
        "n": {
            "type": "integer",
            "minimum": 500,
            "maximum": 1_000_000,
            "default": 2000,
            "description": "Order of HPL's matrix; hpcc derives the sizes of all other tests.",
        },
        "nb": {
            "type": "integer",
            "minimum": 8,
            "maximum": 1024,
            "default": 64,
            "description": "Block size of HPL and PTRANS.",
        },
        "p": {
            "type": "integer",
            "minimum": 1,
            "maximum": 512,
            "default": 1,
            "description": "Rows of the process grid; ranks are p times q. "
            "An allocation sets its own grid.",
        },
        "q": {
            "type": "integer",
            "minimum": 2,
            "maximum": 512,
            "default": 2,
            "description": "Columns of the process grid, at least 2: latency needs two ranks. "
            "An allocation sets its own grid.",
        },
    }
    allocations = "optional"
    metrics = METRICS
    primary = (HPL.metric,)
    figures = (
        FigureSpec(
            "hpl",
            (HPL,),
            "Dense linear algebra",
            "Rate of High Performance Linpack inside the HPC Challenge suite. With a small matrix "
            "HPL itself takes a fraction of a second, so start and clock weigh more than in a "
            "real run; the appendix on cases gives its order. Left: deviation from the median of "
            "the reference.",
            order=20,
            relative=True,
            placed=False,
        ),
        FigureSpec(
            "scaling",
            (HPL,),
            "Dense linear algebra over nodes",
            "Rate of High Performance Linpack inside the HPC Challenge suite against the number "
            "of nodes, in per cent of the reference's median at the same case, in the manner of "
            "Figs. 3 and 4 of Torrez et al. (2019), which show HPCG: the two programs are not "
            "comparable. The matrix is the same at every number of nodes, so the work of a rank "
            "shrinks, while HPCG's grew with the nodes.",
            finding="Linear algebra over nodes",
            order=30,
            placed=True,
            form=Form.NODES,
        ),
    )
    note = (
        "With a small matrix HPL itself takes a fraction of a second, so start and clock weigh "
        "more than in a real run. hpcc derives the arrays of its STREAM test from N; they are "
        "smaller than four times the last-level cache, so its bandwidths are not STREAM results."
    )

    def provided_by(self, provider: str) -> Benchmark:
        """What a provider has of the same release."""
        return self if provider == DISTRIBUTION else spack.in_toolchain(BY_SPACK, provider)

    def probe(self) -> Presence:
        """Whether hpcc and its launcher are installed."""
        return installed(self.binaries, self.packages)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """hpcc, started once for each rank of an allocation, or by its own launcher.

        Raises:
            UserError: more ranks on a node than it has logical CPUs, or too large a world.
        """
        files = {"hpccinf.txt": input_file(parameters)}
        collect = ("hpccoutf.txt",)
        if "ranks" not in parameters:
            cpus = first_cpus(node, parameters["p"] * parameters["q"], "hpcc: p times q")
            words = openmpi.launch_words(self.binaries[:1], cpus)
            return Program(words, cpus, {**openmpi.INSIDE, **_ONE_THREAD}, files, collect)
        nodes, ranks = parameters["nodes"], parameters["ranks"]
        return Program(
            argv=self.binaries[:1],
            cpus=cpus_for_ranks(node, nodes, ranks, "hpcc: allocations, ranks of one node"),
            environment=openmpi.environment(ranks) | _ONE_THREAD,
            files=files,
            collect=collect,
            ranks=ranks,
            nodes=nodes,
        )

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """All numbers of hpcc's summary; valid if each of its own checks passed.

        On an allocation its ranks must have been one world, too, as MPI itself says.
        """
        asked = outputs.parameters
        if "ranks" in asked:
            openmpi.require_world(outputs.stderr, asked["nodes"], asked["ranks"])
        text = outputs.files.get("hpccoutf.txt", "")
        return Parsed(valid=True, metrics=read_metrics(text, asked))


class BySpack(HpcChallenge):
    """The same, built by Spack with the system's Open MPI and OpenBLAS."""

    spack_packages = (spack.SpackPackage("hpcc", "1.5.0"),)
    binaries = (spack.program_path("hpcc", "hpcc"), openmpi.LAUNCHER)

    def probe(self) -> Presence:
        """Whether it is in the view."""
        return spack.built(self.binaries, self.spack_packages)


BENCHMARK = HpcChallenge()
BY_SPACK = BySpack()
