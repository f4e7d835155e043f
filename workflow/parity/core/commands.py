"""The programs that we depend on: run, with what they said when they fail, or only asked."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.core.errors import MAKE_ROOM, NO_ROOM, UserError

FUSE, FULL = Path("/dev/fuse"), "the file system is full"
_LINES_SHOWN = 20
# How programs say that a disk or a quota is full, and how long one may take to clean up.
_FULL = tuple(map(os.strerror, NO_ROOM))
_LONGEST_END_SECONDS = 20


@dataclass(frozen=True)
class Availability:
    """Whether something can be used here and now, as a probe answers."""

    available: bool
    version: str = ""  # that it says, if it can
    reason: str = ""  # why not, for the ledger
    remedy: str = ""  # what to do about it


def no_fuse(device: Path = FUSE) -> Availability | None:
    """Why a user cannot mount a file system in user space here; None if it can."""
    if os.access(device, os.R_OK | os.W_OK):
        return None
    if not device.exists():
        return Availability(False, reason=f"no {device}", remedy="as root: modprobe fuse")
    remedy = f"as root: chmod 0666 {device}"
    return Availability(False, reason=f"no access to {device}", remedy=remedy)


def output_of(
    argv: Sequence[str | Path], *, environment: Mapping[str, str] | None = None,
    inherited: Collection[str] | None = None, log: Path | None = None, given: str = "",
    told: Callable[[str], None] | None = None,
) -> str:  # fmt: skip
    """Run a command to its end, in a session of its own, and return its standard output.

    What it does to its process group, such as to hang up, does not reach ours. It sees our own
    variables of the names `inherited` (all by default), with `environment` on top, and reads
    `given`; `told` is given each line of its output as it comes, errors among them. The command
    line and both streams are appended to `log`. Raises UserError: the program is not there, failed
    (the message ends with its output), or had no room.
    """
    assert not (told and given), "what is followed is given nothing"
    words = [str(word) for word in argv]
    ours = {k: v for k, v in os.environ.items() if inherited is None or k in inherited}
    seen, pipe = {**ours, **(environment or {})}, subprocess.PIPE
    with ExitStack() as at_end:
        try:
            with _interrupted_later():
                process = at_end.enter_context(subprocess.Popen(
                    words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT if told else pipe,
                    text=True, errors="replace", env=seen, start_new_session=True,
                ))  # fmt: skip
                at_end.callback(_end, process)
        except FileNotFoundError as error:
            raise UserError(f"{words[0]} is not installed", action="make setup") from error
        except OSError as error:
            raise UserError(f"{words[0]} cannot be started: {error.strerror}") from error
        stdout, stderr = _followed(process, told) if told else process.communicate(given)
    if log:
        with log.open("a") as file:
            file.write(f"$ {' '.join(words)}\n{stdout}{stderr}\n")
    if status := process.returncode:
        last = "\n".join((stdout + stderr).splitlines()[-_LINES_SHOWN:])
        failed = f"this command failed with status {status}: {words}\n{last}"
        if any(said.lower() in (stderr or stdout).lower() for said in _FULL):
            raise UserError(f"{FULL}\n{failed}", action=MAKE_ROOM)
        raise UserError(failed)
    return stdout


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """What interrupts us comes at the end: within `Popen` it would leave a program to itself."""
    came, handlers = list[tuple[int, Any]](), dict[int, Callable[[int, Any], Any]]()
    if threading.current_thread() is threading.main_thread():  # the one that signals interrupt
        for each in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(each)):
                handlers[each] = handler
                signal.signal(each, lambda *signalled: came.append(signalled))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in came:
            handlers[number](number, frame)


def _followed(process: subprocess.Popen[str], told: Callable[[str], None]) -> tuple[str, str]:
    assert process.stdin and process.stdout
    process.stdin.close()
    lines = []
    for line in process.stdout:
        lines.append(line)
        told(line)
    process.wait()
    # Errors are among them.
    return "".join(lines), ""


def _end(process: subprocess.Popen[str]) -> None:
    """End a program that is still there, because we were interrupted, and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LONGEST_END_SECONDS)


def answer_of(
    argv: Sequence[str | Path], *, seconds: float = 30, given: str = ""
) -> tuple[bool, str]:
    """Ask a program, which reads `given`: whether it succeeded, and the first line that it said.

    A program that is absent, fails or hangs is an answer, not an error; while images are made, one
    that is there may need many seconds to say its version. Errors are told first where it failed,
    and else only if it said nothing: an engine warns before it answers.
    """
    # ch-run refuses even to say its version without USER.
    seen = {"USER": str(os.getuid()), **os.environ}
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, input=given, capture_output=True, text=True, errors="replace", timeout=seconds,
            env=seen,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    succeeded = done.returncode == 0
    texts = (done.stdout, done.stderr) if succeeded else (done.stderr, done.stdout)
    return succeeded, next(iter("\n".join(texts).strip().splitlines()), "")


def is_installed(program: str) -> bool:
    """Whether a program of that name is on PATH."""
    return shutil.which(program) is not None
