"""What a run used of its node: CPU time of its servers, disks and interfaces, and who waited.

Two readings of the kernel's own counters, one just before the program and one just after it, and
nothing in between: no monitor runs beside what is timed. Both begin with `sync`, so that what was
written before is not counted, and what the run wrote is, wherever it was still in memory. What
else the node does meanwhile counts as well; the gate of a quiet node is before each block.
"""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from parity.benchmarks.model import DISK
from parity.extensions.servers.benchmarks.service import HOST_ADDRESS, Served
from parity.extensions.servers.benchmarks.usage import BEGIN
from parity.extensions.servers.runtimes.docker_bridge import DockerBridge
from parity.measure.attempt import Attempt, Order
from parity.measure.places import WORK, processes_in
from parity.measure.timed_process import Finished

SERVERS = WORK / "servers"  # below it are their working folders, in every runtime (services.py)
PRESSURE = Path("/proc/pressure")
# The parts of processes in a run: servers, who carries their bytes, and who serves the mount.
PARTS = SERVER, CARRIER, MOUNT = ("server", "carrier", "mount")
SERIES = "usage.jsonl"  # what a monitor wrote, among the files that are kept of a run


@dataclass(frozen=True)
class Reading:
    """The counters at one moment."""

    seconds: float  # the monotonic clock
    # User and system seconds by part in the run, number and birth, with those of ended children.
    processes: Mapping[tuple[str, int, float], float]
    # By their names in the evidence: `disk_<read or written>_<requests or bytes>` of all disks,
    # `received.<interface>` and `sent.<interface>` in bytes, `waited_<what>_<some or full>_us`.
    counts: Mapping[str, int]


@contextmanager
def usage(attempt: Attempt, served: Served) -> Iterator[None]:
    """Count what the body uses; where a monitor was asked for, it leaves `files/usage.jsonl`."""
    order = attempt.order
    carriers = order.arm.carriers if isinstance(order.arm, DockerBridge) else ()
    parts = dict.fromkeys(carriers, CARRIER)
    # Before the program that mounts there may be one that sets its variables.
    parts |= {Path(word).name: MOUNT for word in served.mount if word.startswith("/")}
    # What a shell starts that stays in the folder of a server may leave it.
    parts |= {Path(each.executable).name: SERVER for each in served.services if each.executable}
    before, counted, is_over = reading(parts), dict[str, str](), threading.Event()
    asked = (served.monitor_hz, before, parts, attempt.folder / "files", is_over)
    with ThreadPoolExecutor(max_workers=1) as pool:
        monitor = pool.submit(_monitor, *asked) if served.monitor_hz else None

        def stop() -> None:
            is_over.set()
            if not counted:
                watched = monitor.result() if monitor else {}
                told = evidence(before, reading(parts)) | {f"{BEGIN}link": link()}
                counted.update(told | watched)

        attempt.before_check.append(stop)
        try:
            yield
        finally:
            stop()
    attempt.evidence |= counted | of_client(order, attempt.finished)


def of_client(order: Order, finished: Sequence[Finished]) -> dict[str, str]:
    """CPU seconds of the program without its check; of one that a daemon started none is told."""
    is_inside = order.program.beside.is_in_arm(order.case.parameters)
    if is_inside and not order.arm.inherits_network:
        return {}
    timed = finished[: 1 + len(order.program.then)]
    spent = sum(each.user_seconds + each.system_seconds for each in timed)
    return {f"{BEGIN}client_cpu_seconds": f"{spent:.3f}"}


def link() -> str:
    """The host's interface to the client, by its address; empty without one."""
    told = psutil.net_if_addrs().items()
    return next((name for name, own in told if HOST_ADDRESS in {each.address for each in own}), "")


def reading(parts: Mapping[str, str], *, synced: bool = True) -> Reading:
    """The counters now; `parts`: of processes that do not work below `SERVERS`, by their names."""
    if synced:
        os.sync()
    of = psutil.net_io_counters(pernic=True, nowrap=False)  # of our namespace, the host's
    moved = {f"received.{name}": each.bytes_recv for name, each in of.items()}
    moved |= {f"sent.{name}": each.bytes_sent for name, each in of.items()}
    return Reading(time.monotonic(), _cpu_seconds(parts), _disks() | moved | pressure(PRESSURE))


def evidence(before: Reading, after: Reading) -> dict[str, str]:
    """The difference of two readings as texts, each name beginning with `usage_`."""
    # A server's process that began in between counts whole; of one that ended in between nothing is
    # known, and a counter that went back (an interface made anew) counts from zero.
    told = {"seconds": f"{after.seconds - before.seconds:.6f}"}
    for part in PARTS:
        of_part = [key for key in after.processes if key[0] == part]
        spent = sum(after.processes[key] - before.processes.get(key, 0.0) for key in of_part)
        told |= {f"{part}_cpu_seconds": f"{spent:.2f}", f"{part}_processes": str(len(of_part))}
    for name, now in after.counts.items():
        then = before.counts.get(name, 0)
        told[name] = str(now - then if now >= then else now)
    return {f"{BEGIN}{name}": value for name, value in told.items()}


def _cpu_seconds(parts: Mapping[str, str]) -> dict[tuple[str, int, float], float]:
    """CPU seconds by process: of those that work below `SERVERS`, and of those that are named."""
    # A container's own namespaces hide nothing from the host's /proc, and the processes of a
    # daemon's containers are found there as well, which are no children of ours.
    others = (each for each in psutil.process_iter(["name"]) if each.info["name"] in parts)
    found = {each.pid: (each, parts[each.info["name"]]) for each in others} if parts else {}
    found |= {each.pid: (each, SERVER) for each in processes_in(SERVERS)}
    seconds = {}
    for process, part in found.values():
        with suppress(psutil.Error):
            seconds[part, process.pid, process.create_time()] = sum(process.cpu_times()[:4])
    return seconds


def _disks() -> dict[str, int]:
    """Requests and bytes of all disks of the node: of those with a device, no loop and no RAM."""
    counters = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
    own = [of for name, of in counters.items() if Path(f"/sys/block/{name}/device").exists()]
    facts = ("read_count", "write_count", "read_bytes", "write_bytes")
    named = zip(DISK, facts, strict=True)
    return {name: sum(getattr(of, fact) for of in own) for name, fact in named if own}


def pressure(folder: Path) -> dict[str, int]:
    """Microseconds in which some or all tasks waited for a resource; none where no kernel tells."""
    waited = {}
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        with suppress(OSError):
            for line in path.read_text(encoding="ascii").splitlines():
                who, *words = line.split()
                total = next(word for word in words if word.startswith("total="))
                waited[f"waited_{path.name}_{who}_us"] = int(total.removeprefix("total="))
    return waited


def _monitor(
    hertz: float, last: Reading, parts: Mapping[str, str], folder: Path, is_over: threading.Event
) -> dict[str, str]:
    """Take the same readings beside a program, with a line of JSON for each interval.

    It costs the difference to the same case without, and the CPU seconds of its thread, as told.
    """
    lines = list[str]()
    while not is_over.wait(1 / hertz):
        now = reading(parts, synced=False)
        lines.append(json.dumps(evidence(last, now), sort_keys=True) + "\n")
        last = now
    told = {"readings": str(len(lines)), "cpu_seconds": f"{time.thread_time():.6f}"}
    folder.mkdir(exist_ok=True)
    (folder / SERIES).write_text("".join(lines), encoding="utf-8")
    return {f"{BEGIN}monitor_{name}": value for name, value in told.items()}
