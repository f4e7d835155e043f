"""What surrounds a program while it runs: read from outside, of the process itself.

Everything is what the kernel says of the process (proc(5), cgroups(7)), so nothing has to be in the
image, and it holds for whatever started the container. Its filters of system calls the kernel gives
to root as instructions that can be loaded again (PTRACE_SECCOMP_GET_FILTER of ptrace(2)); one that
asks a program of its own (SECCOMP_RET_USER_NOTIF) cannot be.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from parity.core.errors import UserError
from parity.runtimes.limits import CONTROL_GROUPS

SURROUNDINGS = "surroundings.json"
NAMESPACES = ("mnt", "pid", "ipc", "uts", "net", "user")
# Variables that name a place or a session, and nothing that a program computes with.
_OF_PLACE = {"HOSTNAME", "PWD", "OLDPWD", "HOME", "TERM", "container", "SHLVL", "_", "PATH", "USER"}
# By the names of `prlimit`'s options, how the kernel calls a limit.
_LIMITS = {
    "stack": "Max stack size",
    "memlock": "Max locked memory",
    "nofile": "Max open files",
    "nproc": "Max processes",
    "data": "Max data size",
    "as": "Max address space",
}
FILTER = "filter-{}.bpf"
_SEIZE, _INTERRUPT, _DETACH, _GET_FILTER = 0x4206, 0x4207, 17, 0x420C
_BYTES_OF_AN_INSTRUCTION = 8
_POLL_SECONDS = 0.005
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Surroundings:
    """What a process had around it.

    Attributes:
        cpus: list of those that it may run on, as the kernel writes it.
        quota: microseconds of CPU time in a period, and the period; None without a limit.
        limits: soft and hard limit of each resource, as `prlimit` names them.
        namespaces: identity of each.
        filters: how many filters of system calls it has.
        shared_memory: bytes of the file system at /dev/shm; 0 if there is none.
        root: type of the root's file system.
        files: mapped files of code, SHA-256 by path as the process sees it.
        command: the process's own words, the first of which is its executable's path.
    """

    cpus: str
    quota: tuple[int, int] | None
    limits: Mapping[str, str]
    variables: Mapping[str, str]
    namespaces: Mapping[str, str]
    filters: int
    shared_memory: int
    root: str
    files: Mapping[str, str]
    command: tuple[str, ...]
    memory_limit: int = 0
    huge_pages: str = ""
    nice: int = 0

    @property
    def executable(self) -> str:
        """The digest of the program's own file."""
        return self.files.get(self.command[0], "")

    @property
    def libraries(self) -> dict[str, str]:
        """The digests of all other files by their names."""
        return {Path(path).name: it for path, it in self.files.items() if path != self.command[0]}


def document(side: Surroundings) -> dict[str, Any]:
    """What is kept of it: of variables the names, since a value may be a secret."""
    return {**asdict(side), "variables": sorted(side.variables)}


def look(
    words: Sequence[str], program: Sequence[str], keep: Path, *, may_fail: bool = False
) -> Surroundings:
    """Run the program once, and read what surrounds it as late as possible before it ends.

    Args:
        words: all of the command line, a container's words included.
        program: the program's own words, with which its process's end.
        keep: folder to which its code's files and filters are copied, by SONAME where it has one.
        may_fail: whether what was seen of a program counts that then fails.

    Raises:
        UserError: it cannot be started, fails, may not be read, or is over too soon.
    """
    with TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
            )
        except OSError as error:
            raise UserError(f"{words[0]} cannot be started: {error.strerror}") from None
        found = _watched(process, program, keep)
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    if process.returncode and not (found and may_fail):
        last = lines[-1] if lines else "it said nothing"
        raise UserError(f"it ended with status {process.returncode}: {last}", where=" ".join(words))
    if found is None:
        raise UserError(
            f"{program[0]} was over before it could be looked at",
            where=" ".join(words),
            action="let it run for a second or longer",
        )
    return found


def _watched(
    process: subprocess.Popen[bytes], program: Sequence[str], keep: Path
) -> Surroundings | None:
    """The last complete reading before the process ends; None if there was none.

    Raises:
        UserError: the process is somebody else's.
    """
    found, denied = None, False
    while process.poll() is None:
        # Words such as `unshare --fork` have a process between, which is there first.
        if own := _own_process(process.pid, program):
            try:
                if found is None:
                    dump_filters(own, keep)
                seen = read(own)
                # What comes late is a library that the program loads itself.
                if found is None or len(seen.files) >= len(found.files):
                    _copy(own, keep)
                    found = seen
            except PermissionError:
                denied = True
            except (OSError, IndexError, ValueError):
                # It ended, or has not begun: what was complete before stands.
                pass
        time.sleep(_POLL_SECONDS if found is None else _LOOK_SECONDS)
    if denied and found is None:
        raise UserError("the process in the container is somebody else's", action="call it as root")
    return found


