"""Beserra et al. 2015, Yildirim et al. 2021, Levy and Ferreira 2021: one check each."""

from __future__ import annotations

from parity.claims.arithmetic.defect import Defect
from parity.claims.arithmetic.numbers import Numbers
from parity.core.wording import listed


def beserra_memory(published: Numbers) -> Defect:
    """Memory of all instances together against the native machine."""
    native = published["beserra15-design", "memory/native"]
    together = [
        published["beserra15-design", f"instances/{name}"]
        * published["beserra15-design", f"memory_per_instance/{name}"]
        for name in ("virtual-2", "virtual-4")
    ]
    gives = listed(f"{memory:.0f}" for memory in together)
    return Defect(
        "beserra2015",
        "IV-C, Table I",
        f"{native:.0f} MB in every environment",
        f"{gives} MB in the divided ones",
        all(memory == native for memory in together),
        f"All environments are said to have the same memory; natively it is {native:.0f} MB, and "
        f"divided in two and in four it is {gives} MB.",
    )


def yildirim_cache(published: Numbers) -> Defect:
    """The largest file against the node's memory."""
    files = published["yildirim21-design", "w2_total/each"]
    memory = published["yildirim21-design", "memory/each"]
    return Defect(
        "yildirim2021",
        "3",
        f"disk throughput with files of up to {files:.0f} GB",
        f"{100 * files / memory:.0f} % of {memory:.0f} GB of memory",
        files >= memory,
        f"The largest workload, {files:.0f} GB, is {100 * files / memory:.0f} % of a node's "
        "memory; unless the cache was bypassed, which the paper does not say, reads need no disk.",
    )


def levy_quota(published: Numbers) -> Defect:
    """Which of the planned quotas the kernel refuses."""
    least = published["levy21-minquota", "min_cfs_quota/podman"]
    periods = [
        published["levy21-design", f"cfs_period_{name}/podman"]
        for name in ("shortest", "short", "long", "longest")
    ]
    parts = [
        published["levy21-design", f"smaller_quota_of_pair_{part}/podman"] for part in (10, 25, 50)
    ]
    below = [(part, period) for part in parts for period in periods if part / 100 * period < least]
    gives = ", ".join(f"{part:.0f} % of {period:.0f} ms" for part, period in below)
    return Defect(
        "levy2021",
        "slides, quota and period",
        "10 % of 5 ms is impossible",
        f"below {least:g} ms: {gives or 'none'}",
        below == [(10.0, 5.0)],
        f"Of the planned quotas, those below the least of {least:g} ms are: {gives or 'none'}.",
    )


CHECKS = (beserra_memory, yildirim_cache, levy_quota)
