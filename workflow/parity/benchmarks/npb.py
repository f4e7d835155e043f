"""NAS Parallel Benchmarks 3.4, MPI: six kernels, each with a verification of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from parity.benchmarks import openmpi, programs
from parity.benchmarks.description import Metric, Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.reading import (
    Printed,
    Refused,
    never_raises,
    positive,
    printed,
    require_agreement,
    require_complete,
    require_equal,
    search_text,
)
from parity.core.errors import UserError
from parity.core.spack_paths import TOOLCHAIN

KERNELS = ("lu", "ep", "cg", "mg", "ft", "is")
RATE = Quantity("rate", "rate", "Mop/s", "higher")
TIME = Quantity("time", "computing time", "s", "lower")
PARAMETERS, FIGURES, NOTE = described(__file__, RATE, TIME)
CLASSES: tuple[str, ...] = tuple(PARAMETERS["class"]["enum"])


def kernel_path(kernel: str, size: str, toolchain: str = TOOLCHAIN) -> str:
    """The program of one kernel and class."""
    return programs.program_path("npb", f"{kernel}.{size}.x", toolchain)


def kernel_words(parameters: Mapping[str, Any], toolchain: str) -> tuple[str, ...]:
    """The command of one rank.

    Raises:
        UserError: a number of ranks that the kernels cannot divide their grids by.
    """
    ranks = parameters["ranks"]
    if ranks & (ranks - 1):
        raise UserError(
            f"the kernels of NPB run on a power of two ranks, not on {ranks}",
            where="npb: allocations",
            allowed="1, 2, 4, 8, … ranks",
        )
    return (kernel_path(parameters["kernel"], parameters["class"], toolchain),)


def kernel_metrics(outputs: Outputs) -> tuple[Metric, ...]:
    """Rate and time of one kernel.

    The time is printed to 10 ms only, which is coarse for the small classes; the rate is
    printed with more digits, so it is the one that is compared.

    Raises:
        Refused: a line is missing, the kernel says that its result is wrong
            (`verification-failed`), it did something else than it was asked for, or its
            numbers contradict each other.
    """
    text, asked = outputs.stdout, outputs.parameters
    openmpi.require_one_world(outputs)
    kernel = asked["kernel"].upper()
    title = f"NAS Parallel Benchmarks 3.4 -- {kernel} Benchmark"
    require_complete(text, title, r" npb@nas\.nasa\.gov")
    search_text(rf"^( {kernel} Benchmark Completed)\.?$", text, "the kernel's end")
    if (outcome := _value(text, "Verification")) != "SUCCESSFUL":
        raise Refused("verification-failed", f"{kernel}: {outcome[:40]}")
    for key, expected in (
        ("Class", asked["class"]),
        ("Total processes", asked["ranks"]),
        # Later releases of 3.4 write the whole word.
        ("Active proc(?:esse)?s", asked["ranks"]),
    ):
        require_equal(_value(text, key), expected, key)
    rate, each = (printed(_value(text, key), key) for key in ("Mop/s total", "Mop/s/process"))
    time = printed(_value(text, "Time in seconds"), "time")
    require_agreement(each * Printed(asked["ranks"]), rate, "the rates of all and of each process")
    require_agreement(rate * time, operations(kernel, text), "rate times time, and the operations")
    return (RATE.measured(positive(str(rate.value), "rate")), TIME.measured(time.value))


def operations(kernel: str, text: str) -> Printed:
    """Millions of operations of one kernel, from its size and iterations.

    Source: the sources of NPB 3.4, where each kernel's main program works out its Mop/s.
    Some of them do so in single precision.
    """
    edges = _value(text, "Size", r"[0-9]{1,15}(?: *x *[0-9]{1,5}){0,2}").split("x")
    points, edge = math.prod(map(int, edges)), sum(map(int, edges)) / 3
    times = int(_value(text, "Iterations", "[0-9]{1,9}"))
    if kernel == "LU":
        count = 1984.77 * points - 10923.3 * edge**2 + 27770.9 * edge - 144010.0
        count *= times
    elif kernel == "CG":
        nonzero = r"^ Number of nonzeroes per row: +([0-9]{1,9})$"
        row = int(search_text(nonzero, text, "nonzeroes per row"))
        row *= row + 1
        count = 2.0 * times * points * (3 + row + 25 * (5 + row) + 3)
    elif kernel == "MG":
        count = 58.0 * times * points
    elif kernel == "FT":
        log = math.log(max(points, 1))
        count = points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * times)
    else:
        count = float(points * (times if kernel == "IS" else 1))
    return Printed(count / 1e6, 1e-6 * abs(count) / 1e6)


def _value(text: str, key: str, value: str = r"\S+") -> str:
    return search_text(rf"^ {key} *= +({value}) *$", text, key)


class Npb(Benchmark):
    """The kernels of Ruiz et al. 2015, in the version that replaced theirs.

    Each is compiled for one class; the number of ranks is chosen at the start.
    """

    name = "npb"
    title = "NPB"
    # Its Fortran calls one MPI function with several types, and writes hexadecimal constants as
    # X'...': gcc 10 and later refuse both.
    spack_packages = (
        programs.SpackPackage(
            "npb",
            # Any release of 3.4: each says no more of itself, and the lock says which it is.
            "3.4",
            f"implementation=mpi names={','.join(KERNELS)} classes={','.join(CLASSES)}"
            ' fflags="-fallow-argument-mismatch -fallow-invalid-boz"',
        ),
    )
    binaries = tuple(kernel_path(kernel, size) for kernel in KERNELS for size in CLASSES)
    factors: ClassVar = {"kernel": KERNELS}
    parameters, figures, note = PARAMETERS, FIGURES, NOTE
    allocations = "required"
    starts_ranks_inside = True
    # Not `sized_by` anything: its classes are other problems, with times far apart.
    timed = TIME.metric
    metrics = (RATE, TIME)
    primary = (RATE.metric,)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """The kernel of this case.

        Raises:
            UserError: ranks that are no power of two, more of them on a node than CPUs, or
                several nodes without a launcher.
        """
        words = kernel_words(parameters, self.toolchain)
        return openmpi.program(words, parameters, node, self.name, {})

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Rate and time; valid if the kernel verified its result."""
        return Parsed(valid=True, metrics=kernel_metrics(outputs))


BENCHMARK = Npb()
