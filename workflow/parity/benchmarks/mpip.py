"""Where the time of an MPI program goes: its own work, MPI, and what surrounds both.

mpiP is preloaded into each rank and stands between the program and MPI. It reports two
times for each rank: that from the end of MPI_Init to the begin of MPI_Finalize, and the
part of it that was spent in calls of MPI. What our outer clock sees beyond the first is
start, MPI_Init and MPI_Finalize, and in a container its making and taking down, too.

Standing in between costs time, so these runs are compared with nothing but each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parity.benchmarks import npb, openmpi, spack
from parity.benchmarks.description import described
from parity.benchmarks.metrics import Quantity
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Printed,
    Refused,
    collected,
    finite,
    never_raises,
    positive,
    printed,
    require_agreement,
    require_complete,
    require_equal,
    search_text,
)
from parity.core.availability import Availability


def library(toolchain: str) -> str:
    """The library that is preloaded."""
    return spack.library_path("mpip", "libmpiP.so", toolchain)


# mpiP names its report after program, ranks and process.
_REPORT = "*.mpiP"
_RULE = "-" * 75
# The short report states the mean of all ranks in full; the long one has each rank's time,
# but in three digits. No call sites: they are addresses, which differ from run to run.
_OPTIONS = "-c -d"


APPLICATION = Quantity("application", "own work", "s", "lower")
MPI = Quantity("mpi", "time in MPI", "s", "lower")
INIT = Quantity("init", "start, init, end", "s", "lower", clock="external")
MPI_PART = Quantity("mpi_part", "mpi part", "1")


def read_times(text: str, ranks: int) -> tuple[float, float]:
    """Seconds between MPI_Init and MPI_Finalize, and those of them in MPI: means of all ranks.

    Raises:
        Refused: not one whole report, or one of other ranks (`contradictory`).
    """
    require_complete(text, "@ mpiP\n", rf"@--- End of Report -+\n{_RULE}")
    both = r" +([0-9.]+ +[0-9.]+"
    mean = search_text(rf"^Mean{both})$", text, "mean of the ranks").split()
    everything = search_text(rf"^Aggregate{both} +[0-9.]+)$", text, "sum of the ranks").split()
    # The report does not say of how many ranks it is.
    for column, total, what in zip(mean, everything[:2], ("AppTime", "MPITime"), strict=True):
        of_all = printed(column, what) * Printed(ranks)
        require_agreement(of_all, printed(total, what), f"{what} of {ranks} ranks, and their sum")
    percent = printed(everything[2], "MPI%") * printed(everything[0], "AppTime")
    of_mpi = printed(everything[1], "MPITime") * Printed(100.0)
    require_agreement(percent, of_mpi, "MPI% of AppTime, and MPITime")
    return positive(mean[0], "AppTime"), finite(mean[1], "MPITime")


class MpiTime(Benchmark):
    """A kernel of NPB with mpiP in front of MPI."""

    name = "mpip"
    title = "Time in MPI"
    # Call sites are not asked for, so nothing has to unwind a stack or name an address.
    spack_packages = (
        spack.SpackPackage("mpip", "3.5", "~bfd ~demangling ~libunwind +setjmp"),
        *npb.Npb.spack_packages,
    )
    binaries = npb.Npb.binaries
    factors = npb.Npb.factors
    parameters = npb.Npb.parameters
    allocations = "required"
    starts_ranks_inside = True
    metrics = (APPLICATION, MPI, INIT, MPI_PART)
    primary = (APPLICATION.metric, MPI.metric, INIT.metric)
    differences = (MPI.metric, INIT.metric)
    figures, note = described(__file__, APPLICATION, MPI, INIT)[1:]

    def probe(self) -> Availability:
        """Whether mpiP and the kernels are built."""
        return spack.built((library(self.toolchain), *self.binaries), self.spack_packages)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The kernel of this case; mpiP is preloaded into it and into nothing before it.

        Raises:
            UserError: as of the kernel without mpiP.
        """
        preloaded = f"LD_PRELOAD={library(self.toolchain)}"
        preload = ("/usr/bin/env", preloaded, f"MPIP={_OPTIONS}")
        argv = (*preload, *npb.kernel_words(parameters, self.toolchain))
        return openmpi.program(argv, parameters, node, self.name, {}, (_REPORT,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """The three parts of the outer clock; valid if kernel and report are."""
        lines = outputs.stdout.splitlines(keepends=True)
        kernel = "".join(line for line in lines if not line.startswith("mpiP: "))
        npb.kernel_metrics(replace(outputs, stdout=kernel))
        report = collected(outputs.files, _REPORT)
        asked = outputs.parameters
        application, mpi = read_times(report, asked["ranks"])
        program = search_text(r"^@ Command : \S*/(\S+) *$", report, "program")
        require_equal(program, f"{asked['kernel']}.{asked['class']}.x", "program of the report")
        wall = outputs.wall_seconds[0] if outputs.wall_seconds else 0.0
        if not mpi <= application < wall:
            raise Refused("unparsable", "the time in MPI, of the program and of the run disagree")
        return Parsed(
            valid=True,
            metrics=(
                APPLICATION.measured(application - mpi),
                MPI.measured(mpi),
                INIT.measured(wall - application),
                MPI_PART.measured(mpi / application),
            ),
        )


BENCHMARK = MpiTime()
