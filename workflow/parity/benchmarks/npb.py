"""NAS Parallel Benchmarks 3.4, MPI: six kernels, each with a verification of its own."""

import math

from parity.benchmarks import openmpi
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program, described
from parity.benchmarks.programs import SpackPackage, program_path
from parity.benchmarks.reading import Layout, Printed, Refused, Said, require_agreement
from parity.core.errors import UserError
from parity.core.spack_paths import TOOLCHAIN

_DESCRIBED = described(__file__)
KERNELS: tuple[str, ...] = _DESCRIBED["factors"]["kernel"]
CLASSES: tuple[str, ...] = tuple(_DESCRIBED["parameters"]["class"]["enum"])
_PRINTED: Layout = _DESCRIBED["printed"]


def kernel_path(kernel: str, size: str, toolchain: str = TOOLCHAIN) -> str:
    """The program of one kernel and class."""
    return program_path("npb", f"{kernel}.{size}.x", toolchain)


def kernel_words(parameters: Asked, toolchain: str) -> tuple[str, ...]:
    """The command of one rank; `UserError` where kernels cannot divide their grids by the ranks."""
    ranks = parameters["ranks"]
    if ranks & (ranks - 1):
        problem = f"the kernels of NPB run on a power of two ranks, not on {ranks}"
        raise UserError(problem, where="npb: allocations", allowed="1, 2, 4, 8, … ranks")
    return (kernel_path(parameters["kernel"], parameters["class"], toolchain),)


def kernel_values(outputs: Outputs) -> dict[str, float]:
    """Rate in Mop/s and time in s of one kernel.

    The time is printed to 10 ms only, so the rate, which has more digits, is compared. Raises
    Refused: a line is missing, the kernel says that its result is wrong (`verification-failed`), it
    did something else than it was asked for, or its numbers contradict each other.
    """
    asked = outputs.parameters
    openmpi.require_one_world(outputs)
    kernel = asked["kernel"].upper()
    end = {"the kernel's end": rf"^( {kernel} Benchmark Completed)\.?$"}
    printed = Layout(f"{_PRINTED.begin}{kernel} Benchmark", _PRINTED.end, {**_PRINTED.lines, **end})
    said = printed.read(outputs.stdout)
    if said["the kernel's end"] and (outcome := said["Verification"]) != "SUCCESSFUL":
        raise Refused("verification-failed", f"{kernel}: {outcome[:40]}")
    ranks = asked["ranks"]
    said.require({"Class": asked["class"], "Total processes": ranks, "Active processes": ranks})
    rate, time = said.printed("Mop/s total"), said.printed("time")
    of_each = said.printed("Mop/s/process") * Printed(ranks)
    require_agreement(of_each, rate, "the rates of all and of each process")
    require_agreement(rate * time, operations(kernel, said), "rate times time, and the operations")
    return {"rate": said.positive("Mop/s total"), "time": time.value}


def operations(kernel: str, said: Said) -> Printed:
    """Millions of operations of one kernel, from its size and iterations.

    Source: each kernel's main program in NPB 3.4; some work out their Mop/s in single precision.
    """
    edges = list(map(int, said["Size"].split("x")))
    points, edge, times = math.prod(edges), sum(edges) / 3, int(said["Iterations"])
    if kernel == "LU":
        count = (1984.77 * points - 10923.3 * edge**2 + 27770.9 * edge - 144010.0) * times
    elif kernel == "CG":
        row = (of := int(said["nonzeroes per row"])) * (of + 1)
        count = 2.0 * times * points * (3 + row + 25 * (5 + row) + 3)
    elif kernel == "MG":
        count = 58.0 * times * points
    elif kernel == "FT":
        log = math.log(max(points, 1))
        count = points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * times)
    else:
        count = float(points * (times if kernel == "IS" else 1))
    return Printed(count / 1e6, 1e-6 * abs(count) / 1e6)


class Npb(Benchmark):
    """The kernels of Ruiz et al. 2015, in the version that replaced theirs, each of one class."""

    # Its Fortran calls one MPI function with several types, and writes hexadecimal constants as
    # X'...': gcc 10 and later refuse both. Each release of 3.4 says no more of itself than that,
    # and the lock says which it is.
    _variants = (
        f"implementation=mpi names={','.join(KERNELS)} classes={','.join(CLASSES)}"
        ' fflags="-fallow-argument-mismatch -fallow-invalid-boz"'
    )
    spack_packages = (SpackPackage("npb", "3.4", _variants),)
    binaries = tuple(kernel_path(kernel, size) for kernel in KERNELS for size in CLASSES)
    # Not `sized_by` anything: its classes are other problems, with times far apart.

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        words = kernel_words(parameters, self.toolchain)
        return openmpi.program(words, parameters, node, self.name, {})

    def read(self, outputs: Outputs) -> Parsed:
        return self.measured(kernel_values(outputs))


BENCHMARK = Npb()
