"""Network namespaces that an open file of this process holds, and nothing else.

So none has a name on the node, and none outlives this process and those that it started in it,
however it ends. What a dead runner's processes still hold is told by a mark on their loopback
interface: who made it.
"""

import ctypes
import json
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.measure.timed_process import GRACE_SECONDS

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000  # <sched.h>
_MARK = re.compile(r"parity-(?P<runner>\d+)-(?P<born>\d+)")


@dataclass(frozen=True)
class Namespace:
    """A network namespace, by the open file that holds it."""

    file: int

    @property
    def path(self) -> str:
        """Where any process of the node finds it, as long as this one lives."""
        return f"/proc/{os.getpid()}/fd/{self.file}"

    @property
    def words(self) -> tuple[str, ...]:
        """What stands in front of a command to be in it."""
        return ("nsenter", f"--net={self.path}")

    def inside(self, do: Callable[[], T]) -> T:
        """What a function returns in it, with all its commands and sockets; raises OSError."""
        return _in_a_thread("setns", (self.file, _CLONE_NEWNET), do)

    def processes(self) -> list[psutil.Process]:
        """The processes that are in it."""
        inode, found = os.fstat(self.file).st_ino, []
        for process in psutil.process_iter():
            with suppress(OSError):
                if Path(f"/proc/{process.pid}/ns/net").stat().st_ino == inode:
                    found.append(process)
        return found

    def empty(self, grace_seconds: float) -> None:
        """End the processes in it that do not end by themselves in time."""
        deadline = time.monotonic() + grace_seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=5.0)


def held_namespace(held: ExitStack) -> Namespace:
    """A new one, marked as ours, that ends with the stack, and whoever is in it; raises OSError."""

    def mark() -> Namespace:
        made = Namespace(os.open("/proc/thread-self/ns/net", os.O_RDONLY))
        ours = f"parity-{os.getpid()}-{_born(os.getpid())}"
        output_of(["ip", "link", "set", "lo", "alias", ours, "up"])
        return made

    made = _in_a_thread("unshare", (_CLONE_NEWNET,), mark)
    held.callback(os.close, made.file)
    held.callback(made.empty, GRACE_SECONDS)
    return made


def end_left_networks() -> int:
    """End the processes still in namespaces of dead runners, which root alone finds; how many."""
    seen, ended = {Path("/proc/self/ns/net").stat().st_ino}, 0
    for process in psutil.process_iter():
        with suppress(OSError, UserError):
            file = os.open(f"/proc/{process.pid}/ns/net", os.O_RDONLY)
            try:
                is_new = (inode := os.fstat(file).st_ino) not in seen
                seen.add(inode)
                if is_new and _is_orphaned(there := Namespace(file)):
                    ended += len(there.processes())
                    there.empty(0)
            finally:
                os.close(file)
    return ended


def _is_orphaned(namespace: Namespace) -> bool:
    """Whether a runner made it that is no more."""
    shown = namespace.inside(lambda: told("ip", "-json", "link", "show", "lo"))
    if not (mark := _MARK.fullmatch(shown[0].get("ifalias", ""))):
        return False
    with suppress(psutil.NoSuchProcess):
        runner, born = psutil.Process(int(mark["runner"])), int(mark["born"])
        return _born(runner.pid) != born or runner.status() == psutil.STATUS_ZOMBIE
    return True


def _born(process: int) -> int:
    """A process's start, in ticks since the boot, which no clock moves; raises NoSuchProcess."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise psutil.NoSuchProcess(process) from error
    # proc(5), field 22; the second is the name, which may hold anything.
    return int(stat.rpartition(")")[2].split()[19])


def _in_a_thread(call: str, arguments: tuple[int, ...], do: Callable[[], T]) -> T:
    """Do something in a thread that a call gives a namespace of its own, which ends with it."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(ask_kernel, call, *arguments).result()
        return pool.submit(do).result()


def ask_kernel(call: str, *arguments: int | bytes) -> None:
    """A call of the C library that Python 3.11 has not; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, call)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def told(*words: str) -> Any:
    """What a command says as JSON; raises UserError."""
    return json.loads(output_of(words))


def batch(lines: list[str]) -> None:
    """Let `ip` do all of this; raises UserError."""
    output_of(["ip", "-batch", "-"], given="\n".join(lines))


def without_ipv6(*interfaces: str) -> None:
    """Nobody asks for neighbours and routers of a protocol that nobody uses here."""
    for name in interfaces:
        if (path := Path("/proc/sys/net/ipv6/conf", name, "disable_ipv6")).exists():
            path.write_text("1", encoding="ascii")
