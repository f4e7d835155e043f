"""The checks of published statements: each says whether one holds, and what comes out.

Their arguments are the numbers that `statements.yaml` names, in its units. `table` is Table 1
of Ruiz et al.: rows are codes, columns time_ms or percent, configuration and component.
`figures` are the bars of their figures, in seconds: rows are figure, code and what the x axis
has, columns the series.
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


def _bars(figures: pd.DataFrame, place: str, code: str, x: list[str]) -> pd.DataFrame:
    """The bars of a code in a figure: rows as on the x axis, columns the series, s.

    Raises:
        KeyError: one is missing.
    """
    there = figures.loc[[(place, code, each) for each in x]].set_axis(x, axis="index")
    bars: pd.DataFrame = there.dropna(axis="columns", how="all")
    if bars.isna().any(axis=None):
        raise KeyError(f"{place}: {code}")
    return bars


def gains(figures: pd.DataFrame, stated: Sequence[float]) -> Outcome:
    """Stated gains, in %, from one kernel to the next against CG's bars.

    A gain is how much sooner containers end on the newer kernel, less what native gains.
    """
    bars = _bars(figures, "Fig. 1a", "CG.B", ["3.2", "3.16", "4.0"])
    over = 100 * (bars["2/node"] / bars["native"] - 1)
    faster = (bars / bars.shift(-1)).iloc[:-1]
    gained = 100 * (faster.drop(columns="native").div(faster["native"], axis=0) - 1)
    largest = gained.max(axis=1).tolist()
    return all(abs(a / b - 1) <= 0.05 for a, b in zip(stated, largest, strict=True)), {
        "said": listed(f"{each:g}" for each in stated),
        "largest": listed(f"{each:,.0f}" for each in largest),
        "overheads": listed(f"{each:,.0f}" for each in over.iloc[:-1]),
    }


def threshold(figures: pd.DataFrame) -> Outcome:
    """Whether on Linux 3.2 more than two containers per machine double CG's time, and two not."""
    bars = _bars(figures, "Fig. 1a", "CG.B", ["3.2"]).iloc[0]
    over = {count: 100 * (bars[f"{count}/node"] / bars["native"] - 1) for count in (1, 2, 4)}
    return bool(over[2] < 100 <= over[4]), {
        "every": listed(f"{percent:+,.0f}" for percent in over.values())
    }


def maximum(figures: pd.DataFrame, stated: float) -> Outcome:
    """The largest overhead of the text, in %, against the bars of MG, by processes."""
    bars = _bars(figures, "Fig. 2", "MG.C", ["4", "8", "16"])
    over = 100 * (bars["container"] / bars["SM"] - 1)
    return bool(abs(over.max() - stated) <= 0.05), {
        "every": listed(f"{percent:+.1f}" for percent in over),
        "ranks": listed(over.index),
        "most": over.idxmax(),
    }


def multinode(table: pd.DataFrame) -> Outcome:
    """The codes that are faster on several machines, by the totals of the table."""
    totals = table["time_ms"].T.groupby("configuration").sum()[["EP.B", "LU.B", "MG.C"]]
    over = 100 * (totals.loc["Multinode"] / totals.loc["SM"] - 1)
    every = ", ".join(f"{code} {percent:+.0f}" for code, percent in over.items())
    return bool((over < 0).all()), {"every": every}


def communication(table: pd.DataFrame) -> Outcome:
    """How many codes communicate faster through virtual interfaces."""
    times = table["time_ms"]
    less = int((times["Container", "comm"] < times["Multinode", "comm"]).sum())
    return 2 * less > len(times), {"less": less, "codes": len(times)}


def timeouts(
    figures: pd.DataFrame, waits: float, each: float, after: float, before: float
) -> Outcome:
    """Waits of `each` s against the time that CG loses in containers, by its bars.

    `before` and `after` are its overheads with the usual and with a short waiting time, in %.
    """
    bars = _bars(figures, "Fig. 3", "CG.B", ["128"]).iloc[0]
    lost = bars["container"] - bars["native"]
    saved = lost - after / 100 * bars["native"]
    waited = waits * each
    return bool(abs(waited / lost - 1) <= 0.1), {
        "native": bars["native"],
        "container": bars["container"],
        "over": 100 * lost / bars["native"],
        "lost": lost,
        "waited": waited,
        "saved": saved,
        "needed": saved / each,
    }


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
        percentages, sums, gains, threshold, maximum, multinode, communication, timeouts,
        instances_memory, page_cache, quotas,
    )
}  # fmt: skip
