"""Starts a program and sleeps in `wait` until it ends: the timed section, and nothing else."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import psutil

from parity.measure.node import KEPT
from parity.plan.system import BATCH_SYSTEMS


@dataclass(frozen=True)
class Finished:
    """How one start ended."""

    exit_code: int  # exit status, or minus the signal's number
    wall_seconds: float  # monotonic clock from just before the start to the end
    user_seconds: float  # CPU time of the process and of those it waited for
    system_seconds: float
    timed_out: bool  # whether it was stopped because its time was over


class _TimeIsOver(Exception):
    """Raised out of `wait4` by the timer's signal."""


def launch_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that runtimes and launchers are started with, equal for all arms."""
    # What the site says that modules set, whose names the rules pass on to every node.
    names = (*KEPT.variables, *environment.get("PARITY_KEEP", "").split(","))
    # By these the launcher of a batch system finds its job and its daemons.
    begin = tuple(word for each in BATCH_SYSTEMS.values() for word in each.variables)
    kept = {k: v for k, v in environment.items() if k in names or k.startswith(begin)}
    # ch-run refuses to start without USER, and batch jobs may come without it.
    return {"USER": str(os.getuid()), "HOME": "/"} | kept | {"LC_ALL": "C"}


def _over(*_: object) -> None:
    raise _TimeIsOver


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def kill_group(leader: int, grace_seconds: float = 0.0) -> None:
    """Kill the process group of a session that we started; it may be gone already."""
    with suppress(ProcessLookupError, PermissionError, ChildProcessError):
        # A launcher passes the request on to ranks on other nodes, which our SIGKILL cannot reach.
        if grace_seconds:
            os.killpg(leader, signal.SIGTERM)
            deadline = time.monotonic() + grace_seconds
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while time.monotonic() < deadline and not os.waitid(os.P_PID, leader, flags):
                time.sleep(0.05)
        os.killpg(leader, signal.SIGKILL)


def started(
    words: Sequence[str], out: IO[bytes], err: IO[bytes], environment: Mapping[str, str],
    folder: Path | None,
) -> subprocess.Popen[bytes]:  # fmt: skip
    """A command that reads nothing, in a session and process group of its own; raises OSError."""
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=dict(environment), cwd=folder,
        start_new_session=True,
    )  # fmt: skip


def run_and_wait(
    *starts: tuple[Sequence[str], Path], environment: Mapping[str, str], timeout_seconds: float,
    folder: Path | None = None, on_start: Callable[[Sequence[int]], None] | None = None,
    on_stop: Sequence[Callable[[], None]] = (), grace_seconds: float = 0.0,
) -> list[Finished]:  # fmt: skip
    """Run a command, or several at once, to their ends: how each ended, in the order of `starts`.

    Raises OSError: one cannot be started at all, and then nor is any other. `starts`: of each the
    words, which no shell reads, and the folder to whose files `stdout` and `stderr` its output is
    added verbatim. `folder`: where they work; runs have one by which left-overs can be found.
    `on_start`: called with the process ids when all are started; what it does is beside them.
    `on_stop`: all called before one is stopped, to end what it may wait for. `grace_seconds`: how
    long one that is stopped may take to end by itself.
    """
    running, ended, pids = dict[int, int](), dict[int, Finished](), list[int]()

    def wait(pid: int, timed_out: bool = False) -> None:
        number, status, used = os.wait4(pid, 0)
        if number in running:
            seconds = (time.monotonic_ns() - running.pop(number)) / 1e9
            code = os.waitstatus_to_exitcode(status)
            ended[number] = Finished(code, seconds, used.ru_utime, used.ru_stime, timed_out)

    try:
        for argv, into in starts:
            with (into / "stdout").open("ab") as out, (into / "stderr").open("ab") as err:
                began = time.monotonic_ns()
                process = started(argv, out, err, environment, folder)
            running[process.pid] = began
            pids.append(process.pid)
            process.returncode = 0  # it is waited for here, and by nobody else
        if on_start:
            on_start(pids)
        with _alarm(timeout_seconds):
            while running:
                wait(next(iter(running)) if len(running) == 1 else -1)
    except BaseException as why:
        # Their time is over, or the runner itself is being stopped: nothing of ours may stay.
        for let_go in on_stop:
            let_go()
        for pid in [*running]:
            kill_group(pid, grace_seconds)
            try:
                wait(pid, isinstance(why, _TimeIsOver))
            except ChildProcessError:
                # It ended just when we were interrupted: it is reaped, and not written down.
                seconds = (time.monotonic_ns() - running.pop(pid)) / 1e9
                ended[pid] = Finished(-signal.SIGKILL, seconds, 0.0, 0.0, True)
        if not isinstance(why, _TimeIsOver):
            raise
    # Stragglers of the session (a runtime's helper, a rank) end with the run.
    for pid in pids:
        kill_group(pid)
    return [ended[pid] for pid in pids]


_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>: orphans come to us, and not to the first process
GRACE_SECONDS = 1.0  # a runtime's helpers end a moment after their program
LONGEST_END_SECONDS = 5.0


class Orphan(NamedTuple):
    """A process that a program left: its name, and the CPU time that it took in seconds."""

    name: str
    cpu_seconds: float


_adopting = False  # whether this process is their parent; others look after their own children


def adopt() -> None:
    """Become the parent of all orphans below this process, to the end; or raise OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become the parent of orphans")
    global _adopting
    _adopting = True


def end_orphans(spared: Collection[str] = ()) -> tuple[Orphan, ...]:
    """End the processes below this one but those spared by name, while nothing of our own runs."""
    found: list[Orphan] = []
    for process in _left_after(GRACE_SECONDS, spared) if _adopting else ():
        with suppress(psutil.NoSuchProcess):
            used = process.cpu_times()
            found.append(Orphan(process.name(), used.user + used.system))
            process.kill()
    if found:
        _left_after(LONGEST_END_SECONDS, spared)
    return tuple(found)


def _left_after(seconds: float, spared: Collection[str]) -> list[psutil.Process]:
    deadline = time.monotonic() + seconds
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue  # those that ended are forgotten
        except ChildProcessError:
            return []
        left = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                left += [] if process.name() in spared else [process]
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.01)
