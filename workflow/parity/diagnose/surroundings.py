"""What surrounds a program while it runs: read from outside, of the process itself.

All of it is what the kernel says (proc(5), cgroups(7)), whatever started the container. Its filters
of system calls it gives to root as instructions that can be loaded again (PTRACE_SECCOMP_GET_FILTER
of ptrace(2)); one that asks a program of its own (SECCOMP_RET_USER_NOTIF) cannot be.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import psutil

from parity.core.errors import UserError
from parity.runtimes.limits import CONTROL_GROUPS

SURROUNDINGS = "surroundings.json"
CODE, IMAGE, FILTER = "code", "image", "filter-{}.bpf"
NAMESPACES = ("mnt", "pid", "ipc", "uts", "net", "user")
# Variables of a session, with which no program computes.
_OF_SESSION = {"HOSTNAME", "PWD", "OLDPWD", "TERM", "container", "SHLVL", "_"}
# By the names of `prlimit`'s options, how the kernel calls a limit.
_LIMITS = {
    "stack": "Max stack size",
    "memlock": "Max locked memory",
    "nofile": "Max open files",
    "nproc": "Max processes",
    "data": "Max data size",
    "as": "Max address space",
}
_SERVERS = {"squashfuse", "squashfuse_ll", "fuse-overlayfs"}
# Mounts of a container that are the kernel's or the engine's own.
_OWN_MOUNTS = re.compile(r"/(proc|sys|dev|run|etc/(hosts|hostname|resolv\.conf))(/|$)|/$")
LARGEST_IMAGE = 4 << 30
_PR_SET_CHILD_SUBREAPER = 36
_SEIZE, _INTERRUPT, _DETACH, _GET_FILTER = 0x4206, 0x4207, 17, 0x420C
_BYTES_OF_AN_INSTRUCTION = 8
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.005, 0.05


@dataclass(frozen=True)
class Surroundings:
    """What a process had around it.

    Attributes:
        cpus: list of those that it may run on, as the kernel writes it.
        quota: microseconds of CPU time in a period, and the period; None without a limit.
        limits: soft and hard limit of each resource, as `prlimit` names them.
        namespaces: identity of each.
        capabilities: a bit for each that it has.
        filters: how many filters of system calls it has.
        shared_memory: bytes of the file system at /dev/shm; 0 if there is none.
        root: type of the root's file system.
        mounts: folders of this machine, by where a container has mounted them.
        memory_limit, most_processes: of its control groups; 0 without one.
        files: mapped files of code, SHA-256 by path as the process sees it.
        command: the program's words, the first of which is its executable's path.
        busy: path of the executable that uses the CPU: its own, or one that it starts.
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
    busy: str
    folder: str = "/"
    capabilities: int = 0
    mounts: Mapping[str, str] | None = None
    memory_limit: int = 0
    most_processes: int = 0
    huge_pages: str = ""
    nice: int = 0
    user: str = ""

    @property
    def executable(self) -> str:
        """The digest of the file that uses the CPU."""
        return self.files.get(self.busy, "")

    @property
    def libraries(self) -> dict[str, str]:
        """The digests of all other files by their names."""
        return {Path(path).name: it for path, it in self.files.items() if path != self.busy}


def document(side: Surroundings) -> dict[str, Any]:
    """What is kept of it: of variables the names, since a value may be a secret."""
    return {**asdict(side), "variables": sorted(side.variables)}


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


def look(
    words: Sequence[str],
    program: Sequence[str],
    keep: Path,
    *,
    in_front: int = 0,
    may_fail: bool = False,
    copy_image: bool = False,
) -> tuple[Surroundings, str]:
    """Run the program once, and read what surrounds it as late as possible before it ends.

    Args:
        words: all of the command line, a container's words included.
        program: the program's own words, with which its process's end.
        keep: folder to which its filters are copied, and to `code` its code's files, by SONAME
            where they have one.
        in_front: how many words of an interpreter the process has in front of the program's.
        may_fail: whether what was seen of a program counts that then fails.
        copy_image: to `image`, if it is small enough, while the process stands still.

    Returns:
        What surrounds it, and what it wrote.

    Raises:
        UserError: it cannot be started, fails, may not be read, or is over too soon.
    """
    with _adopting(), TemporaryFile() as output, TemporaryFile() as errors:
        try:
            process = psutil.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        except OSError as error:
            raise UserError(f"{words[0]} cannot be started: {error.strerror}") from None
        seen = _watched(process, program, keep, in_front, copy_image)
        for file in (output, errors):
            file.seek(0)
        written, said = (file.read().decode(errors="replace") for file in (output, errors))
    if process.returncode and not (seen and may_fail):
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        raise UserError(f"it ended with status {process.returncode}: {last}", where=" ".join(words))
    if seen is None:
        raise UserError(
            f"{program[0]} was over before it could be looked at",
            where=" ".join(words),
            action="let it run for a second or longer",
        )
    return seen, written


