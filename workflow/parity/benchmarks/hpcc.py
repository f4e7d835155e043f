"""HPC Challenge: HPL and all that hpcc runs beside it, in one run."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from parity.benchmarks import openmpi, reading
from parity.benchmarks.model import Asked, Benchmark, NodeFacts, Outputs, Parsed, Program
from parity.benchmarks.programs import SpackPackage, program_path
from parity.benchmarks.reading import Printed, Refused, Said, found_by
from parity.core.documents import Document

_HERE = Path(__file__)
# The order of lines is the format (hpcc's README); what varies is marked.
_INPUT = _HERE.with_name("hpccinf.txt").read_text(encoding="utf-8")
OUTPUT = "hpccoutf.txt"
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_END = r"End of HPC Challenge tests\.\nCurrent time [^\n]*\n\n#{72}"


class _Number(Document, frozen=True):
    key: str
    metric: str
    section: str
    pattern: str
    unit: float = 1.0
    factor: float = 1.0


class _Summary(Document, frozen=True):
    """The numbers and checks of hpcc_summary.yaml, which says what they are."""

    of_all: tuple[_Number, ...]
    between_ranks: tuple[_Number, ...]
    checks_of_rank_0: dict[str, str]


_SUMMARY = msgspec.yaml.decode(_HERE.with_name("hpcc_summary.yaml").read_bytes(), type=_Summary)
# Sections with a check in every rank, ended by one line `Node(s) with error 0`: both
# RandomAccess generators, DGEMM, STREAM and FFT, each as Star and as Single.
_CHECKED_SECTIONS = 10


def process_grid(parameters: Asked) -> tuple[int, int]:
    """Rows and columns of the process grid: the study's or, on an allocation, the squarest."""
    if not (ranks := parameters.get("ranks")):
        return parameters["p"], parameters["q"]
    # No more rows than columns, as HPL's documentation advises.
    rows = next(row for row in range(math.isqrt(ranks), 0, -1) if ranks % row == 0)
    return rows, ranks // rows


def input_file(parameters: Asked) -> str:
    """hpccinf.txt for one problem size, block size and process grid."""
    rows, columns = process_grid(parameters)
    return _INPUT.format(n=parameters["n"], nb=parameters["nb"], p=rows, q=columns)


def gflop(order: int) -> float:
    """Operations of HPL in 10⁹, by its own formula."""
    return (2 / 3 * order**3 + 3 / 2 * order**2) / 1e9


def read_values(text: str, parameters: Asked) -> dict[str, float]:
    """All metrics of one run; hpcc appends to its file, so a second run is looked for.

    Raises Refused: not one whole run of hpcc (`truncated`, `unparsable`, `several-runs`), a check
    failed (`residual-failed`, `validation-failed`), it was another problem (`wrong-size`), or
    summary and sections differ (`contradictory`).
    """
    reading.require_complete(text, "HPC Challenge Benchmark", _END)
    sections = Said(_sections(text))
    summary = Said(line.partition("=")[::2] for line in sections["Summary"].splitlines())
    (rows, columns), order = process_grid(parameters), parameters["n"]
    grid = {"CommWorldProcs": rows * columns, "HPL_nprow": rows, "HPL_npcol": columns}
    summary.require({**grid, "HPL_N": order, "HPL_NB": parameters["nb"]})
    _require_passed(text, sections, summary)
    operations = Printed(gflop(order) / 1e3)
    done = summary.printed("HPL_Tflops") * summary.printed("HPL_time")
    reading.require_agreement(done, operations, "HPL's rate times time, and its operations")
    numbers = _SUMMARY.of_all + (_SUMMARY.between_ranks if rows * columns > 1 else ())
    stated = [reading.said_by({it.key: it.pattern}, sections[it.section]) for it in numbers]
    values = {}
    for number, said in zip(numbers, stated, strict=True):
        key, there = number.key, said.printed(number.key) * Printed(number.unit)
        both = f"{key} in the summary and in its section"
        reading.require_agreement(summary.printed(key), there, both)
        values[number.metric] = summary.positive(key) * number.factor
    return values


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """The text of each section by its name; one that does not end before the next is none."""
    name, begin, text = "", 0, f"\n{text}"
    for mark in re.finditer(r"\n(Begin|End) of (\w+) section\.$", text, re.MULTILINE):
        if mark[1] == "Begin":
            if not name:
                name, begin = mark[2], mark.end() + 1
        elif mark[2] == name:
            yield name, text[begin : mark.start() + 1]
            name = ""


