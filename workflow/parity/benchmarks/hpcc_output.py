"""Reads hpccoutf.txt: first the checks that hpcc makes of itself, then its summary."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from parity.benchmarks.metrics import Metric, Quantity
from parity.benchmarks.reading import Refused, positive, require_complete, require_equal


class _Number(NamedTuple):
    """A key of the summary, and the metric that it times `factor` becomes."""

    key: str
    quantity: Quantity
    factor: float = 1.0


def _number(key: str, name: str, unit: str, better: str = "higher") -> _Number:
    """A metric that people call by its name alone."""
    return _Number(key, Quantity(name, name.replace("_", " "), unit, better))


def _rates(test: str, name: str, unit: str) -> tuple[_Number, ...]:
    """A rate of one rank alone, and the mean of all ranks at once (hpcc's `Star`)."""
    return tuple(
        _number(f"{mode}{test}", f"{name}_{mode.lower()}", unit) for mode in ("Single", "Star")
    )


HPL = Quantity("hpl", "HPL rate", "Gflop/s", "higher")
_NUMBERS = (
    _Number("HPL_Tflops", HPL, 1000.0),
    *_rates("STREAM_Copy", "stream_copy", "GB/s"),
    *_rates("STREAM_Scale", "stream_scale", "GB/s"),
    *_rates("STREAM_Add", "stream_add", "GB/s"),
    *_rates("STREAM_Triad", "stream_triad", "GB/s"),
    *_rates("DGEMM_Gflops", "dgemm", "Gflop/s"),
    *_rates("FFT_Gflops", "fft", "Gflop/s"),
    _number("MPIFFT_Gflops", "fft_mpi", "Gflop/s"),
    *_rates("RandomAccess_GUPs", "random_access", "Gup/s"),
    _number("MPIRandomAccess_GUPs", "random_access_mpi", "Gup/s"),
    _number("PTRANS_GBs", "ptrans", "GB/s"),
)

# Between ranks; hpcc writes -1 for each of them when there is a single one.
_NUMBERS_BETWEEN_RANKS = (
    _number("AvgPingPongLatency_usec", "ping_pong_latency", "us", "lower"),
    _number("RandomlyOrderedRingLatency_usec", "ring_latency", "us", "lower"),
    _number("AvgPingPongBandwidth_GBytes", "ping_pong_bandwidth", "GB/s"),
    _number("RandomlyOrderedRingBandwidth_GBytes", "ring_bandwidth", "GB/s"),
)
METRICS = tuple(number.quantity for number in (*_NUMBERS, *_NUMBERS_BETWEEN_RANKS))

# Sections with a check in every rank, ended by one line `Node(s) with error 0`: both
# RandomAccess generators, DGEMM, STREAM and FFT, each as Star and as Single.
_CHECKED_SECTIONS = 10
_END = r"End of HPC Challenge tests\.\nCurrent time [^\n]*\n\n#{72}\n"


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
    """All metrics of one run.

    Raises:
        Refused: truncated or not of hpcc (`truncated`, `unparsable`), a check failed
            (`residual-failed`, `validation-failed`), or another problem than the one
            asked for was solved (`wrong-size`).
    """
    require_complete(text, "HPC Challenge Benchmark", _END)
    summary = read_summary(text)
    rows, columns = process_grid(parameters)
    for key, asked in (
        ("CommWorldProcs", rows * columns),
        ("HPL_nprow", rows),
        ("HPL_npcol", columns),
        ("HPL_N", parameters["n"]),
        ("HPL_NB", parameters["nb"]),
    ):
        require_equal(_value(summary, key), asked, key)
    check_residuals(text)
    check_validations(text, summary)
    numbers = _NUMBERS + (_NUMBERS_BETWEEN_RANKS if rows * columns > 1 else ())
    return tuple(
        number.quantity.measured(positive(_value(summary, number.key), number.key) * number.factor)
        for number in numbers
    )


def read_summary(text: str) -> dict[str, str]:
    """The `key=value` lines between the summary's begin and end."""
    _, _, rest = text.partition("Begin of Summary section.\n")
    body, end, _ = rest.partition("End of Summary section.\n")
    if not end:
        raise Refused("unparsable", "the output has no summary section")
    return dict(line.split("=", 1) for line in body.splitlines() if "=" in line)


def _value(summary: Mapping[str, str], key: str) -> str:
    if key not in summary:
        raise Refused("unparsable", f"the summary has no {key}")
    return summary[key]


def check_residuals(text: str) -> None:
    """The residuals of HPL and of PTRANS, which print and count theirs in the same way.

    Raises:
        Refused: one failed, or HPL's is missing.
    """
    outcomes = re.findall(r"^\|\|Ax-b\|\|_oo/.* \.{6} (\w+)$", text, re.MULTILINE)
    failed = re.findall(r"^ +([0-9]+) tests completed and failed residual checks", text, re.M)
    if not outcomes or len(failed) != 2:
        raise Refused("unparsable", "the residual checks of HPL or PTRANS are missing")
    if any(outcome != "PASSED" for outcome in outcomes) or any(count != "0" for count in failed):
        raise Refused("residual-failed", "a residual of HPL or PTRANS is above its threshold")


def check_validations(text: str, summary: Mapping[str, str]) -> None:
    """The verdict of hpcc, that of STREAM validation, and the errors that single ranks count.

    Raises:
        Refused: one of them failed or is missing.
    """
    if _value(summary, "Success") != "1":
        raise Refused("validation-failed", "hpcc says that it did not succeed")
    if "\nSolution Validates" not in text:
        raise Refused("validation-failed", "STREAM does not say that its solution validates")
    errors = re.findall(r"^Node\(s\) with error (\S+)$", text, re.MULTILINE)
    if len(errors) != _CHECKED_SECTIONS or any(count != "0" for count in errors):
        raise Refused("validation-failed", "a rank counts an error in its own test")
    tables = re.findall(r"^Found .* errors in .* locations \((\w+)\)\.$", text, re.MULTILINE)
    if not tables or any(outcome != "passed" for outcome in tables):
        raise Refused("validation-failed", "RandomAccess finds too many errors in its table")
