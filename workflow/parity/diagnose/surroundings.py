"""What surrounds a program while it runs: read from outside, of the process itself.

All of it is what the kernel says (proc(5), cgroups(7)), whatever started the container.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from parity.runtimes.limits import CONTROL_GROUPS

SURROUNDINGS = "surroundings.json"
NAMESPACES = ("mnt", "pid", "ipc", "uts", "net", "user")
# Variables of a session, with which no program computes.
_OF_SESSION = {"HOSTNAME", "PWD", "OLDPWD", "TERM", "container", "SHLVL", "_"}
# By the names of `prlimit`'s options, how the kernel calls a limit.
_LIMITS = {
    "stack": "stack size", "memlock": "locked memory", "nofile": "open files", "nproc": "processes",
    "data": "data size", "as": "address space",
}  # fmt: skip
# Mounts of a container that are the kernel's or the engine's own.
_OWN_MOUNTS = re.compile(r"/(proc|sys|dev|run|etc/(hosts|hostname|resolv\.conf))(/|$)|/$")
PRELOAD = "LD_PRELOAD"


@dataclass(frozen=True)
class Surroundings:
    """What a process had around it."""

    cpus: str  # list of those that it may run on, as the kernel writes it
    quota: tuple[int, int] | None  # CPU time in a period, and the period, in µs; None without
    limits: Mapping[str, str]  # soft and hard limit of each resource, as `prlimit` names them
    variables: Mapping[str, str]
    namespaces: Mapping[str, str]  # identity of each
    filters: int  # how many filters of system calls it has
    shared_memory: int  # bytes of the file system at /dev/shm; 0 if there is none
    root: str  # type of the root's file system
    files: Mapping[str, str]  # mapped files of code, SHA-256 by path as the process sees it
    command: tuple[str, ...]  # the program's words, the first of which is its executable's path
    busy: str  # path of the executable that uses the CPU: its own, or one that it starts
    folder: str = "/"
    preloaded: Mapping[str, str] = field(default_factory=dict)  # of `files`, by LD_PRELOAD's words
    capabilities: int = 0  # a bit for each that it has
    mounts: Mapping[str, str] = field(default_factory=dict)  # by mount there, the folder here
    memory_limit: int = 0  # of its control groups; 0 without one
    most_processes: int = 0  # of its control groups; 0 without one
    huge_pages: str = ""
    nice: int = 0
    user: str = ""

    @property
    def executable(self) -> str:
        """The digest of the file that uses the CPU."""
        return self.files.get(self.busy, "")

    @property
    def libraries(self) -> dict[str, str]:
        """The digests of all other files by their names, but what is preloaded."""
        others = self.files.keys() - {self.busy, *self.preloaded.values()}
        return {Path(path).name: self.files[path] for path in others}


def document(side: Surroundings) -> dict[str, Any]:
    """What is kept of it: of variables the names, since a value may be a secret."""
    return {**asdict(side), "variables": sorted(side.variables)}


def namespace_of(kind: str, pid: int | str = "self") -> str:
    """The identity of such a namespace of a process; raises OSError."""
    return str(Path(f"/proc/{pid}/ns/{kind}").readlink())


def read(pid: int, busy: int | None = None) -> Surroundings:
    """What surrounds a process now; `busy` is the one below it that uses the CPU, if not itself.

    Raises OSError: it is not there any more, or belongs to somebody else.
    """
    first, process = Path(f"/proc/{pid}"), Path(f"/proc/{busy or pid}")
    lines = (process / "status").read_text().splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    table = re.findall(r"^Max (.+?) {2,}(\S+) +(\S+)", (process / "limits").read_text(), re.M)
    limits = {title: f"{soft}:{hard}" for title, soft, hard in table}
    variables = dict(word.partition("=")[::2] for word in _words(first / "environ") if "=" in word)
    root, mounts = _mounts(process)
    contents = {path: seen_at(process, path).read_bytes() for path in _mapped(process)}
    files = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    quotas = [(quota, period) for quota, period in _numbers(process, "cpu.max")]
    in_files = (_numbers(process, f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    quotas += [(quota, period) for (quota,), (period,) in zip(*in_files, strict=True)]
    memory = [*_numbers(process, "memory.max"), *_numbers(process, "memory.limit_in_bytes")]
    shared_memory = 0
    with suppress(OSError):
        shared_memory = (shm := os.statvfs(process / "root/dev/shm")).f_blocks * shm.f_frsize
    return Surroundings(
        cpus=status["Cpus_allowed_list"], huge_pages=status.get("THP_enabled", ""),
        quota=min((it for it in quotas if it[0] > 0), key=lambda it: it[0] / it[1], default=None),
        limits={name: limits[title] for name, title in _LIMITS.items() if title in limits},
        variables={name: value for name, value in variables.items() if name not in _OF_SESSION},
        namespaces={kind: namespace_of(kind, process.name) for kind in NAMESPACES},
        filters=int(status.get("Seccomp_filters", "0")), capabilities=int(status["CapEff"], 16),
        shared_memory=shared_memory, root=root, files=files, mounts=mounts,
        preloaded=_preloaded(process, variables.get(PRELOAD, ""), files),
        command=(str((first / "exe").readlink()), *_words(first / "cmdline")[1:]),
        busy=str((process / "exe").readlink()), folder=str((first / "cwd").readlink()),
        # Version 1 has a number for no limit of memory.
        memory_limit=min((it for (it,) in memory if it < 2**60), default=0),
        most_processes=min((it for (it,) in _numbers(process, "pids.max")), default=0),
        nice=os.getpriority(os.PRIO_PROCESS, int(process.name)), user=status["Uid"].split()[1],
    )  # fmt: skip


def _words(file: Path) -> list[str]:
    return file.read_bytes().decode(errors="replace").split("\0")[:-1]


def seen_at(process: Path, path: str | Path) -> Path:
    """Where we find what a process sees at a path."""
    return process / "root" / str(path).lstrip("/")


def _mapped(process: Path) -> list[str]:
    """The files of which a process has code in memory, as it sees them."""
    paths = re.findall(r"^\S+ ..x. \S+ \S+ \d+ +(/.+)$", (process / "maps").read_text(), re.M)
    # Code that a program makes while it runs has such a name, and no file.
    return sorted(it for it in set(paths) if not re.fullmatch(r"/memfd:.*|.* \(deleted\)", it))


def _preloaded(process: Path, preload: str, files: Iterable[str]) -> dict[str, str]:
    """The files that words of LD_PRELOAD name: by a path, or by a name beside one of them."""
    found = {}
    for word, path in product(re.split(r"[ :]+", preload), files):
        with suppress(OSError):
            if word and seen_at(process, Path(path).parent / word).samefile(seen_at(process, path)):
                found[word] = path
    return found


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


def _numbers(process: Path, file: str) -> Iterator[tuple[int, ...]]:
    """What such a file of its control groups and of those above says, where there is a limit."""
    unified = CONTROL_GROUPS / "unified"
    for line in (process / "cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        base = CONTROL_GROUPS / controllers.removeprefix("name=")
        base = unified if number == "0" and unified.is_dir() else base
        here = base / path.lstrip("/")
        for group in (here, *(folder for folder in here.parents if folder.is_relative_to(base))):
            with suppress(OSError, ValueError):
                yield tuple(map(int, (group / file).read_text().split()))
