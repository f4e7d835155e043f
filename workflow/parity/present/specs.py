"""What each figure shows: the one place of the presentation that names benchmarks and runtimes.

A figure is columns of panels, one per case and metric: on top how the values lie,
below the comparison with the reference. Nothing here imports a plotting library,
so that the rules can list the figures at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """One metric as figures and tables call it.

    Attributes:
        metric: its name in the records.
        label: what it is, in words.
        unit: unit on the axis.
        factor: what turns the recorded unit into that unit.
    """

    metric: str
    label: str
    unit: str
    factor: float = 1.0


@dataclass(frozen=True)
class FigureSpec:
    """One figure of distributions and comparisons.

    Attributes:
        name: file name without its ending.
        benchmark: whose cases it shows.
        quantities: metrics it shows for each case.
        title: short title for the list of figures.
        caption: what a reader must know to read it; the paper prints it.
        relative: whether values are drawn as deviation from the reference's median in %.
        logarithmic: whether the axis of values is logarithmic.
        from_zero: whether values are drawn as bars from zero.
    """

    name: str
    benchmark: str
    quantities: tuple[Quantity, ...]
    title: str
    caption: str
    relative: bool = False
    logarithmic: bool = False
    from_zero: bool = False


_TIME = Quantity("time", "computing time", "s")
_HPL = Quantity("hpl", "HPL rate", "Gflop/s")
_BANDWIDTH = Quantity("bandwidth", "bandwidth", "GB/s")
_PRIVATE = Quantity("process_private", "process memory", "MiB")
_NODE = Quantity("node_used_median", "node memory in use", "MiB")
_ADDED = Quantity("node_used_increment", "node memory added by the run", "MiB")
_START = Quantity("start_seconds", "start-up time", "ms", 1e3)
QUANTITIES = {q.metric: q for q in (_TIME, _HPL, _BANDWIDTH, _PRIVATE, _NODE, _ADDED, _START)}

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
        "Rate of High Performance Linpack inside the HPC Challenge suite. Left: deviation "
        "from the median of the reference.",
        relative=True,
    ),
    FigureSpec(
        "bandwidth",
        "likwid",
        (_BANDWIDTH,),
        "Memory bandwidth by kernel",
        "Memory bandwidth of each likwid-bench kernel, after Fig. 2 of Torrez et al. (2019).",
    ),
    FigureSpec(
        "node-memory",
        "memory",
        (_NODE, _ADDED),
        "Memory of the node",
        "Node memory in use (MemTotal minus MemFree) while a bandwidth kernel runs, in all and "
        "less what was in use before the start, after Fig. 5 of Torrez et al. (2019).",
        from_zero=True,
    ),
    FigureSpec(
        "process-memory",
        "memory",
        (_PRIVATE,),
        "Memory of a process",
        "Writable private memory of the benchmark's process, after Fig. 6 of Torrez et al. (2019).",
    ),
    FigureSpec(
        "startup",
        "startup",
        (_START,),
        "Start-up",
        "Time from starting the runtime's command to the end of a program that does nothing, "
        "with the page cache dropped before (cold) and not (warm).",
        logarithmic=True,
    ),
)
OVERVIEW = "overview"
FIGURE_NAMES = (*(spec.name for spec in FIGURES), OVERVIEW)
TABLE_NAMES = (
    "results", "differences", "dispersion", "ledger", "losses",
    "exclusions", "images", "machine", "not-tested", "published",
)  # fmt: skip

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
