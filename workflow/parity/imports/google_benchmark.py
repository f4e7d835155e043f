"""What Google Benchmark exports (`--benchmark_out`): times and rates of each benchmark.

A file is one run of the program, called `<arm>-<block>.json`; of repetitions it is their median.
"""

from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from parity.core.errors import UserError
from parity.imports.rows import Converter, Options, Row, as_name, named, number_of, report_of

TIMES, RATES = ("real_time", "cpu_time"), {"items_per_second": "1/s", "bytes_per_second": "B/s"}


def rows(path: Path, options: Options) -> list[Row]:
    """`./benchmark --benchmark_out=podman-1.json --benchmark_out_format=json`."""
    arm, block = named(path, "json")
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in report_of(path, dict[str, Any]).get("benchmarks") or ():
        if not isinstance(run, dict) or "name" not in run:
            raise UserError("a benchmark has no name", where=str(path))
        # What it calculates of repetitions is no measurement.
        if run.get("run_type", "iteration") == "iteration":
            runs[str(run.get("run_name", run["name"]))].append(run)
    if not runs:
        raise UserError("these are no results of Google Benchmark", where=str(path))
    return [row for name, of in runs.items() for row in _rows(name, of, arm, block, path)]


def _rows(name: str, runs: list[dict[str, Any]], arm: str, block: str, path: Path) -> list[Row]:
    where = f"{path}: {name}"
    lost = Row(block, as_name(name), arm, valid=False, source=name, where=where, told=(name, arm))
    units = dict.fromkeys(TIMES, str(runs[0].get("time_unit", "ns"))) | RATES
    made = []
    for metric, unit in units.items():
        values = [number_of(run[metric]) for run in runs if metric in run]
        good = [value for value in values if value is not None]
        if good and not any(run.get("error_occurred") or run.get("skipped") for run in runs):
            better = "lower" if metric in TIMES else "higher"
            made.append(lost._replace(metric=metric, value=median(good), unit=unit, better=better,
                                      valid=len(good) == len(runs)))  # fmt: skip
    return made or [lost]


CONVERTER = Converter.of_json(
    "google-benchmark", "results of Google Benchmark", rows, "context", "benchmarks"
)
