"""What the node says of itself: all that is known to move a measurement, and who else works.

While a program runs it is asked only for samples of its memory.
"""

import gzip
import json
import os
import platform
import re
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil

from parity.benchmarks.model import NodeFacts
from parity.core.documents import Document


class Kept(Document, frozen=True):
    """The lists of kept.yaml, which says what each is."""

    one_line: dict[str, str]
    memory: dict[str, str]
    processor: dict[str, str]
    boot_parameters: tuple[str, ...]
    variables: tuple[str, ...]


KEPT = msgspec.yaml.decode(Path(__file__).with_name("kept.yaml").read_bytes(), type=Kept)
CPU = Path("/sys/devices/system/cpu")
WINDOW_SECONDS = 0.25  # in which a kernel's clock ticks 25 times or more for each CPU
LEAST_PERCENT = 5  # of a CPU; a program that takes less is not what keeps a node busy


def cpu_times() -> dict[int, Any]:
    """CPU time by the kernel's number of each CPU; psutil tells those that are online, in order."""
    numbers = [int(number) for number in re.findall(r"(?m)^cpu(\d+)", read("/proc/stat"))]
    usable = sorted(os.sched_getaffinity(0))
    if not {*usable} <= {*numbers}:
        numbers = usable  # lxcfs numbers a container's anew
    return dict(zip(numbers, psutil.cpu_times(percpu=True), strict=False))


def steal_fraction(
    before: Mapping[int, Any], after: Mapping[int, Any], cpus: Sequence[int]
) -> float:
    """Share of CPU time that the hypervisor gave to others, of the CPU that lost most.

    Guest time is within user time in Linux. A CPU that went offline meanwhile lost all of its time.
    `before`, `after`: of `cpu_times`.
    `cpus`: those that the program is bound to; a mean over many would hide what one of them lost.
    """

    def stolen(cpu: int) -> float:
        if cpu not in before or cpu not in after:
            return 1.0
        names = [name for name in before[cpu]._fields if not name.startswith("guest")]
        spent = {n: max(0.0, getattr(after[cpu], n) - getattr(before[cpu], n)) for n in names}
        total = sum(spent.values())
        return spent.get("steal", 0.0) / total if total else 0.0

    return max(map(stolen, cpus))


def busy_now() -> float:
    """Share of CPU time in use or stolen in one short window, while nothing of ours runs."""
    return psutil.cpu_percent(interval=WINDOW_SECONDS) / 100


class Idleness(NamedTuple):
    """Others' share of all CPU time, and which program takes most, empty on an idle node."""

    busy_fraction: float
    taken_by: str
    waited_seconds: float = 0.0


def wait_until_idle(limit: float, patience_seconds: float) -> Idleness:
    """The last short window: no more than `limit` of CPU time in use, or patience is over."""
    begun, said = time.monotonic(), ""
    while (busy := busy_now()) > limit:
        taken_by = busiest()
        if (waited := time.monotonic() - begun) >= patience_seconds:
            return Idleness(busy, taken_by, waited)
        if not said:
            said = f"waiting {patience_seconds:g} s at most for an idle node: {taken_by}"
            print(said, flush=True)
    return Idleness(busy, "", time.monotonic() - begun if said else 0.0)