@contextmanager
def _adopting() -> Iterator[None]:
    """Have what loses its parent below us, meanwhile: engines leave a container to nobody."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _watched(
    process: psutil.Popen, program: Sequence[str], keep: Path, in_front: int, copy_image: bool
) -> Surroundings | None:
    """The last complete reading before the process ends; None if there was none.

    Raises:
        UserError: the process is somebody else's.
    """
    process_of: _Seen | None = None
    found: Surroundings | None = None
    denied, began = False, process.create_time()
    (keep / CODE).mkdir(parents=True, exist_ok=True)
    while process.poll() is None:
        now = max(_candidates(program, began, in_front), default=None)
        if now and (process_of is None or now[:3] >= process_of[:3]):
            try:
                if process_of is None or now.busy != process_of.busy:
                    dump_filters(now.busy, keep)
                reading = read(now.pid, now.busy)
                if server := _server():
                    reading = replace(reading, root=f"fuse.{server}")
                before = process_of and found and (process_of.busy, found.busy)
                if is_other := (now.busy, reading.busy) != before:
                    shutil.rmtree(keep / CODE)
                    (keep / CODE).mkdir()
                # What comes late is a library that the program loads itself.
                if found is None or is_other or len(reading.files) >= len(found.files):
                    _copy_code(now.busy, keep / CODE)
                    if copy_image and reading.namespaces["mnt"] != _own("mnt"):
                        _copy_image(now.pid, keep / IMAGE)
                        copy_image = False
                    process_of, found = now, reading
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
            tail = words[-len(program) :]
            front = len(words) - len(program)
            # Two words in front are an interpreter and its option.
            if not 0 <= front <= 2 or Path(tail[0]).name != name or tail[1:] != rest:
                continue
            above = [parent.pid for parent in process.parents()]
            is_ours = os.getpid() in above
            if is_ours or _own("mnt", process.pid) != _own("mnt"):
                family = [process, *process.children(recursive=True)]
                seconds, busy = max((sum(it.cpu_times()[:2]), it.pid) for it in family)
                unlike = -abs(front - in_front)
                yield _Seen(unlike, is_ours, seconds, len(above), process.pid, busy)


def _server() -> str:
    """The program below us that serves a root on which a container lays its own; empty if none."""
    names = {process.name() for process in psutil.Process().children(recursive=True)}
    return min(names & _SERVERS, default="")


def _own(kind: str, pid: int | str = "self") -> str:
    return str(Path(f"/proc/{pid}/ns/{kind}").readlink())


def read(pid: int, busy: int | None = None) -> Surroundings:
    """What surrounds a process now.

    Args:
        busy: the process below it that uses the CPU, if it does not do so itself.

    Raises:
        OSError: it is not there any more, or belongs to somebody else.
    """
    first, process = Path(f"/proc/{pid}"), Path(f"/proc/{busy or pid}")
    lines = (process / "status").read_text().splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    limits = (process / "limits").read_text().splitlines()
    variables = dict(word.partition("=")[::2] for word in _words(first / "environ") if "=" in word)
    root, mounts = _mounts(process)
    return Surroundings(
        cpus=status["Cpus_allowed_list"],
        quota=_quota(process),
        limits={
            name: ":".join(line.removeprefix(title).split()[:2])
            for name, title in _LIMITS.items()
            for line in limits
            if line.startswith(title)
        },
        variables={name: value for name, value in variables.items() if name not in _OF_SESSION},
        namespaces={kind: _own(kind, process.name) for kind in NAMESPACES},
        filters=int(status.get("Seccomp_filters", "0")),
        shared_memory=_size(process / "root/dev/shm"),
        root=root,
        files={path: _digest(process, path) for path in mapped(process)},
        command=(str((first / "exe").readlink()), *_words(first / "cmdline")[1:]),
        busy=str((process / "exe").readlink()),
        folder=str((first / "cwd").readlink()),
        capabilities=int(status["CapEff"], 16),
        mounts=mounts,
        memory_limit=_least(process, "memory.limit_in_bytes", "memory.max"),
        most_processes=_least(process, "pids.max"),
        huge_pages=status.get("THP_enabled", ""),
        nice=os.getpriority(os.PRIO_PROCESS, int(process.name)),
        user=status["Uid"].split()[1],
    )


def _words(file: Path) -> list[str]:
    return file.read_bytes().decode(errors="replace").split("\0")[:-1]


def mapped(process: Path) -> list[str]:
    """The files of which a process has code in memory, as it sees them."""
    lines = (process / "maps").read_text().splitlines()
    parts = [words for line in lines if len(words := line.split(maxsplit=5)) == 6]
    # Code that a program makes while it runs has names of the second kind, and no file.
    return sorted(
        {
            path
            for _, rights, *_, path in parts
            if "x" in rights and path.startswith("/") and not path.startswith("/memfd:")
            if not path.endswith(" (deleted)")
        }
    )


def _digest(process: Path, path: str) -> str:
    return hashlib.sha256((process / "root" / path.lstrip("/")).read_bytes()).hexdigest()


def _copy_code(pid: int, keep: Path) -> None:
    """Copy code by its own name and by those of the links beside it, one of which is its SONAME."""
    process = Path(f"/proc/{pid}")
    for path in mapped(process):
        there = process / "root" / path.lstrip("/")
        content = there.read_bytes()
        beside = [link for link in there.parent.iterdir() if link.is_symlink()]
        for name in {there.name, *(a.name for a in beside if a.readlink().name == there.name)}:
            (keep / name).write_bytes(content)
            (keep / name).chmod(0o755)


def _copy_image(pid: int, copy: Path) -> None:
    """Copy the root's file system of a process that stands still meanwhile.

    None is there afterwards of one that is too large, or has code that we may not read.
    """
    process, root = psutil.Process(pid), f"/proc/{pid}/root/"
    mounts = _mounts(Path(f"/proc/{pid}"))[1]
    code = [path for path in mapped(Path(f"/proc/{pid}")) if not path.startswith(tuple(mounts))]
    process.suspend()
    try:
        size = subprocess.run(["du", "-sxB1", root], capture_output=True, text=True, check=False)
        if int(size.stdout.split()[0]) <= LARGEST_IMAGE:
            words = ["cp", "-a", "--one-file-system", "--reflink=auto", f"{root}.", str(copy)]
            subprocess.run(words, capture_output=True, check=False)
            # What nobody may read is not missed, but what the program runs is.
            if not all((copy / path.lstrip("/")).exists() for path in code):
                shutil.rmtree(copy, ignore_errors=True)
    finally:
        process.resume()


def _size(folder: Path) -> int:
    try:
        there = os.statvfs(folder)
    except OSError:
        return 0
    return there.f_blocks * there.f_frsize


def _mounts(process: Path) -> tuple[str, dict[str, str]]:
    """The type of the root's file system, and the machine's folder at each mount of a user's."""
    here = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    root, mounts = "", {}
    for words in (line.split() for line in (process / "mountinfo").read_text().splitlines()):
        device, within, place = words[2:5]
        if place == "/":
            root = words[words.index("-") + 1]
        elif not _OWN_MOUNTS.match(place):
            # The nearest mount of ours that shows the same part of the same file system.
            for _, _, of_device, shown, at, *_ in here:
                if of_device == device and Path(within).is_relative_to(shown):
                    mounts[place] = str(Path(at, Path(within).relative_to(shown)))
    return root, mounts


