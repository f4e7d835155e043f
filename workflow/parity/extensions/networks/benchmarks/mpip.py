"""Where the time of an MPI program goes: its own work, MPI, and what surrounds both.

A library of ours (envs/spack/repo/packages/mpi-time) is preloaded into each rank and stands
between the program and MPI. It tells three times of each rank: that in MPI_Init, that from its end
to the begin of MPI_Finalize, and the part of the latter that was spent in calls of MPI. What our
outer clock sees beyond the second is start, MPI_Init and MPI_Finalize, and in a container its
making and taking down, too. The messages that the ranks send are counted by size.

It is named after mpiP, which tells no MPI_Init, counts no messages by size without its call sites,
and whose sources are one more thing to get. Standing in between costs time, so these runs are
compared with nothing but each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.benchmarks import npb, openmpi, programs
from parity.benchmarks.description import Quantity
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Printed,
    Refused,
    collected,
    finite,
    never_raises,
    printed,
    require_agreement,
    require_equal,
)
from parity.core.commands import Availability

REPORT = "mpi_time.csv"
# Between them messages and their bytes, by size.
_COLUMNS = ("rank", "init", "whole", "mpi", "collectives", "given")


def library(toolchain: str) -> str:
    """The library that is preloaded."""
    return programs.library_path("mpi-time", "libmpitime.so", toolchain)


APPLICATION = Quantity("application", "own work", "s", "lower")
MPI = Quantity("mpi", "time in MPI", "s", "lower")
MPI_INIT = Quantity("mpi_init", "MPI_Init", "s", "lower")
INIT = Quantity("init", "start, init, end", "s", "lower", clock="external")
MPI_PART = Quantity("mpi_part", "mpi part", "1")
# Of all ranks together.
MESSAGES = Quantity("messages", "messages", "1")
SENT = Quantity("sent", "sent in messages", "B")
COLLECTIVES = Quantity("collectives", "collective calls", "1")
GIVEN = Quantity("given", "given to collectives", "B")


def read_sums(text: str, ranks: int) -> dict[str, float]:
    """The sums over all ranks of what the library wrote, by column.

    Raises:
        Refused: a row is missing or of something else (`truncated`, `unparsable`), there are other
            ranks (`wrong-size`), or the rows and their sum contradict each other.
    """
    head, *rows = [line.split(",") for line in text.splitlines()] or [[]]
    if not rows or rows[-1][0] != "all":
        raise Refused("truncated", "the times of the ranks end before their sum")
    if (*head[:4], *head[-2:]) != _COLUMNS or any(len(row) != len(head) for row in rows):
        raise Refused("unparsable", "a row has not the columns that the library writes")
    numbers = ",".join(row[0] for row in rows[:-1])
    require_equal(numbers, ",".join(map(str, range(ranks))), "ranks")
    sums = {}
    for name, *words in list(zip(head, *rows, strict=True))[1:]:
        # Counts have no decimals and are exact.
        *each, total = (
            printed(word, name) if "." in word else Printed(finite(word, name)) for word in words
        )
        require_agreement(sum(each, Printed(0)), total, f"{name} of the ranks, and their sum")
        sums[name] = total.value
    return sums


class MpiTime(Benchmark):
    """A kernel of NPB with our library in front of MPI."""

    name = "mpip"
    title = "Time in MPI"
    spack_packages = (programs.SpackPackage("mpi-time", "1"), *npb.Npb.spack_packages)
    binaries = npb.Npb.binaries
    factors = npb.Npb.factors
    parameters = npb.Npb.parameters
    allocations = "required"
    starts_ranks_inside = True
    metrics = (APPLICATION, MPI, MPI_INIT, INIT, MPI_PART, MESSAGES, SENT, COLLECTIVES, GIVEN)
    primary = (APPLICATION.metric, MPI.metric, MPI_INIT.metric, INIT.metric)
    differences = (MPI.metric, INIT.metric)

    def probe(self) -> Availability:
        """Whether library and kernels are built."""
        return programs.built_by_spack(
            (library(self.toolchain), *self.binaries), self.spack_packages
        )

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The kernel of this case; the library is preloaded into it and into nothing before it.

        Raises:
            UserError: as of the kernel by itself.
        """
        preload = ("/usr/bin/env", f"LD_PRELOAD={library(self.toolchain)}")
        argv = (*preload, *npb.kernel_words(parameters, self.toolchain))
        return openmpi.program(argv, parameters, node, self.name, {}, (REPORT,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Means of all ranks, and sums of what they sent; valid if kernel and report are."""
        npb.kernel_values(outputs)
        ranks = outputs.parameters["ranks"]
        sums = read_sums(collected(outputs.files, REPORT), ranks)
        init, whole, mpi = (sums[name] / ranks for name in ("init", "whole", "mpi"))
        wall = outputs.wall_seconds[0] if outputs.wall_seconds else 0.0
        if not (0 < mpi <= whole and init + whole < wall):
            raise Refused("unparsable", "the time in MPI, of the program and of the run disagree")
        messages, sent = (
            sum(value for name, value in sums.items() if name.startswith(what))
            for what in ("messages_", "bytes_")
        )
        return Parsed(
            valid=True,
            metrics=(
                APPLICATION.measured(whole - mpi),
                MPI.measured(mpi),
                MPI_INIT.measured(init),
                INIT.measured(wall - whole),
                MPI_PART.measured(mpi / whole),
                MESSAGES.measured(messages),
                SENT.measured(sent),
                COLLECTIVES.measured(sums["collectives"]),
                GIVEN.measured(sums["given"]),
            ),
        )


BENCHMARK = MpiTime()
