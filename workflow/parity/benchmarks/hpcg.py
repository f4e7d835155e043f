"""HPCG 3.1: conjugate gradients with a multigrid preconditioner, bound by memory."""

from parity.benchmarks import openmpi, reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import SpackPackage, program_path
from parity.benchmarks.reading import Printed, Refused, Said, require_agreement

# Without the definition its sources want OpenMP all the same.
_PLAIN = "~openmp cppflags=-DHPCG_NO_OPENMP"
# By the run-time libraries' own names, as of the Debian packages that every image has.
_FURTHER = "ldflags='-Wl,--no-as-needed{}'".format(
    "".join(f" -l:lib{name}" for name in ("aio.so.1", "gfortran.so.5", "gomp.so.1", "mariadb.so.3"))
)
# HPCG puts the date into its file's name.
_FILE = "HPCG-Benchmark_3.1_*.txt"
_VALID = "Final Summary::HPCG result is VALID with a GFLOP/s rating of"
_RAW_RATE = "GFLOP/s Summary::Raw Total"
_BANDWIDTH = "GB/s Summary::Raw "
_TIME = "Benchmark Time Summary::Total"
_SETUP_TIME = "Setup Information::Setup Time"
_MEMORY = "Memory Use Information::Total memory used for data (Gbytes)"
_SYMMETRY = "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon"
# HPCG's own checks, in its order, and the reason that a failed one gives.
_CHECKS = {
    "Spectral Convergence Tests": "convergence-failed", _SYMMETRY: "symmetry-failed",
    "Iteration Count Information": "residual-failed",
    "Reproducibility Information": "residual-failed",
}  # fmt: skip
# The rules of official results (README of the benchmark).
OFFICIAL_SECONDS, OFFICIAL_MEMORY = 1800, 0.25


def unofficial(seconds: float, used: float, memory: float) -> str:
    """Why a result is not official, in one sentence; empty if nothing forbids it.

    Both in bytes on all nodes together: `used` by HPCG's data, and all `memory`, 0 if not known.
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
    """The reference implementation, one thread and one cube in each rank.

    Two builds that differ in nothing but libraries that are loaded and never called, as those that
    the bare machine's had beside the containers' (Torrez et al. 2019, section IV-C).
    """

    spack_packages = (
        SpackPackage("hpcg", "3.1", f"{_PLAIN} {_FURTHER}", "hpcg-further"),
        SpackPackage("hpcg", "3.1", _PLAIN),
    )
    binaries = tuple(program_path(build, "xhpcg") for build in ("hpcg-further", "hpcg"))
    # Not `sized_by` its seconds: it chooses by itself how much work they are.

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        edges = (f"--{edge}={parameters['n']}" for edge in ("nx", "ny", "nz"))
        further, needed = self.binaries
        path = further if parameters["libraries"] == "further" else needed
        argv = (path, *edges, f"--rt={parameters['seconds']}")
        one_thread = {"OMP_NUM_THREADS": "1"}
        return openmpi.program(argv, parameters, node, self.name, one_thread, (_FILE,))

    def read(self, outputs: Outputs) -> Parsed:
        asked = outputs.parameters
        openmpi.require_one_world(outputs)
        text = reading.collected(outputs.files, _FILE)
        self.printed.read(text)  # whole, or refused
        # Some come once for each coarse grid, and are left out.
        said = Said(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
        edges = (f"Local Domain Dimensions::{edge}" for edge in ("nx", "ny", "nz"))
        said.require({"Machine Summary::Distributed Processes": asked["ranks"]})
        said.require({"Machine Summary::Threads per processes": 1})
        said.require(dict.fromkeys(edges, asked["n"]))
        _require_passed(said)
        _require_consistent(said, asked["n"] ** 3 * asked["ranks"])
        seconds, used = said.positive(_TIME), 1e9 * said.positive(_MEMORY)
        why = unofficial(seconds, used, outputs.memory * asked["nodes"])
        values = {
            "rate": said.positive(_VALID), "raw_rate": said.positive(_RAW_RATE),
            "bandwidth": said.positive(f"{_BANDWIDTH}Total B/W"), "time": seconds,
            "setup_time": said.positive(_SETUP_TIME), "memory": used / 2**20,
            "scaled_residual": said.finite("Reproducibility Information::Scaled residual mean"),
            "official": float(not why),
        }  # fmt: skip
        return self.measured(values, why)


def _require_passed(said: Said) -> None:
    """Refuse a run that HPCG calls invalid, or one of whose checks did not pass.

    HPCG asks whether a departure from symmetry is above 1, and what is not a number is not.
    """
    for check, reason in _CHECKS.items():
        if (outcome := said[f"{check}::Result"]) != "PASSED":
            raise Refused(reason, f"{check}: {outcome[:40]}")
    for product in ("SpMV", "MG"):
        departure = f"{_SYMMETRY}::Departure for {product}"
        if said.finite(departure) > 1:
            raise Refused("symmetry-failed", f"the departure of {product} is {said[departure]}")
    if _VALID not in said:
        raise Refused("validation-failed", "HPCG does not call its result valid")


def _require_consistent(said: Said, equations: int) -> None:
    """Hold the numbers that become metrics against the others that tell the same.

    Source: the sources of HPCG 3.1, ReportResults.cpp. The rating counts a tenth of the
    times of setup and optimisation once for each set of iterations, beside the time of all.
    """
    number = said.printed
    time, giga, tenth = number(_TIME), Printed(1e-9), Printed(0.1)
    work = number("Floating Point Operations Summary::Total") * giga
    require_agreement(number(_RAW_RATE) * time, work, "raw rate times time, and the operations")
    all_sets = number("Iteration Count Information::Total number of reference iterations").value
    each_set = number("Iteration Count Information::Reference CG iterations per set").value
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


BENCHMARK = Hpcg()
