"""How large the work was that a benchmark chose by the node, as the records tell it."""

from __future__ import annotations

import json

import pandas as pd

from parity.benchmarks import benchmarks
from parity.benchmarks.model import Benchmark
from parity.core.wording import listed


def recorded_sizes(runs: pd.DataFrame) -> dict[str, str]:
    """The size of each case's work, in words; empty where its parameters say all.

    The same parameters are another problem on a node with another cache, and on nodes that
    differ they are several: then all sizes are listed.

    Args:
        runs: the table RUNS; only final valid runs count.
    """
    counted = runs[runs["final"] & (runs["stage"] == "valid")]
    known, found = benchmarks(), dict[str, set[str]]()
    commands = counted[["benchmark", "case", "command"]].drop_duplicates()
    for benchmark, case, command in commands.itertuples(index=False, name=None):
        if benchmark in known and command:
            found.setdefault(case, set()).add(known[benchmark].size(json.loads(command)))
    return {case: listed(sorted(sizes)) for case, sizes in found.items()}


def choosing_size(benchmark: Benchmark) -> set[str]:
    """The parameters of a benchmark that do nothing but choose this size."""
    return {name for name, rule in benchmark.parameters.items() if rule.get("chooses_size")}
