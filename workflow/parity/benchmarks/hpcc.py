"""HPC Challenge: HPL and all that hpcc runs beside it, in one run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from parity.benchmarks import openmpi, programs
from parity.benchmarks.description import Metric, Quantity, described
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.openmpi import first_cpus
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
    stated,
    stated_once,
)
from parity.core.spack_paths import DISTRIBUTION


class _Number(NamedTuple):
    """A key of the summary, and the metric that it times `factor` becomes.

    `section` states it, too, with other digits, where `pattern` matches, divided by `unit`.
    """

    key: str
    quantity: Quantity
    section: str
    pattern: str
    unit: float = 1.0
    factor: float = 1.0


def _number(key: str, name: str, unit: str, *section: Any) -> _Number:
    """A metric that people call by its name alone; of times, less is better."""
    better = "lower" if unit == "us" else "higher"
    return _Number(key, Quantity(name, name.replace("_", " "), unit, better), *section)


def _rates(test: str, name: str, unit: str, words: str) -> tuple[_Number, ...]:
    """A rate of one rank alone, and the mean of all ranks at once (hpcc's `Star`).

    Args:
        words: what stands before the number in the section of the single rank; before the
            mean, the test's own name is left out.
    """
    section, _ = test.split("_")
    mean = words.removeprefix(section).strip()
    return tuple(
        _number(
            f"{mode}{test}",
            f"{name}_{mode.lower()}",
            unit,
            f"{mode}{section}",
            rf"^{said} ([0-9.]+)$",
        )
        for mode, said in (("Single", f"Single {words}"), ("Star", f"Average {mean}"))
    )


HPL = Quantity("hpl", "HPL rate", "Gflop/s", "higher")
_HPL_ROW = r"^W[A-Z0-9]+(?: +[0-9]+){4} +[0-9.]+ +([0-9.e+-]+)$"
_UPDATES = r"^([0-9.]+) Billion\(10\^9\) Updates    per second \[GUP/s\]$"
# The last line of the wall clock holds the lowest rate of all repetitions.
_TRANSPOSED = r"\A(?s:.*)^WALL .* PASSED +([0-9.]+) +[0-9.]+$"
_PING_PONG = r"^Ping Pong:\n(?:.*\n)?{} +min / avg / max: +[0-9.]+ / +([0-9.]+) / .*$"
_RING = r"^Randomly +Ordered Ring {}: +([0-9.]+) \w+/?s\w*$"

_NUMBERS = (
    _Number("HPL_Tflops", HPL, "HPL", _HPL_ROW, 1e-3, 1000.0),
    *_rates("STREAM_Copy", "stream_copy", "GB/s", "STREAM Copy GB/s"),
    *_rates("STREAM_Scale", "stream_scale", "GB/s", "STREAM Scale GB/s"),
    *_rates("STREAM_Add", "stream_add", "GB/s", "STREAM Add GB/s"),
    *_rates("STREAM_Triad", "stream_triad", "GB/s", "STREAM Triad GB/s"),
    *_rates("DGEMM_Gflops", "dgemm", "Gflop/s", "DGEMM Gflop/s"),
    *_rates("FFT_Gflops", "fft", "Gflop/s", "FFT Gflop/s"),
    _number("MPIFFT_Gflops", "fft_mpi", "Gflop/s", "MPIFFT", r"^Gflop/s: +([0-9.]+)$"),
    *_rates("RandomAccess_GUPs", "random_access", "Gup/s", "GUP/s"),
    _number("MPIRandomAccess_GUPs", "random_access_mpi", "Gup/s", "MPIRandomAccess", _UPDATES),
    _number("PTRANS_GBs", "ptrans", "GB/s", "PTRANS", _TRANSPOSED),
)

# Between ranks; hpcc writes -1 for each of them when there is a single one. The section
# states them in milliseconds and MB/s.
_NUMBERS_BETWEEN_RANKS = tuple(
    _number(
        f"{how}{key}",
        f"{name}_{what.lower()}",
        unit,
        "LatencyBandwidth",
        pattern.format(what),
        factor,
    )
    for what, key, unit, factor in (
        ("Latency", "Latency_usec", "us", 1e3),
        ("Bandwidth", "Bandwidth_GBytes", "GB/s", 1e-3),
    )
    for how, name, pattern in (
        ("AvgPingPong", "ping_pong", _PING_PONG),
        ("RandomlyOrderedRing", "ring", _RING),
    )
)
METRICS = tuple(number.quantity for number in (*_NUMBERS, *_NUMBERS_BETWEEN_RANKS))

# Sections with a check in every rank, ended by one line `Node(s) with error 0`: both
# RandomAccess generators, DGEMM, STREAM and FFT, each as Star and as Single.
_CHECKED_SECTIONS = 10
# Sections whose check rank 0 prints, and how it begins when it is passed. Of a single rank
# it prints that only if it was the one that hpcc had chosen.
_STREAM_CHECK = r"^(Solution Validates): avg error less than [0-9.e+-]+ on all three arrays$"
_TABLE_CHECK = r"^(Found) [0-9]+ errors in [0-9]+ locations \(passed\)\.$"
_CHECKS_OF_RANK_0 = (
    *((f"{mode}STREAM", _STREAM_CHECK) for mode in ("Star", "Single")),
    *(
        (f"{mode}RandomAccess{generator}", _TABLE_CHECK)
        for mode in ("MPI", "Star", "Single")
        for generator in ("", "_LCG")
    ),
)
_END = r"End of HPC Challenge tests\.\nCurrent time [^\n]*\n\n#{72}"


def process_grid(parameters: Mapping[str, Any]) -> tuple[int, int]:
    """Rows and columns of the process grid, whose product is the number of ranks.

    On an allocation it is as square as the number of ranks allows, with no more rows than
    columns, as HPL's documentation advises; elsewhere the study says it.
    """
    if "ranks" not in parameters:
        return parameters["p"], parameters["q"]
    ranks = parameters["ranks"]
    rows = next(row for row in range(math.isqrt(ranks), 0, -1) if ranks % row == 0)
    return rows, ranks // rows


def read_metrics(text: str, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All metrics of one run; hpcc appends to its file, so a second run is looked for.

    Raises:
        Refused: not one whole run of hpcc (`truncated`, `unparsable`, `several-runs`), a
            check failed (`residual-failed`, `validation-failed`), another problem than the
            one asked for was solved (`wrong-size`), or the summary says something else
            than the sections (`contradictory`).
    """
    require_complete(text, "HPC Challenge Benchmark", _END)
    sections = read_sections(text)
    summary = read_summary(sections)
    rows, columns = process_grid(parameters)
    for key, asked in (
        ("CommWorldProcs", rows * columns),
        ("HPL_nprow", rows),
        ("HPL_npcol", columns),
        ("HPL_N", parameters["n"]),
        ("HPL_NB", parameters["nb"]),
    ):
        require_equal(stated(summary, key), asked, key)
    check_residuals(text)
    check_validations(text, sections, summary)
    _check_rate_of_hpl(summary, parameters["n"])
    numbers = _NUMBERS + (_NUMBERS_BETWEEN_RANKS if rows * columns > 1 else ())
    return tuple(_metric(number, summary, sections) for number in numbers)


def _metric(number: _Number, summary: Mapping[str, str], sections: Mapping[str, str]) -> Metric:
    """A number of the summary, which must be what its section states."""
    value, key = stated(summary, number.key), number.key
    there = printed(search_text(number.pattern, stated(sections, number.section), key), key)
    there *= Printed(number.unit)
    require_agreement(printed(value, key), there, f"{key} in the summary and in its section")
    return number.quantity.measured(positive(value, key) * number.factor)


def _check_rate_of_hpl(summary: Mapping[str, str], order: int) -> None:
    """Rate times time must be the operations: 2/3 n³ + 3/2 n² (HPL's own formula)."""
    rate, time = (printed(stated(summary, key), key) for key in ("HPL_Tflops", "HPL_time"))
    operations = Printed((2 / 3 * order**3 + 3 / 2 * order**2) / 1e12)
    require_agreement(rate * time, operations, "HPL's rate times time, and its operations")


def read_sections(text: str) -> dict[str, str]:
    """The text of each section by its name."""
    begun = r"Begin of (\w+) section\.\n((?:.*\n)*?)End of \1 section\.$"
    return stated_once(_lines(begun, text))


def _lines(pattern: str, text: str) -> list[Any]:
    """What matches from the beginning of a line on; six times as fast as with ^ before it."""
    return re.findall(rf"\n{pattern}", f"\n{text}", re.MULTILINE)


def read_summary(sections: Mapping[str, str]) -> dict[str, str]:
    """The `key=value` lines of the summary."""
    lines = (line.partition("=") for line in stated(sections, "Summary").splitlines())
    return stated_once((key, value) for key, _, value in lines)


def check_residuals(text: str) -> None:
    """The residuals of HPL and of PTRANS, which print and count theirs in the same way.

    Raises:
        Refused: one failed, or HPL's is missing.
    """
    outcomes = _lines(r"\|\|Ax-b\|\|_oo/.* \.{6} (\w+)$", text)
    failed = _lines(r" +([0-9]+) tests completed and failed residual checks", text)
    if len(outcomes) != 1 or len(failed) != 2:
        raise Refused("unparsable", "the residual checks of HPL or PTRANS are missing")
    if any(outcome != "PASSED" for outcome in outcomes) or any(count != "0" for count in failed):
        raise Refused("residual-failed", "a residual of HPL or PTRANS is above its threshold")


def check_validations(text: str, sections: Mapping[str, str], summary: Mapping[str, str]) -> None:
    """The verdict of hpcc, the checks that rank 0 prints, and the errors that ranks count.

    Raises:
        Refused: one of them failed or is missing.
    """
    if stated(summary, "Success") != "1":
        raise Refused("validation-failed", "hpcc says that it did not succeed")
    for name, passed in _CHECKS_OF_RANK_0:
        section = stated(sections, name)
        here = not name.startswith("Single") or "\nNode selected 0\n" in section
        found = len(re.findall(passed, section, re.MULTILINE))
        if found != here or "Failed Validation" in section or "(failed)" in section:
            raise Refused("validation-failed", f"{name} does not say that its result is right")
    errors = _lines(r"Node\(s\) with error (\S+)$", text)
    if len(errors) != _CHECKED_SECTIONS or any(count != "0" for count in errors):
        raise Refused("validation-failed", "a rank counts an error in its own test")


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
        return self if provider == DISTRIBUTION else programs.in_toolchain(BY_SPACK, provider)

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

    spack_packages = (programs.SpackPackage("hpcc", "1.5.0"),)
    binaries = (programs.program_path("hpcc", "hpcc"), openmpi.LAUNCHER)


BENCHMARK = HpcChallenge()
BY_SPACK = BySpack()
