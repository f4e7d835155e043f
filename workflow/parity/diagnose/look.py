"""One look at a program while it runs: which process it is, and what steps need of a container.

Its filters of system calls the kernel gives to root as instructions that can be loaded again
(PTRACE_SECCOMP_GET_FILTER of ptrace(2)); one that asks a program of its own
(SECCOMP_RET_USER_NOTIF) cannot be.
"""

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import psutil

from parity.core.errors import UserError
from parity.diagnose.surroundings import Surroundings, namespace_of, read, seen_at

# What is copied out of a container. The image is too large to be kept: its files, what is made
# of them, and where it is mounted.
CODE, PRELOADED, FILTER, IMAGE = "code", "preload", "filter-{}.bpf", "image"
FILES, SQUASHED, ROOT = f"{IMAGE}/files", f"{IMAGE}/squashed", f"{IMAGE}/root"
_SERVERS = {"squashfuse", "squashfuse_ll", "fuse-overlayfs"}
LARGEST_IMAGE, _BYTES_OF_AN_INSTRUCTION, _PR_SET_CHILD_SUBREAPER = 4 << 30, 8, 36
_SEIZE, _INTERRUPT, _DETACH, _GET_FILTER = 0x4206, 0x4207, 17, 0x420C
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.005, 0.05


class _Seen(NamedTuple):
    """A process whose words are the program's, and that of its family which uses the CPU.

    Seen twice, the greater one is the program: a script in front of it has words in front of its
    own as well, and uses no CPU time.
    """

    unlike: int
    is_ours: bool
    cpu_seconds: float
    depth: int
    pid: int
    busy: int


class ProgramFails(UserError):
    """The program was started and failed, or cannot be started."""


def look(
    words: Sequence[str], program: Sequence[str], keep: Path | None = None, in_front: int = 0
) -> tuple[Surroundings, str]:
    """What surrounds a program that is run once, as late as possible, and what it wrote.

    `words` are all of the command line, `program` those with which the process's end, after so many
    `in_front` of an interpreter. To `keep` a container's filters, code and image are copied; what
    was seen of a program counts then even if it fails. Raises ProgramFails: it fails, or cannot be
    started. Raises UserError: it may not be read, or is over too soon.
    """
    adopt = partial(ctypes.CDLL(None).prctl, _PR_SET_CHILD_SUBREAPER)
    with TemporaryFile() as output, TemporaryFile() as errors:
        # Engines leave a container to nobody: what loses its parent is below us meanwhile.
        adopt(1, 0, 0, 0)
        try:
            process = psutil.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
            # What this cannot read is no error of it.
            seen = _watched(process, program, keep, in_front)
        except OSError as error:
            raise ProgramFails(f"{words[0]} cannot be started: {error.strerror}") from None
        finally:
            adopt(0, 0, 0, 0)
        for file in (output, errors):
            file.seek(0)
        written, said = (file.read().decode(errors="replace") for file in (output, errors))
    where = " ".join(words)
    if process.returncode and not (seen and keep):
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        raise ProgramFails(f"it ended with status {process.returncode}: {last}", where=where)
    if seen is None:
        problem = f"{program[0]} was over before it could be looked at"
        raise UserError(problem, where=where, action="let it run for a second or longer")
    return seen, written


def _watched(
    process: psutil.Popen, program: Sequence[str], keep: Path | None, in_front: int
) -> Surroundings | None:
    """The last complete reading before the process ends; None if there was none.

    Raises UserError: the process is somebody else's.
    """
    best: _Seen | None = None
    found: Surroundings | None = None
    denied, began = False, process.create_time()
    while process.poll() is None:
        now = max(_candidates(program, began, in_front), default=None)
        try:
            if now and (best is None or now[:3] >= best[:3]):
                reading = read(now.pid, now.busy)
                # What serves a root on which a container lays its own is below us.
                below = {child.name() for child in psutil.Process().children(recursive=True)}
                if server := min(below & _SERVERS, default=""):
                    reading = replace(reading, root=f"fuse.{server}")
                is_same = best and found and (best.busy, found.busy) == (now.busy, reading.busy)
                # What comes late is a library that the program loads itself.
                if not found or not is_same or len(reading.files) >= len(found.files):
                    if keep:
                        _copy(now, reading, keep, is_other=not is_same)
                    best, found = now, reading
        except PermissionError:
            denied = True
        except (OSError, IndexError, ValueError, psutil.Error):
            # It ended, or has not begun: what was complete before stands.
            pass
        time.sleep(_FIRST_LOOK_SECONDS if found is None else _LOOK_SECONDS)
    if denied and found is None:
        raise UserError("the process in the container is somebody else's", action="call it as root")
    return found