def busiest() -> str:
    """Which program takes most CPU time in one short window, in words."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            process.cpu_percent()
    time.sleep(WINDOW_SECONDS)
    # Of one that began meanwhile it is not known yet, and taken to be nothing.
    shares = [(process.info["cpu_percent"] or 0.0, process.info["name"], process.pid)
              for process in psutil.process_iter(["cpu_percent", "name"])]  # fmt: skip
    most, name, number = max(shares, default=(0.0, "", 0))
    if most < LEAST_PERCENT:
        return "no program of this machine, so the hypervisor, or many short ones"
    return f"{name} (process {number}) takes {most:.0f} % of a CPU"


def node_name() -> str:
    """The batch system's name of this node; else the host's short one, by which those know it."""
    return os.environ.get("SLURMD_NODENAME") or platform.node().partition(".")[0]


def facts() -> dict[str, str]:
    """All facts of this node, sorted by name; a fact that the node does not tell is empty."""
    meminfo, cpuinfo = pairs(read("/proc/meminfo")), pairs(read("/proc/cpuinfo"))
    config, cache = kernel_config(), last_level_cache()
    facts_by_name = {
        "architecture": platform.machine(), "hostname": socket.gethostname(),
        "kernel": platform.release(), "kernel_build": platform.version(),
        "config_hz": config.get("CONFIG_HZ", ""), "preemption": preemption(config),
        "boot_parameters": boot_parameters(read("/proc/cmdline")),
        "cgroup_versions": cgroup_versions(read("/proc/mounts")),
        "cpu_governor": governors(CPU.glob("cpu[0-9]*/cpufreq/scaling_governor")),
        "cpus_usable": ",".join(map(str, sorted(os.sched_getaffinity(0)))),
        "hypervisor": "yes" if "hypervisor" in cpuinfo.get("flags", "").split() else "no",
        "last_level_cache": f"{cache} B" if cache else "",
        "transparent_hugepage": selected(read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "transparent_hugepage_defrag": selected(read("/sys/kernel/mm/transparent_hugepage/defrag")),
        **{name: read(path) for name, path in KEPT.one_line.items()},
        **{name: meminfo.get(key, "") for name, key in KEPT.memory.items()},
        **{name: cpuinfo.get(key, "") for name, key in KEPT.processor.items()},
        **{f"vulnerability_{p.name}": read(p) for p in (CPU / "vulnerabilities").glob("*")},
    }  # fmt: skip
    return dict(sorted(facts_by_name.items()))


def node_facts() -> NodeFacts:
    """What benchmarks size themselves by, of this node alone; a cache that is not told is 0."""
    cpus, memory = tuple(sorted(os.sched_getaffinity(0))), psutil.virtual_memory().total
    return NodeFacts(cpus=cpus, last_level_cache=last_level_cache(), memory=memory)


def read(path: str | Path) -> str:
    """The text of a file without surrounding space; empty if it is not there or not for us."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def pairs(text: str) -> dict[str, str]:
    """The first value of each key in lines like `key : value`, as /proc/meminfo has them."""
    # Backwards, so that the first one is what stays.
    lines = (line.partition(":") for line in reversed(text.splitlines()))
    return {key.strip(): value.strip() for key, separator, value in lines if separator}


def selected(choices: str) -> str:
    """The choice in brackets of `always [madvise] never`; empty if none is."""
    return choices.partition("[")[2].partition("]")[0]


def boot_parameters(command_line: str) -> str:
    """Those boot parameters that change how programs are scheduled or how memory is mapped."""
    words = command_line.partition(" -- ")[0].split()
    return " ".join(sorted(w for w in words if w.partition("=")[0] in KEPT.boot_parameters))


def cgroup_versions(mounts: str) -> str:
    """The control group hierarchies in /proc/mounts, such as `v1: cpu,memory; v2`."""
    lines = [line.split() for line in mounts.splitlines()]
    options = {o for w in lines if len(w) > 3 and w[2] == "cgroup" for o in w[3].split(",")}
    # Among the options of a v1 mount stand its controllers; the others are well known.
    others = {"rw", "ro", "relatime", "nosuid", "nodev", "noexec", "xattr", "clone_children"}
    controllers = sorted(o for o in options - others if "=" not in o)
    versions = [f"v1: {','.join(controllers)}"] if controllers else []
    versions += ["v2"] if any(words[2:3] == ["cgroup2"] for words in lines) else []
    return "; ".join(versions)


def kernel_config() -> dict[str, str]:
    """The running kernel's configuration, from /proc or /boot; empty if neither has it."""
    try:
        text = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    except OSError:
        text = read(f"/boot/config-{platform.release()}")
    lines = (line.partition("=") for line in text.splitlines() if line.startswith("CONFIG_"))
    return {key: value.strip('"') for key, _, value in lines}


def preemption(config: Mapping[str, str]) -> str:
    """The preemption model in force where the kernel tells it, else the one it was built with."""
    if in_force := read("/sys/kernel/debug/sched/preempt"):
        return in_force.partition("(")[2].partition(")")[0] or in_force
    models = ("PREEMPT_RT", "PREEMPT_LAZY", "PREEMPT", "PREEMPT_VOLUNTARY", "PREEMPT_NONE")
    built = next((name for name in models if config.get(f"CONFIG_{name}") == "y"), "")
    dynamic = ", may be changed at boot" if config.get("CONFIG_PREEMPT_DYNAMIC") == "y" else ""
    return f"{built}{dynamic}" if built else ""