def _require_passed(text: str, sections: Said, summary: Said) -> None:
    """The residuals of HPL and PTRANS, hpcc's verdict, and the checks of all ranks."""
    outcomes = found_by(r"^\|\|Ax-b\|\|_oo/.* \.{6} (\w+)$", text)
    failed = found_by(r"^ +([0-9]+) tests completed and failed residual checks", text)
    if len(outcomes) != 1 or len(failed) != 2:
        raise Refused("unparsable", "the residual checks of HPL or PTRANS are missing")
    if any(outcome != "PASSED" for outcome in outcomes) or any(count != "0" for count in failed):
        raise Refused("residual-failed", "a residual of HPL or PTRANS is above its threshold")
    if summary["Success"] != "1":
        raise Refused("validation-failed", "hpcc says that it did not succeed")
    for name, passed in _SUMMARY.checks_of_rank_0.items():
        section = sections[name]
        here = not name.startswith("Single") or "\nNode selected 0\n" in section
        times = len(found_by(f"^{passed}", section))
        if times != here or "Failed Validation" in section or "(failed)" in section:
            raise Refused("validation-failed", f"{name} does not say that its result is right")
    errors = found_by(r"^Node\(s\) with error (\S+)$", text)
    if len(errors) != _CHECKED_SECTIONS or any(count != "0" for count in errors):
        raise Refused("validation-failed", "a rank counts an error in its own test")


class HpcChallenge(Benchmark):
    """hpcc of the University of Tennessee, with Debian's Open MPI and OpenBLAS."""

    binaries = ("/usr/bin/hpcc", openmpi.LAUNCHER)
    by_spack = ((SpackPackage("hpcc", "1.5.0"),), (program_path("hpcc", "hpcc"), openmpi.LAUNCHER))
    # Not `sized_by` n: HPL's work grows with its cube, and each of hpcc's tests otherwise.

    def program(self, parameters: Asked, node: NodeFacts) -> Program:
        files = {"hpccinf.txt": input_file(parameters)}
        if "ranks" not in parameters:
            # Without an allocation the launcher runs inside of the arm.
            cpus = node.first_cpus(parameters["p"] * parameters["q"], "hpcc: p times q")
            words = openmpi.launch_words(self.binaries[:1], cpus)
            return Program(words, cpus, {**openmpi.INSIDE, **_ONE_THREAD}, files, (OUTPUT,))
        alone = Program(self.binaries[:1], (), _ONE_THREAD, files, (OUTPUT,))
        return openmpi.in_one_world(alone, parameters, node, "hpcc: allocations, ranks of one node")

    def timed_seconds(self, outputs: Outputs) -> float:
        """HPL's own time: the study does not compare what hpcc runs beside it."""
        time = re.search(r"^HPL_time=([\d.]+)$", outputs.files.get(OUTPUT, ""), re.MULTILINE)
        return float(time[1]) if time and time[1].count(".") < 2 else 0.0

    def seconds_of(self, metric: str, value: float, parameters: Asked) -> float:
        """HPL's own time, by its rate; what others measured may not say the matrix' order."""
        known = metric == "hpl" and value > 0 and "n" in parameters
        return gflop(parameters["n"]) / value if known else 0.0

    def read(self, outputs: Outputs) -> Parsed:
        if "ranks" in outputs.parameters:
            openmpi.require_one_world(outputs)
        return self.measured(read_values(outputs.files.get(OUTPUT, ""), outputs.parameters))


BENCHMARK = HpcChallenge()
