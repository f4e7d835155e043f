"""Samples memory while a program runs: only for the sampled cases, which are cases of their own."""

import json
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from parity.measure.node import free_per_cpu

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
    """Takes a sample before the program starts, then one every interval until it is stopped."""

    # Seconds; names of the processes to sample beside the node as a whole.
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
