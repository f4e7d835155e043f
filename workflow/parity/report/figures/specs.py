"""What each figure shows: the one place of the presentation that names benchmarks and runtimes.

A figure is columns of panels, one per case and metric: on top how the values lie,
below the comparison with the reference. Nothing here imports a plotting library,
so that the rules can list the figures at no cost.
"""

from __future__ import annotations

from parity.report.figures.figure_spec import FigureSpec, Form, Quantity

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
_RATING = Quantity("rate", "HPCG rating", "Gflop/s")
_STREAM = tuple(Quantity(kernel, kernel, "GB/s") for kernel in ("copy", "scale", "add", "triad"))
_RATE = Quantity("rate", "rate", "Mop/s")
_FILES = (Quantity("write", "writing", "MiB/s"), Quantity("read", "reading", "MiB/s"))
_PARTS = (
    Quantity("application", "own work", "s"),
    Quantity("mpi", "time in MPI", "s"),
    Quantity("init", "start, init, end", "s"),
)
QUANTITIES = (
    _TIME, _HPL, _BANDWIDTH, _PRIVATE, _NODE, _ADDED, _ADDED_AS_PUBLISHED, _START, _LATENCY,
    _NETWORK, _RATING, *_STREAM, _RATE, *_FILES, *_PARTS,
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
        form=Form.NODES,
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
    FigureSpec(
        "hpcg",
        "hpcg",
        (_RATING,),
        "Conjugate gradients",
        "Rating that HPCG 3.1 reports, by nodes and ranks, after Figs. 3 and 4 of Torrez et "
        "al. (2019). Runs are short and grids are small, so these are not official HPCG "
        "results, and the published ratings, of up to half a thousand nodes, are no measure "
        "for them. Values are relative to the median of the reference.",
        relative=True,
        form=Form.NODES,
    ),
    FigureSpec(
        "stream",
        "stream",
        _STREAM,
        "Memory bandwidth by STREAM",
        "Bandwidth that STREAM 5.10 itself reports, the best of ten passes, after Fig. 2 of "
        "Torrez et al. (2019). Only kernels with a margin are tested; of the others the "
        "difference is given.",
    ),
    FigureSpec(
        "sysbench-libaio",
        "sysbench-libaio",
        (_TIME,),
        "Computing time with and without libaio",
        "Time that SysBench reports for a fixed number of prime searches, of two builds that "
        "differ in libaio alone, which the test never calls.",
        relative=True,
    ),
    FigureSpec(
        "libaio",
        "sysbench-libaio",
        (_TIME,),
        "Library or container",
        "The library libaio crossed with the container. Torrez et al. (2019, section IV-A) found "
        "the bare machine about 1.8 % slower than any container, because its build of SysBench "
        "alone had linked libaio; built without it, the difference disappeared. The dotted line "
        "marks their ratio.",
        form=Form.CROSSED,
        factor="libaio",
        published=(1.018,),
        source="Torrez et al. 2019",
    ),
    FigureSpec(
        "ladder",
        "hpcg",
        (_RATING,),
        "What each mechanism adds",
        "The same program with one mechanism of containers after the other: each row has what "
        "stands above it and one thing more; below them are the full runtimes. The tinted range "
        "is the overhead of 8 to 10 % that Medeiros et al. (2024, arXiv 2406.11760) report for "
        "HPCG in containers on three ARM machines; Torrez et al. (2019) report none. The rating "
        "is of short runs on small grids and not an official one.",
        form=Form.LADDER,
        runtime="ladder",
        published=(1.08, 1.10),
        source="Medeiros et al. 2024",
    ),
    FigureSpec(
        "npb",
        "npb",
        (_RATE,),
        "NAS Parallel Benchmarks",
        "Rate that each kernel of NPB 3.4 reports for a solution that it has verified.",
    ),
    FigureSpec(
        "files",
        "ior",
        _FILES,
        "Writing and reading files",
        "Bandwidth that IOR reports: writes end on the disk, and each rank reads what another "
        "has written. These are no IO500 results.",
    ),
    FigureSpec(
        "mpi-time",
        "mpip",
        _PARTS,
        "Where the time of an MPI program goes",
        "Time of an NPB kernel in its own code, in MPI, and before and after both, means of all "
        "ranks by mpiP, which costs time itself: these runs are compared with nothing but each "
        "other.",
    ),
)

OVERVIEW = "overview"
FIGURE_NAMES = (*(spec.name for spec in FIGURES), OVERVIEW)
TABLE_NAMES = (
    "results", "differences", "factorial", "steps", "dispersion", "cases", "ledger", "losses",
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
    "ladder": ("#882255", ">"),
}
# A runtime that is not in the list takes one of these by its name, always the same.
OTHER_LOOKS = (("#B8A500", "<"), ("#44AA99", "h"), ("#999933", "d"))

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
