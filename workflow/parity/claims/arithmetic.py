"""The checks of published statements: each says whether one holds, and what comes out.

Their arguments are the numbers that `statements.yaml` names, in its units. `table` is Table 1
of Ruiz et al.: rows are codes, columns time_ms or percent, configuration and component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from parity.core.wording import listed

Outcome = tuple[bool, dict[str, Any]]


def spreads(
    stated: Sequence[float], times: Sequence[float], runs: Sequence[float], rates: Sequence[float]
) -> Outcome:
    """The three spreads, in %, that a paper derives from its own numbers."""
    ends = (times, runs, (min(rates), max(rates)))
    derived = [100 * (high / low - 1) for low, high in ends]
    return all(abs(a - b) < 0.05 for a, b in zip(stated, derived, strict=True)), {
        "said": listed(f"{each:g}" for each in stated),
        "derived": listed(f"{each:.2f}" for each in derived),
    }


def nodes(count: float, stated: float, cores: float) -> Outcome:
    """The number in brackets behind the largest node count."""
    return stated == count, {"all_cores": count * cores}


def stream_array(billions: float, rule: float, cut: float, cache_mib: float) -> Outcome:
    """Size of STREAM's arrays, of 8 bytes an element, against the rule of several times the cache.

    `cut`, the smallest sample of memory that was kept, stands beside it.
    """
    array = 8e9 * billions
    times = array / (rule * cache_mib * 2**20)
    return 1 <= times < 2, {
        "times": times,
        "array_gb": array / 1e9,
        "three_gib": 3 * array / 2**30,
    }


def hpcg_time(seconds: float, official: float) -> Outcome:
    """HPCG's time against its run rules."""
    return seconds >= official, {}


def hpcg_memory(
    side: float, ranks: float, memories: Sequence[float], official: float, equation_bytes: float
) -> Outcome:
    """HPCG's problem against the share of memory, in %, that its run rules ask for."""
    used = ranks * side**3 * equation_bytes
    shares = [100 * used / 2**30 / memory for memory in memories]
    return min(shares) >= official, {
        "equations": side**3,
        "used_gb": used / 1e9,
        "shares": listed(f"{share:.1f}" for share in shares),
    }


def memory_share(
    total: Sequence[float], incremental: Sequence[float], node: float, bound: float
) -> Outcome:
    """The largest addition of memory against the summary."""
    added = max(*total, *incremental)
    share = 100 * added / (node * 2**10)
    holds = share <= bound
    return holds, {"added": added, "share": share, "lies": "within" if holds else "beyond"}


def percentages(table: pd.DataFrame) -> Outcome:
    """Each percentage of the table against the times beside it."""
    times = table["time_ms"].T
    expected = 100 * times / times.groupby("configuration").transform("sum")
    agrees = (table["percent"] - expected.T).abs() <= 1
    agreeing = int(agrees.to_numpy().sum())
    return agreeing == agrees.size, {"count": agrees.size, "agreeing": agreeing}


def sums(table: pd.DataFrame) -> Outcome:
    """Whether the parts of a run make a whole."""
    wholes = table["percent"].T.groupby("configuration").sum().to_numpy()
    least, most = wholes.min(), wholes.max()
    return bool(least >= 99 and most <= 101), {"least": least, "most": most}


def maximum(table: pd.DataFrame, stated: float, ranks: float) -> Outcome:
    """The largest overhead of the text against the totals of the table, at so many `ranks`."""
    over = _over_one_machine(table, "Container")
    return bool(abs(over["MG.C"] - stated) <= 1), {
        "of_code": over["MG.C"],
        "every": ", ".join(f"{code} {percent:+.1f}" for code, percent in over.items()),
        "worst": over.idxmax(),
    }


def multinode(table: pd.DataFrame) -> Outcome:
    """The codes that are faster on several machines, by the totals of the table."""
    over = _over_one_machine(table, "Multinode")[["EP.B", "LU.B", "MG.C"]]
    every = ", ".join(f"{code} {percent:+.0f}" for code, percent in over.items())
    return bool((over < 0).all()), {"every": every}


def _over_one_machine(table: pd.DataFrame, configuration: str) -> pd.Series:
    """By how many per cent its total exceeds that of shared memory, by code."""
    times = table["time_ms"]
    over: pd.Series = 100 * (times[configuration].sum(axis=1) / times["SM"].sum(axis=1) - 1)
    return over


def communication(table: pd.DataFrame) -> Outcome:
    """How many codes communicate faster through virtual interfaces."""
    times = table["time_ms"]
    less = int((times["Container", "comm"] < times["Multinode", "comm"]).sum())
    return 2 * less > len(times), {"less": less, "codes": len(times)}


def timeouts(waits: float, each: float, added: float, after: float, before: float) -> Outcome:
    """Waits, added time and the two overheads of CG, which imply the native time."""
    native = 100 * added / (before - after)
    return abs(waits * each / added - 1) <= 0.05, {"waited": waits * each, "native": native}


def instances_memory(
    native: float, instances: Sequence[float], memories: Sequence[float]
) -> Outcome:
    """Memory of all instances together against the native machine."""
    together = [count * memory for count, memory in zip(instances, memories, strict=True)]
    shown = listed(f"{memory:.0f}" for memory in together)
    return all(memory == native for memory in together), {"together": shown}


def page_cache(files: float, memory: float) -> Outcome:
    """The largest file against the node's memory."""
    return files >= memory, {"share": 100 * files / memory}


def quotas(least: float, periods: Sequence[float], parts: Sequence[float]) -> Outcome:
    """Which of the planned quotas, parts in % of periods, the kernel refuses."""
    below = [(part, period) for part in parts for period in periods if part / 100 * period < least]
    refused = ", ".join(f"{part:.0f} % of {period:.0f} ms" for part, period in below)
    return below == [(10.0, 5.0)], {"refused": refused or "none"}


CHECKS: dict[str, Callable[..., Outcome]] = {
    check.__name__: check
    for check in (
        spreads, nodes, stream_array, hpcg_time, hpcg_memory, memory_share,
        percentages, sums, maximum, multinode, communication, timeouts,
        instances_memory, page_cache, quotas,
    )
}  # fmt: skip
