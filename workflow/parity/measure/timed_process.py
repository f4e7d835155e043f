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

# Names of further variables that are kept, with commas between them.
KEEP = "PARITY_KEEP"


@dataclass(frozen=True)
class Finished:
    """How one start ended.

    Attributes:
        user_seconds, system_seconds: CPU time of the process and of those it waited for.
    """

    exit_code: int  # exit status, or minus the signal's number
    wall_seconds: float  # monotonic clock from just before the start to the end
    user_seconds: float
    system_seconds: float
    timed_out: bool  # whether it was stopped because its time was over


class _TimeIsOver(Exception):
    """Raised out of `wait4` by the timer's signal."""


def launch_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that runtimes and launchers are started with, equal for all arms."""
    # What the site says that modules set, which the rules pass on to every node.
    names = (*KEPT.variables, *environment.get(KEEP, "").split(","))
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
    """Kill the process group of a session that we started; it may be gone already.

    `grace_seconds`: how long it is first asked to end by itself. A launcher passes the request on
    to its ranks on other nodes, which our own SIGKILL cannot reach.
    """
    try:
        if grace_seconds:
            os.killpg(leader, signal.SIGTERM)
            deadline = time.monotonic() + grace_seconds
            while time.monotonic() < deadline and not os.waitid(
                os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT
            ):
                time.sleep(0.05)
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError, ChildProcessError):
        return


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
    """Run a command, or several at once, to their ends.

    Raises OSError: one of the commands cannot be started at all, and then nor is any other. Returns
    how each ended, in the order of `starts`.

    Args:
        starts: of each the words, which no shell reads, and the folder to whose files `stdout`
            and `stderr` its output is added verbatim.
        folder: working directory of the commands; runs have one that tells them from
            everything else on the node, so that left-overs can be found.
        on_start: called with the process ids right after all are started; only sampled runs and
            those of several use it, because whatever it does happens beside the program.
        on_stop: all called before a command is stopped, to end what it may wait for.
        grace_seconds: how long a command that is stopped may take to end by itself.
    """
    running: dict[int, int] = {}
    ended: dict[int, Finished] = {}

    def wait(pid: int, timed_out: bool = False) -> None:
        number, status, used = os.wait4(pid, 0)
        if number in running:
            seconds = (time.monotonic_ns() - running.pop(number)) / 1e9
            code = os.waitstatus_to_exitcode(status)
            ended[number] = Finished(code, seconds, used.ru_utime, used.ru_stime, timed_out)

    pids: list[int] = []
    try:
        for argv, into in starts:
            with (into / "stdout").open("ab") as out, (into / "stderr").open("ab") as err:
                began = time.monotonic_ns()
                process = started(argv, out, err, environment, folder)
            running[process.pid] = began
            pids.append(process.pid)
            # It is waited for here, and by nobody else.
            process.returncode = 0
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


# <linux/prctl.h>: orphans of ours are handed to us instead of the first process.
_PR_SET_CHILD_SUBREAPER = 36
# A runtime's helpers end a moment after their program.
GRACE_SECONDS = 1.0
LONGEST_END_SECONDS = 5.0


class Orphan(NamedTuple):
    """A process that a program left: its name, and the CPU time that it took in seconds."""

    name: str
    cpu_seconds: float


# Whether this process is their parent. Others have children of their own to look after.
_adopting = False


def adopt() -> None:
    """Become the parent of all orphans below this process; it stays so to the end.

    Raises OSError: the kernel does not do it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become the parent of orphans")
    global _adopting
    _adopting = True


def end_orphans(spared: Collection[str] = ()) -> tuple[Orphan, ...]:
    """End the processes below this one, and tell those that did not end by themselves.

    To be called while nothing of our own runs. Where nothing is left it takes microseconds.
    `spared`: names of processes that stay.
    """
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
            # Those that ended are forgotten.
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return []
        left = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                left += [] if process.name() in spared else [process]
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.01)
