"""What each figure shows: the one place of the presentation that names benchmarks and runtimes.

A figure is columns of panels, one per case and metric: on top how the values lie,
below the comparison with the reference. Nothing here imports a plotting library,
so that the rules can list the figures at no cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """One metric as figures and tables call it.

    Attributes:
        metric: its name in the records.
        label: what it is, in words.
        unit: unit on the axis.
        factor: what turns the recorded unit into that unit.
        recorded: the recorded unit, if it is another one.
    """

    metric: str
    label: str
    unit: str
    factor: float = 1.0
    recorded: str = ""


@dataclass(frozen=True)
class FigureSpec:
    """One figure of distributions and comparisons.

    Attributes:
        name: file name without its ending.
        benchmark: whose cases it shows.
        quantities: metrics it shows for each case.
        title: what stands above its panels.
        caption: what is measured, and how it compares with the publication's figure; what
            its marks mean is added by parity.present.captions.
        relative: whether values are drawn as deviation from the reference's median in %.
        logarithmic: whether the axis of values is logarithmic.
        from_zero: whether values are drawn as bars from zero.
        placed: whether it shows only cases that are placed on an allocation (True), or only
            those that are not (False).
        by_nodes: whether it is drawn against the number of nodes.
    """

    name: str
    benchmark: str
    quantities: tuple[Quantity, ...]
    title: str
    caption: str
    relative: bool = False
    logarithmic: bool = False
    from_zero: bool = False
    placed: bool | None = None
    by_nodes: bool = False

    def shows(self, case: Mapping[str, Any]) -> bool:
        """Whether a case of a plan belongs into this figure."""
        on_allocation = "nodes" in case["parameters"]
        return case["benchmark"] == self.benchmark and self.placed in (None, on_allocation)


_TIME = Quantity("time", "computing time", "s")
_HPL = Quantity("hpl", "HPL rate", "Gflop/s")
_BANDWIDTH = Quantity("bandwidth", "bandwidth", "GB/s")
_PRIVATE = Quantity("process_private", "process memory", "MiB")
_NODE = Quantity("node_used_median", "node memory in use", "MiB")
_ADDED = Quantity("node_used_increment", "node memory added by the run", "MiB")
_ADDED_AS_PUBLISHED = Quantity(
    "node_used_increment_published", "node memory added by the run, free lists included", "MiB"
)
_START = Quantity("start_seconds", "start-up time", "ms", 1e3, "s")
_LATENCY = Quantity("latency", "latency", "µs", 1e6, "s")
_NETWORK = Quantity("bandwidth", "bandwidth", "Gbit/s")
QUANTITIES = (
    _TIME, _HPL, _BANDWIDTH, _PRIVATE, _NODE, _ADDED, _ADDED_AS_PUBLISHED, _START, _LATENCY,
    _NETWORK,
)  # fmt: skip

# Factor levels above their panels. Names of kernels alone mislead, because two programs
# call different kernels "triad".
LEVELS = {"copy": "copy: a = b", "stream": "stream: a = b·s + c", "triad": "triad: a = b·c + d"}
# Factor levels that are written otherwise than they are spelt.
SPELT = {"tcp": "TCP", "mpi": "MPI"}

FIGURES = (
    FigureSpec(
        "sysbench",
        "sysbench",
        (_TIME,),
        "Computing time",
        "Time that SysBench reports for a fixed number of prime searches, after Fig. 1 of "
        "Torrez et al. (2019). Left: deviation from the median of the reference.",
        relative=True,
    ),
    FigureSpec(
        "hpl",
        "hpcc",
        (_HPL,),
        "Dense linear algebra",
        "Rate of High Performance Linpack inside the HPC Challenge suite. With a small matrix "
        "HPL itself takes a fraction of a second, so start and clock weigh more than in a real "
        "run; the appendix on cases gives its order. Left: deviation from the median of the "
        "reference.",
        relative=True,
        placed=False,
    ),
    FigureSpec(
        "scaling",
        "hpcc",
        (_HPL,),
        "Dense linear algebra over nodes",
        "Rate of High Performance Linpack inside the HPC Challenge suite against the number of "
        "nodes, in per cent of the reference's median at the same case, in the manner of "
        "Figs. 3 and 4 of Torrez et al. (2019), which show HPCG: the two programs are not "
        "comparable. The matrix is the same at every number of nodes, so the work of a rank "
        "shrinks, while HPCG's grew with the nodes.",
        placed=True,
        by_nodes=True,
    ),
    FigureSpec(
        "network-latency",
        "netpipe",
        (_LATENCY,),
        "Latency of a message",
        "Time that NetPIPE's smallest message takes one way, between two ranks on one node and "
        "on two, over TCP and over MPI.",
        placed=True,
    ),
    FigureSpec(
        "network-bandwidth",
        "netpipe",
        (_NETWORK,),
        "Bandwidth of messages",
        "Highest bandwidth over all sizes of NetPIPE's messages, between two ranks on one node "
        "and on two, over TCP and over MPI.",
        placed=True,
    ),
    FigureSpec(
        "bandwidth",
        "likwid",
        (_BANDWIDTH,),
        "Memory bandwidth",
        "Memory bandwidth of likwid-bench's kernels, in the manner of Fig. 2 of Torrez et al. "
        "(2019), which shows STREAM's; these are not STREAM results. Copy is the same in both; "
        "stream is a = b·s + c, which STREAM calls triad; triad is a = b·c + d, which STREAM "
        "does not have.",
    ),
    FigureSpec(
        "node-memory",
        "memory",
        (_NODE, _ADDED),
        "Memory of the node",
        "Node memory in use while likwid-bench's stream kernel runs, in all and less what was in "
        "use before the start, in the manner of Fig. 5 of Torrez et al. (2019), which shows "
        "STREAM. In use is MemTotal less MemFree and less the pages on the kernel's per-CPU free "
        "lists, which MemFree leaves out. Page cache counts as used, as in the publication, so "
        "part of a difference may be cached image; the range over blocks is that of the whole "
        "node. A run's value is the median of its samples with the program at full size.",
        from_zero=True,
    ),
    FigureSpec(
        "process-memory",
        "memory",
        (_PRIVATE,),
        "Memory of a process",
        "Writable private memory of the benchmark's process, in the manner of Fig. 6 of Torrez "
        "et al. (2019), which shows HPCG ranks. It counts mappings at their full size, touched "
        "or not. A run's value is the median of its samples with the program at full size.",
    ),
    FigureSpec(
        "startup",
        "startup",
        (_START,),
        "Start-up",
        "Time from starting the runtime's command until it has ended, around a program that does "
        "nothing: creation, start and take-down. One value is the median of the starts in one "
        "run; cold: caches dropped before each start; warm: not. The axis of differences is "
        "linear below 1 ms and logarithmic above.",
        logarithmic=True,
    ),
)

OVERVIEW = "overview"
FIGURE_NAMES = (*(spec.name for spec in FIGURES), OVERVIEW)
TABLE_NAMES = (
    "results", "differences", "dispersion", "cases", "ledger", "losses",
    "exclusions", "environment", "images", "machine", "not-tested", "published",
)  # fmt: skip

FEW = 12  # up to this many values a row shows each one instead of a box

# Colour (Okabe and Ito, 2008) and marker of each runtime, the same in every figure.
LOOKS = {
    "native": ("#3a3a3a", "o"),
    "namespaces": ("#E69F00", "^"),
    "charliecloud": ("#56B4E9", "s"),
    "apptainer": ("#009E73", "D"),
    "podman": ("#CC79A7", "P"),
    "docker": ("#0072B2", "X"),
    "lxc": ("#D55E00", "v"),
}
# A runtime that is not in the list takes one of these by its name, always the same.
OTHER_LOOKS = (("#B8A500", "<"), ("#882255", ">"), ("#44AA99", "h"), ("#999933", "d"))

# Facts of the node that the paper's section on the machine shows, with their labels.
MACHINE_FACTS = {
    "cpu_model": "Processor",
    "cpus_online": "CPUs online",
    "last_level_cache": "Last-level cache",
    "memory_total": "Memory",
    "hypervisor": "Under a hypervisor",
    "kernel": "Kernel",
    "config_hz": "Timer frequency (Hz)",
    "preemption": "Preemption model",
    "cgroup_versions": "Control groups",
    "transparent_hugepage": "Transparent huge pages",
    "numa_balancing": "NUMA balancing",
    "cpu_governor": "Frequency governor",
    "clocksource": "Clock source",
    "debian_version": "Debian",
}
