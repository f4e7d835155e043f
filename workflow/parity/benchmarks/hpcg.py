"""HPCG 3.1: conjugate gradients with a multigrid preconditioner, bound by memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.benchmarks import openmpi, programs
from parity.benchmarks.description import Quantity, described
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
    stated,
    stated_once,
)

# HPCG puts the date into its file's name.
_FILE = "HPCG-Benchmark_3.1_*.txt"

# The last line of a complete file: of a short run, of an official one, of a failed one.
_END = (
    r"Final Summary::("
    r"Official results execution time \(sec\) must be at least=1800"
    r"|Please upload results from the YAML file contents to=[^\n]+"
    r"|Please review the YAML file contents=[^\n]+)"
)
_VALID = "Final Summary::HPCG result is VALID with a GFLOP/s rating of"
_RAW_RATE = "GFLOP/s Summary::Raw Total"
_BANDWIDTH = "GB/s Summary::Raw "
_SETUP_TIME = "Setup Information::Setup Time"
_MEMORY = "Memory Use Information::Total memory used for data (Gbytes)"
_SYMMETRY = "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon"

# HPCG's own checks, in its order, and the reason that a failed one gives.
_CHECKS = (
    ("Spectral Convergence Tests", "convergence-failed"),
    (_SYMMETRY, "symmetry-failed"),
    ("Iteration Count Information", "residual-failed"),
    ("Reproducibility Information", "residual-failed"),
)

# The rules of official results (README of the benchmark).
OFFICIAL_SECONDS = 1800
OFFICIAL_MEMORY = 0.25

RATING = Quantity("rate", "HPCG rating", "Gflop/s", "higher")
RAW_RATE = Quantity("raw_rate", "raw rate", "Gflop/s", "higher")
BANDWIDTH = Quantity("bandwidth", "bandwidth", "GB/s", "higher")
TIME = Quantity("time", "computing time", "s")
SETUP_TIME = Quantity("setup_time", "setup time", "s", "lower")
MEMORY = Quantity("memory", "memory", "MiB")
RESIDUAL = Quantity("scaled_residual", "scaled residual", "1")
OFFICIAL = Quantity("official", "official", "1")


def read_values(text: str) -> dict[str, str]:
    """The `key=value` lines, without those that come once for each coarse grid."""
    lines = (line.partition("=") for line in text.splitlines() if "=" in line)
    return stated_once((key, value) for key, _, value in lines)


def unofficial(seconds: float, used: float, memory: float) -> str:
    """Why a result is not official, in one sentence; empty if nothing forbids it.

    Args:
        seconds: of the timed phase.
        used: bytes of HPCG's data on all nodes together.
        memory: bytes of all nodes together; 0 if that is not known.
    """
    lacks = []
    if seconds < OFFICIAL_SECONDS:
        lacks.append(f"{seconds:.0f} s of at least {OFFICIAL_SECONDS} s")
    if not memory:
        lacks.append("an unknown part of the memory")
    elif used < OFFICIAL_MEMORY * memory:
        lacks.append(f"{used / memory:.1%} of the memory instead of at least 25 %")
    return f"not an official HPCG result: {', '.join(lacks)}" if lacks else ""


class Hpcg(Benchmark):
    """The reference implementation, one thread in each rank."""

    name = "hpcg"
    title = "HPCG"
    # Without the definition its sources want OpenMP all the same.
    spack_packages = (programs.SpackPackage("hpcg", "3.1", "~openmp cppflags=-DHPCG_NO_OPENMP"),)
    binaries = (programs.program_path("hpcg", "xhpcg"),)
    parameters, figures, note = described(__file__, RATING)
    allocations = "required"
    starts_ranks_inside = True
    # Not `sized_by` its seconds: it chooses by itself how much work they are.
    timed = TIME.metric
    metrics = (RATING, RAW_RATE, BANDWIDTH, TIME, SETUP_TIME, MEMORY, RESIDUAL, OFFICIAL)
    primary = (RATING.metric,)

    def program(self, parameters: Mapping[str, Any], node: NodeFacts) -> Program:
        """HPCG with a cube for each rank.

        Raises:
            UserError: more ranks on a node than CPUs, or several nodes without a launcher.
        """
        edges = (f"--{edge}={parameters['n']}" for edge in ("nx", "ny", "nz"))
        argv = (*self.binaries, *edges, f"--rt={parameters['seconds']}")
        one_thread = {"OMP_NUM_THREADS": "1"}
        return openmpi.program(argv, parameters, node, self.name, one_thread, (_FILE,))

    @never_raises
    def parse(self, outputs: Outputs) -> Parsed:
        """Rating and times; valid if HPCG says so and solved what it was asked for."""
        asked = outputs.parameters
        openmpi.require_one_world(outputs)
        text = collected(outputs.files, _FILE)
        require_complete(text, "HPCG-Benchmark\nversion=3.1\n", _END)
        values = read_values(text)
        processes = stated(values, "Machine Summary::Distributed Processes")
        require_equal(processes, asked["ranks"], "ranks")
        require_equal(stated(values, "Machine Summary::Threads per processes"), 1, "threads")
        for edge in ("nx", "ny", "nz"):
            require_equal(stated(values, f"Local Domain Dimensions::{edge}"), asked["n"], edge)
        require_passed(values)
        require_consistent(values, asked["n"] ** 3 * asked["ranks"])
        return _parsed(values, outputs.memory * asked["nodes"])


def require_passed(values: Mapping[str, str]) -> None:
    """Refuse a run that HPCG calls invalid, or one of whose checks did not pass.

    HPCG asks whether a departure from symmetry is above 1, and what is not a number is not.

    Raises:
        Refused: `convergence-failed`, `symmetry-failed`, `residual-failed`, or
            `validation-failed` if HPCG does not say which.
    """
    for check, reason in _CHECKS:
        if (outcome := stated(values, f"{check}::Result")) != "PASSED":
            raise Refused(reason, f"{check}: {outcome[:40]}")
    for product in ("SpMV", "MG"):
        departure = stated(values, f"{_SYMMETRY}::Departure for {product}")
        if finite(departure, f"the departure of {product}") > 1:
            raise Refused("symmetry-failed", f"the departure of {product} is {departure}")
    if _VALID not in values:
        raise Refused("validation-failed", "HPCG does not call its result valid")


def require_consistent(values: Mapping[str, str], equations: int) -> None:
    """Hold the numbers that become metrics against the others that tell the same.

    Source: the sources of HPCG 3.1, ReportResults.cpp. The rating counts a tenth of the
    times of setup and optimisation once for each set of iterations, beside the time of all.

    Raises:
        Refused: two of them are further apart than their digits allow (`contradictory`).
    """

    def number(key: str) -> Printed:
        return printed(stated(values, key), key)

    time = number("Benchmark Time Summary::Total")
    raw, work = number(_RAW_RATE), number("Floating Point Operations Summary::Total")
    giga, tenth = Printed(1e-9), Printed(0.1)
    require_agreement(raw * time, work * giga, "raw rate times time, and the operations")
    iterations = "Iteration Count Information::"
    all_sets = number(f"{iterations}Total number of reference iterations").value
    each_set = number(f"{iterations}Reference CG iterations per set").value
    sets = Printed(all_sets // each_set if each_set else 0.0)
    overhead = number(_SETUP_TIME) + number("Benchmark Time Summary::Optimization phase")
    counted = number("Floating Point Operations Summary::Total with convergence overhead")
    took = time + sets * tenth * overhead
    require_agreement(number(_VALID) * took, counted * giga, "rating times time, and operations")
    moved = number(f"{_BANDWIDTH}Read B/W") + number(f"{_BANDWIDTH}Write B/W")
    require_agreement(moved, number(f"{_BANDWIDTH}Total B/W"), "bandwidth, and both directions")
    each = "Memory Use Information::Bytes per equation (Total memory / Number of Equations)"
    used = number(each) * Printed(equations) * giga
    require_agreement(used, number(_MEMORY), "memory, and bytes per equation")


def _parsed(values: Mapping[str, str], memory: float) -> Parsed:
    def number(key: str) -> float:
        return positive(stated(values, key), key)

    seconds = number("Benchmark Time Summary::Total")
    used = 1e9 * number(_MEMORY)
    residual = "Reproducibility Information::Scaled residual mean"
    why = unofficial(seconds, used, memory)
    return Parsed(
        valid=True,
        detail=why,
        metrics=(
            RATING.measured(number(_VALID)),
            RAW_RATE.measured(number(_RAW_RATE)),
            BANDWIDTH.measured(number(f"{_BANDWIDTH}Total B/W")),
            TIME.measured(seconds),
            SETUP_TIME.measured(number(_SETUP_TIME)),
            MEMORY.measured(used / 2**20),
            RESIDUAL.measured(finite(stated(values, residual), residual)),
            OFFICIAL.measured(float(not why)),
        ),
    )


BENCHMARK = Hpcg()