def governors(files: Iterable[Path]) -> str:
    """The frequency governors in use, each once; empty if the node has no such control."""
    return ",".join(sorted({read(file) for file in files} - {""}))


def last_level_cache(cpu: Path = CPU / "cpu0") -> int:
    """Size in bytes of the largest level of cache that a CPU has; 0 if the node does not tell."""
    levels = [(int(level), size_in_bytes(read(index / "size")))
              for index in cpu.glob("cache/index[0-9]*")
              if (level := read(index / "level")).isdecimal()
              and read(index / "type") != "Instruction"]  # fmt: skip
    return max(levels, default=(0, 0))[1]


def free_per_cpu(zoneinfo: str) -> int:
    """Bytes on the per-CPU free lists, from the text of /proc/zoneinfo, which MemFree lacks."""
    # Linux 6.7 and later let them grow to hundreds of MiB when a program ends, so that MemTotal
    # minus MemFree counts the memory of the program before as used.
    counts = re.findall(r"^ +count: +([0-9]+)$", zoneinfo, re.MULTILINE)
    return sum(map(int, counts)) * os.sysconf("SC_PAGE_SIZE")


def size_in_bytes(text: str) -> int:
    """Bytes in `266240K` or `32M`; 0 for text that is no size."""
    units = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
    number = text.rstrip("KMG")
    unit = text[len(number) :]
    return int(number) * units[unit] if number.isdecimal() and unit in units else 0


_OF_NODE = ("node_used", "node_available", "node_cached", "node_shmem", "node_free_per_cpu")
_NOTHING = dict.fromkeys((*_OF_NODE, "private_writable", "private_dirty"))


def node_sample(seconds: float) -> dict[str, Any]:
    """The node's memory in bytes; `node_used` is MemTotal minus MemFree, as Torrez et al."""
    memory = psutil.virtual_memory()
    return {
        **_NOTHING, "seconds": seconds, "process": "", "pid": 0,
        "node_used": memory.total - memory.free, "node_available": memory.available,
        "node_cached": memory.cached, "node_shmem": memory.shared,
        "node_free_per_cpu": free_per_cpu(Path("/proc/zoneinfo").read_text()),
    }  # fmt: skip


def process_sample(process: psutil.Process, seconds: float) -> dict[str, Any]:
    """Private memory of one process in bytes: what was touched (dirty), and could be (writable)."""
    # The latter are mappings at their full size, what `pmap -d` calls writeable/private.
    maps = process.memory_maps(grouped=False)
    return {
        **_NOTHING, "seconds": seconds, "process": process.name(), "pid": process.pid,
        "private_writable": sum(m.size for m in maps if "w" in m.perms and "p" in m.perms),
        "private_dirty": sum(m.private_dirty for m in maps),
    }  # fmt: skip


class Sampler(threading.Thread):
    """Samples memory every interval from before a program starts until it is stopped.

    Only the sampled cases have one, which are cases of their own. `interval`: in seconds. `names`:
    of the processes to sample beside the node as a whole.
    """

    def __init__(self, interval: float, names: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._interval, self._names = interval, frozenset(names)
        self._is_over = threading.Event()
        self._rows: list[dict[str, Any]] = [node_sample(-interval)]

    def run(self) -> None:
        """Sample; time zero of the samples is now."""
        begin = time.monotonic()
        while not self._is_over.wait(self._interval):
            seconds = time.monotonic() - begin
            self._rows.append(node_sample(seconds))
            for process in psutil.process_iter(["name"]):
                # One that is gone meanwhile, or not ours to look into, gives the parser too few
                # samples, and it says so.
                with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    if process.info["name"] in self._names:
                        self._rows.append(process_sample(process, seconds))

    def stop_and_write(self, path: Path) -> None:
        """End, and write the samples as JSON lines."""
        self._is_over.set()
        if self.is_alive():
            self.join()
        path.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in self._rows))


def sizes(facts: Mapping[str, str]) -> dict[str, int]:
    """Last-level cache and memory of a node in bytes, from its facts; 0 where it does not tell."""
    found = {}
    for size, fact in (("last_level_cache", "last_level_cache"), ("memory", "memory_total")):
        number, _, unit = facts.get(fact, "").partition(" ")
        factor = {"B": 1, "kB": 1024}.get(unit, 0)
        found[size] = int(number) * factor if number.isdecimal() else 0
    return found
