"""Which processes are the cluster's own, how they end, and what it could leave of any kind.

Nothing else is ever signalled.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen

import psutil

from parity.core.commands import output_of
from parity.core.errors import UserError
from virtual_cluster import layout, network
from virtual_cluster.layout import Node

LONGEST_END_SECONDS = 30
_DAEMONS = {"munged", "slurmctld", "slurmdbd", "mariadbd"}
# What holds a node's namespaces, and what the tests' jobs start; others may sleep as they like.
_SLEEPERS = (["sleep", "infinity"], ["sleep", "600"])


def traces() -> dict[str, object]:
    """Daemons, namespaces, links, routes, mounts and files of a cluster, whoever made them.

    They are seen without the cluster's own book-keeping.
    """
    seen = [each.info for each in psutil.process_iter(["name", "cmdline"])]
    daemons, names = {*_DAEMONS, "slurmd", "slurmstepd"}, [each["name"] for each in seen]
    links, memory, configuration = (
        sorted(path.name for path in Path(folder).glob("*"))
        for folder in ("/sys/class/net", "/dev/shm", "/etc/slurm")
    )
    return {
        "daemons": sorted(name for name in names if name in daemons),
        "sleepers": sum(each["cmdline"] in _SLEEPERS for each in seen),
        "namespaces": output_of(["ip", "netns"]), "links": links,
        "routes": output_of(["ip", "route"]), "mounts": Path("/proc/mounts").read_text(),
        "folders": {name: os.path.lexists(name) for name in ("/run/netns", "/tmp/parity")},
        "state": layout.STATE.exists(), "shared memory": memory, "configuration": configuration,
    }  # fmt: skip


def start(argv: Sequence[str | Path], log: Path, user: str = "", **environment: str) -> Popen:
    """Start a daemon that outlives us, in a session of its own, its output going to a log."""
    words, own = list(map(str, argv)), {"cwd": "/", "env": os.environ | environment}
    own |= {"user": user, "group": user, "extra_groups": ()} if user else {}
    with log.open("a") as file:
        streams = {"stdin": DEVNULL, "stdout": file, "stderr": file}
        return Popen(words, start_new_session=True, **streams, **own)


def daemons(*names: str) -> list[psutil.Process]:
    """The cluster's daemons on the host itself, by name: they name our folder when started."""
    state, wanted, found = str(layout.STATE), names or _DAEMONS, []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.name() not in wanted or process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = [*process.cmdline(), process.environ().get("SLURM_CONF", "")]
            if any(state in word for word in words):
                found.append(process)
    return found


def on_nodes(node: Node | None = None) -> list[psutil.Process]:
    """Every process on a node (on all nodes if None), with all of its descendants.

    They are in its network namespace or have its scratch file system mounted, or descend from one.
    """
    files = [network.NAMESPACES / node.namespace] if node else network.namespaces()
    networks = {_identity(path) for path in files} - {None}
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            is_there = _identity(Path(f"/proc/{process.pid}/ns/net")) in networks or any(
                source == node.mark if node else source.startswith(layout.MARK)
                for source in _mounted_sources(process.pid)
            )
            if is_there and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = process
                found |= {child.pid: child for child in process.children(recursive=True)}
    found.pop(os.getpid(), None)
    return list(found.values())


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        facts = path.stat()
        return facts.st_dev, facts.st_ino
    return None


def _mounted_sources(pid: int) -> list[str]:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
        told = [line.partition(" - ")[2].split() for line in lines]
        return [source for kind, source, *_ in told if kind == "tmpfs"]
    return []


def end(processes: Iterable[psutil.Process]) -> None:
    """Kill processes and wait until they are gone, for a few seconds at most."""
    left = list(processes)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def end_all(find: Callable[[], list[psutil.Process]]) -> None:
    """End every process that `find` finds, also those born meanwhile; UserError: one hangs."""
    deadline = time.monotonic() + LONGEST_END_SECONDS
    while left := find():
        if time.monotonic() > deadline:
            named = ", ".join(f"{process.pid}" for process in left)
            raise UserError(
                f"these processes of the virtual cluster do not end: {named}",
                action="see what they wait for (ps -o wchan), then cluster-down again",
            )
        end(left)
