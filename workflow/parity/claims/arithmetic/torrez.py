"""Torrez et al. 2019: spreads, node counts, run rules, memory."""

from __future__ import annotations

from parity.claims.arithmetic.defect import Defect
from parity.claims.arithmetic.numbers import Numbers
from parity.core.wording import listed

# HPCG's run rules (README of HPCG 3.1): an official result runs for half an hour at least,
# on a problem of at least a quarter of the main memory.
HPCG_OFFICIAL_SECONDS = 1800
HPCG_OFFICIAL_SHARE = 0.25
# "Bytes per equation" in the summary that HPCG writes for local grids of 104³.
HPCG_BYTES_PER_EQUATION = 714.7
# Last-level cache of two Intel Xeon E5-2695 v4: 45 MiB each (Intel's data sheet).
TORREZ_CACHE_BYTES = 2 * 45 * 2**20
STREAM_BYTES_PER_ELEMENT = 8

GIB, MIB_PER_GIB = 2**30, 2**10


def spreads(published: Numbers) -> Defect:
    """The three spreads that the paper derives from its own numbers."""
    time, runs, rate = "torrez19-cpu-spread", "torrez19-cpu-allruns", "torrez19-hpcg-1024"
    rates = published.every(rate, "rate_n1")
    stated = (
        published[time, "median_spread/all"],
        published[runs, "range_spread/all"],
        published[rate, "spread/all"],
    )
    derived = (
        _spread(published[time, "median_time/fastest"], published[time, "median_time/slowest"]),
        _spread(published[runs, "min_time/all"], published[runs, "max_time/all"]),
        _spread(min(rates), max(rates)),
    )
    says = listed(f"{each:g}" for each in stated)
    gives = listed(f"{each:.2f}" for each in derived)
    return Defect(
        "torrez2019",
        "IV-A, IV-C",
        f"spreads of {says} %",
        f"{gives} %",
        all(abs(a - b) < 0.05 for a, b in zip(stated, derived, strict=True)),
        f"The spreads are stated as {says} %; the numbers beside them give {gives} %.",
    )


def nodes(published: Numbers) -> Defect:
    """The number in brackets behind the largest node count."""
    count = published["torrez19-design", "nodes/each"]
    stated = published["torrez19-design", "nodes_in_brackets/each"]
    cores = published["torrez19-design", "cores_per_node/each"]
    return Defect(
        "torrez2019",
        "IV-C",
        f"{count:,.0f} nodes are {stated:,.0f} nodes",
        f"{count * cores:,.0f} cores",
        stated == count,
        f"{count:,.0f} nodes are explained as {stated:,.0f} nodes; with {cores:.0f} cores "
        f"each they have {count * cores:,.0f} cores.",
    )


def stream_array(published: Numbers) -> Defect:
    """Size of STREAM's arrays against the rule of several times the cache."""
    elements = 1e9 * published["torrez19-design", "STREAM_ARRAY_SIZE/each"]
    rule = published["torrez19-design", "cache_multiple_asked_for/each"]
    array = elements * STREAM_BYTES_PER_ELEMENT
    times = array / (rule * TORREZ_CACHE_BYTES)
    cut = published["torrez19-design", "min_sample_kept/each"]
    return Defect(
        "torrez2019",
        "III-D",
        f"arrays of {elements / 1e9:g} billion elements match {rule:.0f} times the cache",
        f"{times:.0f} times as much",
        1 <= times < 2,
        f"An array of {array / 1e9:.0f} GB is {times:.0f} times as large as "
        f"{rule:.0f} times the cache; three of them take {3 * array / GIB:.0f} GiB, so samples "
        f"below {cut:.0f} GiB can only be from before or after the kernels.",
    )


def hpcg_time(published: Numbers) -> Defect:
    """HPCG's time against its run rules."""
    seconds = published["torrez19-design", "run_time/each"]
    return Defect(
        "torrez2019",
        "III-E",
        f"{seconds:.0f} s per run, valid",
        f"official from {HPCG_OFFICIAL_SECONDS} s",
        seconds >= HPCG_OFFICIAL_SECONDS,
        f"HPCG ran for {seconds:.0f} s; it calls that valid, and its rules ask for "
        f"{HPCG_OFFICIAL_SECONDS} s of an official result.",
    )


def hpcg_memory(published: Numbers) -> Defect:
    """HPCG's problem against the share of memory that its run rules ask for."""
    equations = published["torrez19-design", "local_dim/each"] ** 3
    ranks = published["torrez19-design", "ranks_per_node/each"]
    used = ranks * equations * HPCG_BYTES_PER_EQUATION
    machines = ("grizzly", "fog")
    shares = [used / GIB / published["torrez19-design", f"memory/{name}"] for name in machines]
    gives = listed(f"{100 * share:.1f}" for share in shares)
    return Defect(
        "torrez2019",
        "III-E",
        f"{ranks:.0f} ranks of {equations:,.0f} equations",
        f"{gives} % of the memory",
        min(shares) >= HPCG_OFFICIAL_SHARE,
        f"HPCG's {ranks:.0f} ranks use {used / 1e9:.1f} GB, {gives} % of the memory of the two "
        f"clusters' nodes; its rules ask for {100 * HPCG_OFFICIAL_SHARE:.0f} %.",
    )


def memory_share(published: Numbers) -> Defect:
    """The largest addition of memory against the summary."""
    added = max(
        *published.every("torrez19-mem-total", "median_node_mem_added"),
        *published.every("torrez19-mem-incr", "median_incremental_mem_added"),
    )
    node = published["torrez19-design", "memory/grizzly"] * MIB_PER_GIB
    bound, share = published["torrez19-mem-pct", "max_overhead_high/containers"], 100 * added / node
    return Defect(
        "torrez2019",
        "IV-D",
        f"at most {bound:.0f} % of the memory",
        f"{share:.1f} %",
        share <= bound,
        f"The largest addition, {added:.0f} MiB, is {share:.1f} % of a node's memory, "
        f"{'within' if share <= bound else 'beyond'} the {bound:.0f} % of the summary.",
    )


def _spread(low: float, high: float) -> float:
    """How far the larger lies above the smaller, in per cent."""
    return 100 * (high / low - 1)


CHECKS = (spreads, nodes, stream_array, hpcg_time, hpcg_memory, memory_share)
