"""HPC Challenge: HPL and all that hpcc runs beside it, in one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.benchmarks import openmpi, spack
from parity.benchmarks.description import described
from parity.benchmarks.hpcc_output import HPL, METRICS, process_grid, read_metrics
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import never_raises
from parity.benchmarks.sizing import first_cpus
from parity.core.spack_paths import DISTRIBUTION

# The order of lines is the format (hpcc's README); what varies is marked.
_INPUT = Path(__file__).with_name("hpccinf.txt").read_text(encoding="utf-8")
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
    parameters, figures, note = described(__file__, HPL)
    allocations = "optional"
    # Not `sized_by` n: HPL's work grows with its cube, and each of hpcc's tests otherwise.
    metrics = METRICS
    primary = (HPL.metric,)

    def provided_by(self, provider: str) -> Benchmark:
        """What a provider has of the same release."""
        return self if provider == DISTRIBUTION else spack.in_toolchain(BY_SPACK, provider)

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
        alone = Program(self.binaries[:1], (), _ONE_THREAD, files, collect)
        where = "hpcc: allocations, ranks of one node"
        return openmpi.in_one_world(alone, parameters, node, where)

    def timed_seconds(self, outputs: Outputs) -> float:
        """HPL's own time: the study does not compare what hpcc runs beside it."""
        told = re.search(r"^HPL_time=([\d.e+-]+)$", outputs.files.get("hpccoutf.txt", ""), re.M)
        return float(told[1]) if told else 0.0

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """All numbers of hpcc's summary; valid if each of its own checks passed.

        On an allocation its ranks must have been one world, too, as MPI itself says.
        """
        asked = outputs.parameters
        if "ranks" in asked:
            openmpi.require_one_world(outputs)
        text = outputs.files.get("hpccoutf.txt", "")
        return Parsed(valid=True, metrics=read_metrics(text, asked))


class BySpack(HpcChallenge):
    """The same, built by Spack with the system's Open MPI and OpenBLAS."""

    spack_packages = (spack.SpackPackage("hpcc", "1.5.0"),)
    binaries = (spack.program_path("hpcc", "hpcc"), openmpi.LAUNCHER)


BENCHMARK = HpcChallenge()
BY_SPACK = BySpack()