def _own_process(started: int, program: Sequence[str]) -> int | None:
    """The process whose words end with the program's, an interpreter in front of them at most.

    A container's engine has them at its end as well, behind many more.
    """
    name, rest = Path(program[0]).name, list(program[1:])
    for entry in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: -int(path.name)):
        with suppress(OSError, IndexError):
            words = _words(entry / "cmdline")
            # Two words in front are an interpreter and its option.
            tail = words[len(words) - len(program) :]
            if len(words) > len(program) + 2 or len(tail) != len(program):
                continue
            is_it = Path(tail[0]).name == name and tail[1:] == rest
            pid = int(entry.name)
            if is_it and pid >= started:
                return pid
    return None


def read(pid: int) -> Surroundings:
    """What surrounds a process now.

    Raises:
        OSError: it is not there any more, or belongs to somebody else.
    """
    process = Path("/proc", str(pid))
    lines = (process / "status").read_text().splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    variables = dict(
        word.partition("=")[::2] for word in _words(process / "environ") if "=" in word
    )
    return Surroundings(
        cpus=status["Cpus_allowed_list"],
        quota=_quota(process),
        limits=_limits((process / "limits").read_text().splitlines()),
        variables={name: value for name, value in variables.items() if name not in _OF_PLACE},
        namespaces={name: str((process / "ns" / name).readlink()) for name in NAMESPACES},
        filters=int(status.get("Seccomp_filters", "0")),
        shared_memory=_size(process / "root/dev/shm"),
        root=_root_type(process),
        files={path: _digest(process, path) for path in mapped(process)},
        command=(str((process / "exe").readlink()), *_words(process / "cmdline")[1:]),
        memory_limit=_memory_limit(process),
        huge_pages=status.get("THP_enabled", ""),
        nice=os.getpriority(os.PRIO_PROCESS, pid),
    )


def _words(file: Path) -> list[str]:
    return file.read_bytes().decode(errors="replace").split("\0")[:-1]


def mapped(process: Path) -> list[str]:
    """The files of which a process has code in memory, as it sees them."""
    found = set()
    for line in (process / "maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        # Code that a program makes while it runs has names of this kind, and no file.
        is_file = (
            len(words) == 6 and words[5].startswith("/") and not words[5].startswith("/memfd:")
        )
        if is_file and "x" in words[1] and not words[5].endswith(" (deleted)"):
            found.add(words[5])
    return sorted(found)


def _digest(process: Path, path: str) -> str:
    return hashlib.sha256((process / "root" / path.lstrip("/")).read_bytes()).hexdigest()


def _copy(pid: int, keep: Path) -> None:
    """Copy code by its own name and by those of the links beside it, one of which is its SONAME."""
    process = Path("/proc", str(pid))
    for path in mapped(process):
        there = process / "root" / path.lstrip("/")
        content = there.read_bytes()
        links = [
            each.name
            for each in there.parent.iterdir()
            if each.is_symlink() and each.readlink().name == there.name
        ]
        for name in {there.name, *links}:
            (keep / name).write_bytes(content)
            (keep / name).chmod(0o755)


def _limits(lines: Sequence[str]) -> dict[str, str]:
    """`soft:hard` by the names of `prlimit`'s options."""
    return {
        name: ":".join(line.removeprefix(title).split()[:2])
        for name, title in _LIMITS.items()
        for line in lines
        if line.startswith(title)
    }


def _size(folder: Path) -> int:
    try:
        there = os.statvfs(folder)
    except OSError:
        return 0
    return there.f_blocks * there.f_frsize


def _root_type(process: Path) -> str:
    for line in (process / "mountinfo").read_text().splitlines():
        words = line.split()
        if words[4] == "/":
            kind = words[words.index("-") + 1]
    return kind


def _groups(process: Path) -> list[Path]:
    """The folders of its control groups, each with those above it."""
    found = []
    for line in (process / "cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        base = CONTROL_GROUPS / controllers.removeprefix("name=")
        if number == "0" and (CONTROL_GROUPS / "unified").is_dir():
            base = CONTROL_GROUPS / "unified"
        here = base / path.lstrip("/")
        found += [here, *(each for each in here.parents if each.is_relative_to(base))]
    return found


def _quota(process: Path) -> tuple[int, int] | None:
    """The narrowest limit of CPU time of its groups, in versions 1 and 2."""
    found = []
    for group in _groups(process):
        with suppress(OSError, ValueError):
            quota = int((group / "cpu.cfs_quota_us").read_text())
            if quota > 0:
                found.append((quota, int((group / "cpu.cfs_period_us").read_text())))
        with suppress(OSError, ValueError):
            quota, period = map(int, (group / "cpu.max").read_text().split())
            found.append((quota, period))
    return min(found, key=lambda each: each[0] / each[1]) if found else None


def _memory_limit(process: Path) -> int:
    """Bytes; 0 without a limit."""
    limits = []
    for group in _groups(process):
        for name in ("memory.limit_in_bytes", "memory.max"):
            with suppress(OSError, ValueError):
                limits.append(int((group / name).read_text()))
    least = min(limits, default=0)
    # Version 1 has a number for no limit.
    return 0 if least >= 2**60 else least


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
        # Bubblewrap loads files in the order of its words.
        for number, content in enumerate(reversed(filters)):
            (keep / FILTER.format(number)).write_bytes(content)
    except ChildProcessError:
        return
    finally:
        libc.ptrace(_DETACH, pid, None, ctypes.c_void_p(0))
