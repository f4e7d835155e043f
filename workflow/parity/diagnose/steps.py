"""The steps from the bare program to its container: each adds one difference that was seen.

A step is a command line of this machine's own: a control group, `taskset`, `prlimit`, `env`,
bubblewrap's namespaces, mounts and filters, and the image's libraries by the image's own loader. So
what a step costs is what the difference costs, and no engine is needed to make it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from parity.diagnose.surroundings import FILTER, Surroundings
from parity.runtimes.ladder import CONTROL_GROUP, MECHANISMS
from parity.runtimes.limits import CpuLimit, control_group_version, control_group_words

CONTAINER = "the container itself"
TRUE = "/bin/true"
# Our own variables, whose values are those of the container.
_SECRET = "PARITY_VARIABLE_{}"
# A shell opens files by numbers of one digit, and these are those that it leaves free.
_MOST_FILTERS = 3
# <linux/prctl.h>: what a process says of huge pages its children and their programs keep.
_PR_SET_THP_DISABLE = 41
_HUGE_PAGES = f"""import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_THP_DISABLE}, int(sys.argv[1]), 0, 0, 0)
os.execvp(sys.argv[2], sys.argv[2:])"""
# The C library's parts belong to one loader, and are taken from one image together.
_LOADER = "ld-linux"
_C_LIBRARY = ("ld-", "libc.so", "libc-", "libm.so", "libm-", "libpthread", "libdl", "librt")
_OPTIONS = {kind: MECHANISMS[kind].words for kind in ("pid", "ipc", "net", "user")}
_OPTIONS["uts"] = ("--unshare-uts",)


@dataclass(frozen=True)
class Setting:
    """All that is on at a step, as what its command line is made from.

    Attributes:
        nice: added to this machine's own.
        huge_pages: `1` with transparent ones, `0` without; empty for as it is.
        variables: words of `env`.
        filters: numbers of the container's filters that are loaded, from `folder`.
        libraries: folder whose files come before this machine's libraries; empty for none.
        program: file that is run in the place of the program's; empty for its own.
    """

    folder: Path
    cpus: str = ""
    nice: int = 0
    huge_pages: str = ""
    quota: tuple[int, int] | None = None
    limits: Mapping[str, str] | None = None
    variables: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    shared_memory: int = 0
    filters: tuple[int, ...] = ()
    libraries: str = ""
    program: str = ""

    def words(self, name: str, program: Sequence[str], own: Sequence[str]) -> list[str]:
        """The command line that runs a program in this setting.

        Args:
            name: of the control group, where there is one.
            program: the words as the user gives them.
            own: the words as the process has them, its executable first; the loader takes these.
        """
        words: list[str] = []
        if self.quota:
            group = control_group_words(CpuLimit(*self.quota), control_group_version())
            words += ["/bin/sh", "-euc", CONTROL_GROUP, "control-group", name, *group]
        if self.cpus:
            words += ["taskset", "-c", self.cpus]
        if self.nice:
            words += ["nice", "-n", str(self.nice)]
        if self.huge_pages:
            words += [sys.executable, "-c", _HUGE_PAGES, str(int(self.huge_pages == "0"))]
        if self.limits:
            words += ["prlimit", *(f"--{kind}={value}" for kind, value in self.limits.items())]
        if self.variables:
            words += ["env", *self.variables]
        words += self._bubblewrap()
        if not self.libraries:
            return [*words, self.program or program[0], *program[1:]]
        loader = next(path for path in sorted(Path(self.libraries).iterdir()) if _is_loader(path))
        found_by = [str(loader), "--library-path", self.libraries]
        return [*words, *found_by, self.program or own[0], *own[1:]]

    def start(self, name: str) -> list[str]:
        """The same with a program that ends at once."""
        return replace(self, program="").words(name, [TRUE], [TRUE])

    def _bubblewrap(self) -> list[str]:
        if not (self.namespaces or self.shared_memory or self.filters):
            return []
        words = ["bwrap", "--dev-bind", "/", "/"]
        if self.shared_memory:
            size = str(self.shared_memory)
            words += ["--perms", "1777", "--size", size, "--tmpfs", "/dev/shm"]
        words += [word for kind in self.namespaces for word in _OPTIONS.get(kind, ())]
        if self.filters:
            files = {9 - at: FILTER.format(number) for at, number in enumerate(self.filters)}
            words += [word for at in files for word in ("--add-seccomp-fd", str(at))]
            opened = " ".join(f'{at}< "$filters/{file}"' for at, file in files.items())
            script = f'filters=$1; shift; exec "$@" {opened}'
            words = ["/bin/sh", "-euc", script, "filtered", str(self.folder), *words]
        return words


def _is_loader(path: Path) -> bool:
    return path.name.startswith(_LOADER)


@dataclass(frozen=True)
class Step:
    """One difference, and all that is on with it.

    Attributes:
        title: what it is, such as `CPU binding`.
        native, container: what each side has.
    """

    title: str
    native: str
    container: str
    setting: Setting


@dataclass(frozen=True)
class Ladder:
    """The steps, and what differs but could not be made here, with the reason.

    Attributes:
        secrets: values of the container's variables, by those from which a step takes them.
    """

    steps: tuple[Step, ...]
    left_out: tuple[str, ...]
    secrets: Mapping[str, str] = field(default_factory=dict)


class Difference(NamedTuple):
    """What both sides have, and what of the setting that changes.

    Attributes:
        obstacle: why it cannot be changed; empty if it can.
    """

    title: str
    native: str
    container: str
    change: Mapping[str, Any]
    obstacle: str = ""


def ladder_of(native: Surroundings, container: Surroundings, folder: Path) -> Ladder:
    """The steps from one to the other.

    Args:
        folder: of what was copied out of the container: its filters, and in `code` its files.
    """
    steps, left_out, setting = list[Step](), list[str](), Setting(folder)
    if native.root != container.root:
        left_out.append(f"root file system: {native.root} → {container.root}")
    if native.memory_limit != container.memory_limit:
        sizes = map(_size, (native.memory_limit, container.memory_limit))
        left_out.append(f"memory limit: {' → '.join(sizes)}")
    differences = [
        *_of_process(native, container),
        *_of_variables(native.variables, container.variables),
        *_of_namespaces(native, container),
        *_of_memory_and_calls(native, container, folder),
        *_of_files(native, container, folder),
    ]
    for title, before, after, change, obstacle in differences:
        if obstacle:
            left_out.append(f"{title}: {before} → {after} ({obstacle})")
        else:
            setting = replace(setting, **change)
            steps.append(Step(title, before, after, setting))
    values = _added(native.variables, container.variables).values()
    secrets = {_SECRET.format(at): value for at, value in enumerate(values)}
    return Ladder(tuple(steps), tuple(left_out), secrets)


def _of_process(native: Surroundings, container: Surroundings) -> Iterator[Difference]:
    needs_root = "" if os.geteuid() == 0 else "needs root"
    if native.cpus != container.cpus:
        yield Difference("CPU binding", native.cpus, container.cpus, {"cpus": container.cpus})
    if native.quota != container.quota:
        sides = _quota(native), _quota(container)
        obstacle = needs_root if container.quota else "this machine's own is not lifted"
        yield Difference("CPU quota", *sides, {"quota": container.quota}, obstacle)
    if more := container.nice - native.nice:
        obstacle = needs_root if more < 0 else ""
        sides = str(native.nice), str(container.nice)
        yield Difference("priority (nice)", *sides, {"nice": more}, obstacle)
    if native.huge_pages != container.huge_pages and container.huge_pages:
        change = {"huge_pages": container.huge_pages}
        sides = native.huge_pages, container.huge_pages
        yield Difference("transparent huge pages", *sides, change)
    limits = {k: v for k, v in container.limits.items() if native.limits.get(k) != v}
    if limits:
        before = " ".join(f"{name}={native.limits.get(name, '')}" for name in limits)
        after = " ".join(f"{name}={value}" for name, value in limits.items())
        yield Difference("resource limits", before, after, {"limits": limits})


def _of_variables(native: Mapping[str, str], container: Mapping[str, str]) -> Iterator[Difference]:
    """Told by their names alone: a value may be a secret, and is taken from another variable."""
    added = _added(native, container)
    gone = sorted(native.keys() - container.keys())
    if not (added or gone):
        return
    ours = [_SECRET.format(at) for at in range(len(added))]
    words = [word for name in (*gone, *ours) for word in ("-u", name)]
    if added:
        # Within double quotes of `env -S`.
        names = [re.sub(r'(["$\\])', r"\\\1", name) for name in added]
        pairs = zip(names, ours, strict=True)
        words += ["-S", " ".join(f'"{name}=${{{own}}}"' for name, own in pairs)]
    before = " ".join(sorted({*added, *gone} & native.keys())) or "none"
    after = " ".join(added) or "none"
    yield Difference("environment", before, after, {"variables": tuple(words)})


def _added(native: Mapping[str, str], container: Mapping[str, str]) -> dict[str, str]:
    """The variables that only the container has, or has otherwise, sorted by name."""
    return {name: value for name, value in sorted(container.items()) if native.get(name) != value}


def _of_namespaces(native: Surroundings, container: Surroundings) -> Iterator[Difference]:
    """Mounts, processes, IPC and names together; network and users each by itself."""
    own = [kind for kind, at in container.namespaces.items() if native.namespaces[kind] != at]
    groups = {
        "namespaces": [kind for kind in own if kind not in ("net", "user")],
        "network namespace": [kind for kind in own if kind == "net"],
        "user namespace": [kind for kind in own if kind == "user"],
    }
    have: list[str] = []
    for title, kinds in groups.items():
        if kinds:
            cannot = os.geteuid() != 0 and "user" not in kinds
            have += [] if cannot else kinds
            own_ones, change = f"its own ({', '.join(kinds)})", {"namespaces": tuple(have)}
            yield Difference(title, "the host's", own_ones, change, "needs root" * cannot)


def _of_memory_and_calls(
    native: Surroundings, container: Surroundings, folder: Path
) -> Iterator[Difference]:
    if native.shared_memory != container.shared_memory:
        sides = _size(native.shared_memory), _size(container.shared_memory)
        change = {"shared_memory": container.shared_memory}
        obstacle = "" if container.shared_memory else "it has none"
        yield Difference("size of /dev/shm", *sides, change, obstacle)
    if container.filters > native.filters:
        # Those that both have are the oldest.
        added = tuple(range(native.filters, container.filters))
        taken = len(list(folder.glob(FILTER.format("*"))))
        fits = taken == container.filters and len(added) <= _MOST_FILTERS
        obstacle = "" if fits else "the kernel does not give them to us"
        sides = str(native.filters), str(container.filters)
        yield Difference("seccomp filters", *sides, {"filters": added}, obstacle)


def _of_files(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Difference]:
    """The C library, the other libraries, and the program's own file, where they differ."""
    ours, theirs = native.libraries, container.libraries
    differ = sorted(name for name, digest in theirs.items() if ours.get(name) != digest)
    code = folder / "code"
    if differ and not any(map(_is_loader, code.iterdir())):
        obstacle = "its loader was not found"
        yield Difference("libraries", "other files", ", ".join(differ), {}, obstacle)
        return
    of_c = [name for name in differ if name.startswith(_C_LIBRARY)]
    others = [name for name in differ if name not in of_c]
    if of_c:
        (folder / "c-library").mkdir(exist_ok=True)
        for path in code.iterdir():
            copy = folder / "c-library" / path.name
            if path.name.startswith(_C_LIBRARY) and not copy.exists():
                copy.hardlink_to(path)
    for title, names, place in (
        ("C library of the image", of_c, folder / "c-library"),
        ("libraries of the image", others, code),
    ):
        if names:
            before = ", ".join(f"{name} {ours.get(name, 'none')[:8]}" for name in names)
            after = ", ".join(f"{name} {theirs[name][:8]}" for name in names)
            yield Difference(title, before, after, {"libraries": str(place)})
    if native.executable != container.executable:
        file = code / Path(container.command[0]).name
        sides = native.executable[:8], container.executable[:8]
        yield Difference("program file", *sides, {"program": str(file)})


def _quota(side: Surroundings) -> str:
    return f"{side.quota[0]} of {side.quota[1]} us" if side.quota else "none"


def _size(size: int) -> str:
    return f"{size / 2**10:.0f} KiB" if 0 < size < 2**20 else f"{size / 2**20:.0f} MiB"
