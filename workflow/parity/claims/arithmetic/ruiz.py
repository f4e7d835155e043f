"""Ruiz et al. 2015: Table 1 against itself and against the text, and the timeouts."""

from __future__ import annotations

from parity.claims.arithmetic.defect import Defect
from parity.claims.arithmetic.numbers import Numbers


def percentages(published: Numbers) -> Defect:
    """Each percentage of Table 1 against the times beside it."""
    off = [
        abs(percent - 100 * time / published.total(configuration, code))
        for (configuration, _, code), (time, percent) in published.profile.items()
    ]
    agreeing = sum(distance <= 1 for distance in off)
    return Defect(
        "ruiz2015",
        "Table 1",
        f"{len(off)} percentages",
        f"{agreeing} agree with the times",
        agreeing == len(off),
        f"Of {len(off)} percentages in Table 1, {agreeing} agree with the times beside them "
        "to a point.",
    )


def sums(published: Numbers) -> Defect:
    """Whether the parts of a run make a whole."""
    columns = dict.fromkeys((configuration, code) for configuration, _, code in published.profile)
    wholes = [
        sum(p for (c, _, k), (_, p) in published.profile.items() if (c, k) == column)
        for column in columns
    ]
    return Defect(
        "ruiz2015",
        "Table 1",
        "parts of a whole",
        f"sums of {min(wholes):.0f} to {max(wholes):.0f} %",
        min(wholes) >= 99 and max(wholes) <= 101,
        f"The percentages of a run in Table 1 add up to {min(wholes):.0f} to {max(wholes):.0f}.",
    )


def maximum(published: Numbers) -> Defect:
    """The largest overhead of the text against the totals of Table 1."""
    stated = published["ruiz15-inter-max", "max_overhead_vs_SM/lxc"]
    ranks = published["ruiz15-design", "ranks_of_table_1/each"]
    over = {code: published.over("Container", "SM", code) for code in published.codes}
    worst = max(over, key=over.__getitem__)
    every = ", ".join(f"{code} {percent:+.1f}" for code, percent in over.items())
    return Defect(
        "ruiz2015",
        "4.3, Table 1",
        f"MG.C loses at most {stated:g} %",
        f"{over['MG.C']:+.1f} % at {ranks:.0f} ranks",
        abs(over["MG.C"] - stated) <= 1,
        f"By the totals of Table 1 ({ranks:.0f} ranks) containers differ from shared memory by "
        f"{every} %, most in {worst}; the maximum of {stated:g} % for MG.C must be from fewer "
        "ranks, for which no table is given.",
    )


def multinode(published: Numbers) -> Defect:
    """The codes that are faster on several machines, by the totals of Table 1."""
    over = {code: published.over("Multinode", "SM", code) for code in ("EP.B", "LU.B", "MG.C")}
    every = ", ".join(f"{code} {percent:+.0f}" for code, percent in over.items())
    return Defect(
        "ruiz2015",
        "4.3",
        "MG, LU and EP faster on several machines",
        f"{every} %",
        all(percent < 0 for percent in over.values()),
        f"The totals of Table 1 on several machines against one are {every} %.",
    )


def communication(published: Numbers) -> Defect:
    """How many codes communicate faster through virtual interfaces."""
    less = [
        code
        for code in published.codes
        if published.milliseconds("Container", "comm", code)
        < published.milliseconds("Multinode", "comm", code)
    ]
    share = f"{len(less)} of {len(published.codes)}"
    return Defect(
        "ruiz2015",
        "4.3, Table 1",
        "mostly, and always, less communication time",
        f"{share} codes",
        2 * len(less) > len(published.codes),
        f"Communication through virtual interfaces takes less time in {share} codes of Table 1.",
    )


def timeouts(published: Numbers) -> Defect:
    """Waits, added time and the two overheads of CG, which imply the native time."""
    claim = "ruiz15-rto"
    waits = published[claim, "timeouts_per_run/lxc"]
    each = published[claim, "tcp_min_rto_default/lxc"]
    added = published[claim, "added_time/lxc"]
    after = published[claim, "overhead/lxc-rto-2ms"]
    before = published["ruiz15-veth-cg", "overhead_at_128_procs/lxc"]
    native = 100 * added / (before - after)
    return Defect(
        "ruiz2015",
        "4.4",
        f"{waits:.0f} waits of {each:g} s add {added:g} s; {before:g} % become {after:g} %",
        f"{waits * each:g} s; a native run of {native:.1f} s",
        abs(waits * each / added - 1) <= 0.05,
        f"{waits:.0f} waits of {each:g} s make {waits * each:g} s, of {added:g} s stated; if they "
        f"are what separates {before:g} from {after:g} %, a native run of CG took {native:.1f} s, "
        "which the paper does not say.",
    )


CHECKS = (percentages, sums, maximum, multinode, communication, timeouts)