def _candidates(program: Sequence[str], began: float, in_front: int) -> Iterator[_Seen]:
    """The processes whose words end with the program's, an interpreter in front of them at most.

    They are below us, or where a daemon starts containers in another mount namespace than ours.
    A container's engine has the program's words at its end as well, behind many more.
    """
    name, rest = Path(program[0]).name, list(program[1:])
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.create_time() < began:
                continue
            words = process.cmdline()
            tail, front = words[-len(program) :], len(words) - len(program)
            # Two words in front are an interpreter and its option.
            if not 0 <= front <= 2 or Path(tail[0]).name != name or tail[1:] != rest:
                continue
            above = [parent.pid for parent in process.parents()]
            is_ours = os.getpid() in above
            if is_ours or namespace_of("mnt", process.pid) != namespace_of("mnt"):
                family = [process, *process.children(recursive=True)]
                seconds, busy = max((sum(it.cpu_times()[:2]), it.pid) for it in family)
                yield _Seen(-abs(front - in_front), is_ours, seconds, len(above), process.pid, busy)


def _copy(now: _Seen, reading: Surroundings, keep: Path, is_other: bool) -> None:
    """Copy what a step needs of a container: its filters, its code, and the image.

    Code has its own name and those of the links beside it, one of which is its SONAME. What is
    preloaded is found by its path, and may have the name of a library. `is_other`: whether what
    was copied before is of another process.
    """
    process = Path(f"/proc/{now.busy}")
    if is_other:
        dump_filters(now.busy, keep)
        for folder in (keep / CODE, keep / PRELOADED):
            shutil.rmtree(folder, ignore_errors=True)
    for path in reading.files:
        there = seen_at(process, path)
        beside = [link for link in there.parent.iterdir() if link.is_symlink()]
        names = {there.name, *(link.name for link in beside if link.readlink().name == there.name)}
        is_preloaded = path in reading.preloaded.values()
        copies = [copy_of(keep, path)] if is_preloaded else [keep / CODE / name for name in names]
        for copy in copies:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(there.read_bytes())
            copy.chmod(0o755)
    is_apart = reading.namespaces["mnt"] != namespace_of("mnt")
    if is_other and is_apart and os.geteuid() == 0 and not (keep / FILES).exists():
        _copy_image(now.pid, reading, keep / FILES)


def copy_of(folder: Path, path: str) -> Path:
    """Where the copy is of a preloaded file of a container."""
    return folder / PRELOADED / path.lstrip("/")


def _copy_image(pid: int, reading: Surroundings, copy: Path) -> None:
    """Copy the root's file system of a process that stands still meanwhile.

    None is there afterwards of one that is too large, or has code that we may not read.
    """
    process, root, mounts = psutil.Process(pid), f"/proc/{pid}/root/", tuple(reading.mounts)
    copy.parent.mkdir(exist_ok=True)
    process.suspend()
    try:
        size = subprocess.run(["du", "-sxB1", root], capture_output=True, text=True, check=False)
        if int(size.stdout.split()[0]) <= LARGEST_IMAGE:
            words = ["cp", "-a", "--one-file-system", "--reflink=auto", f"{root}.", str(copy)]
            subprocess.run(words, capture_output=True, check=False)
            # What nobody may read is not missed, but what the program runs is.
            code = (path for path in reading.files if not path.startswith(mounts))
            if not all((copy / path.lstrip("/")).exists() for path in code):
                shutil.rmtree(copy, ignore_errors=True)
    finally:
        process.resume()


def dump_filters(pid: int, keep: Path) -> None:
    """Write each filter of a process to a file of its own, the oldest first.

    Where the kernel gives none to us, there are none; `Surroundings.filters` says how many are.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(_SEIZE, pid, None, None) != 0:
        return
    try:
        # It has to stand still to be asked.
        if libc.ptrace(_INTERRUPT, pid, None, None) != 0:
            return
        # A thread of another's child is waited for by its number alone.
        os.waitpid(pid, 0x40000000)
        filters: list[bytes] = []
        # The kernel counts from the newest.
        while (count := libc.ptrace(_GET_FILTER, pid, len(filters), None)) > 0:
            place = ctypes.create_string_buffer(count * _BYTES_OF_AN_INSTRUCTION)
            libc.ptrace(_GET_FILTER, pid, len(filters), place)
            filters.append(place.raw)
        for before in keep.glob(FILTER.format("*")) if filters else ():
            before.unlink()
        # Bubblewrap loads files in the order of its words.
        for number, content in enumerate(reversed(filters)):
            (keep / FILTER.format(number)).write_bytes(content)
    except ChildProcessError:
        return
    finally:
        libc.ptrace(_DETACH, pid, None, ctypes.c_void_p(0))