def _groups(process: Path) -> Iterator[Path]:
    """The folders of its control groups, each with those above it."""
    for line in (process / "cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        base = CONTROL_GROUPS / controllers.removeprefix("name=")
        if number == "0" and (CONTROL_GROUPS / "unified").is_dir():
            base = CONTROL_GROUPS / "unified"
        here = base / path.lstrip("/")
        yield from (here, *(folder for folder in here.parents if folder.is_relative_to(base)))


def _quota(process: Path) -> tuple[int, int] | None:
    """The narrowest limit of CPU time of its groups, in versions 1 and 2."""
    quotas = []
    for group in _groups(process):
        with suppress(OSError, ValueError):
            files = (group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us")
            quotas.append(tuple(int(file.read_text()) for file in files))
        with suppress(OSError, ValueError):
            quotas.append(tuple(map(int, (group / "cpu.max").read_text().split())))
    limited = [(quota, period) for quota, period in quotas if quota > 0]
    return min(limited, key=lambda pair: pair[0] / pair[1], default=None)


def _least(process: Path, *files: str) -> int:
    """The least number in these files of its groups; 0 without a limit."""
    limits = []
    for group in _groups(process):
        for name in files:
            with suppress(OSError, ValueError):
                limits.append(int((group / name).read_text()))
    least = min(limits, default=0)
    # Version 1 has a number for no limit of memory.
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
        for before in keep.glob(FILTER.format("*")) if filters else ():
            before.unlink()
        # Bubblewrap loads files in the order of its words.
        for number, content in enumerate(reversed(filters)):
            (keep / FILTER.format(number)).write_bytes(content)
    except ChildProcessError:
        return
    finally:
        libc.ptrace(_DETACH, pid, None, ctypes.c_void_p(0))
