"""Where the time of an MPI program goes: its own work, MPI, and what surrounds both.

A library of ours (envs/spack/repo/packages/mpi-time), preloaded into each rank, tells three times:
that in MPI_Init, that from its end to the begin of MPI_Finalize, and the part of the latter in
calls of MPI. What our outer clock sees beyond the second is start, end, and a container's making.
"""

from parity.benchmarks import npb, openmpi, programs, reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import Printed, Refused, finite, printed, require_agreement
from parity.core.commands import Availability
from parity.core.spack_paths import view_of

REPORT = "mpi_time.csv"
_COLUMNS = ("rank", "init", "whole", "mpi", "collectives", "given")  # those by size are between


def library(toolchain: str) -> str:
    """The library that is preloaded."""
    return f"{view_of(toolchain)}/mpi-time/lib/libmpitime.so"


def read_sums(text: str, ranks: int) -> dict[str, float]:
    """The sums over all ranks of what the library wrote, by column.

    Raises Refused: a row is missing (`truncated`) or of something else (`unparsable`), there are
    other ranks (`wrong-size`), or rows and their sum contradict each other.
    """
    head, *rows = [line.split(",") for line in text.splitlines()] or [[]]
    if not rows or rows[-1][0] != "all":
        raise Refused("truncated", "the times of the ranks end before their sum")
    if (*head[:4], *head[-2:]) != _COLUMNS or any(len(row) != len(head) for row in rows):
        raise Refused("unparsable", "a row has not the columns that the library writes")
    numbers = ",".join(row[0] for row in rows[:-1])
    reading.require_equal(numbers, ",".join(map(str, range(ranks))), "ranks")
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
    """A kernel of NPB with our library in front of MPI; named after mpiP, which tells less."""

    # Standing in between costs time, so these runs are compared with nothing but each other.
    spack_packages = (programs.SpackPackage("mpi-time", "1"), *npb.Npb.spack_packages)
    binaries = npb.Npb.binaries
    factors = npb.Npb.factors
    parameters = npb.Npb.parameters

    def probe(self) -> Availability:
        files = (library(self.toolchain), *self.binaries)
        return programs.built_by_spack(files, self.spack_packages)

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        """The kernel of this case; the library is preloaded into it and into nothing before it."""
        preload = ("/usr/bin/env", f"LD_PRELOAD={library(self.toolchain)}")
        argv = (*preload, *npb.kernel_words(parameters, self.toolchain))
        return openmpi.program(argv, parameters, node, self.name, {}, (REPORT,))

    def read(self, outputs: Outputs) -> Parsed:
        """Means of all ranks, and sums of what they sent; valid if kernel and report are."""
        npb.kernel_values(outputs)
        ranks = outputs.parameters["ranks"]
        sums = read_sums(reading.collected(outputs.files, REPORT), ranks)
        init, whole, mpi = (sums[name] / ranks for name in ("init", "whole", "mpi"))
        wall = outputs.wall_seconds[0] if outputs.wall_seconds else 0.0
        if not (0 < mpi <= whole and init + whole < wall):
            raise Refused("unparsable", "the time in MPI, of the program and of the run disagree")
        messages = sum(value for name, value in sums.items() if name.startswith("messages_"))
        sent = sum(value for name, value in sums.items() if name.startswith("bytes_"))
        values = {"application": whole - mpi, "mpi": mpi, "mpi_init": init, "init": wall - whole}
        values |= {"mpi_part": mpi / whole, "messages": messages, "sent": sent}
        return self.measured(values | {name: sums[name] for name in ("collectives", "given")})


BENCHMARK = MpiTime()
