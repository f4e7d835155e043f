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
from typing import Any

from parity.diagnose.filters import FILE, MOST_FILTERS
from parity.diagnose.surroundings import Surroundings
from parity.runtimes.ladder import CONTROL_GROUP, MECHANISMS
from parity.runtimes.limits import CpuLimit, control_group_version, control_group_words

CONTAINER = "the container itself"
TRUE = "/bin/true"
# Our own variables, whose values are those of the container.
_SECRET = "PARITY_VARIABLE_{}"
# <linux/prctl.h>: what a process says of huge pages its children and their programs keep.
_PR_SET_THP_DISABLE = 41
_HUGE_PAGES = """import ctypes, os, sys
ctypes.CDLL(None).prctl({option}, int(sys.argv[1]), 0, 0, 0)
os.execvp(sys.argv[2], sys.argv[2:])"""
# The C library's parts belong to one loader, and are taken from one image together.
_LOADER = "ld-linux"
_C_LIBRARY = ("ld-", "libc.so", "libc-", "libm.so", "libm-", "libpthread", "libdl", "librt")
_OPTIONS = {
    "pid": MECHANISMS["pid"].words,
    "ipc": MECHANISMS["ipc"].words,
    "uts": ("--unshare-uts",),
    "net": MECHANISMS["net"].words,
    "user": MECHANISMS["user"].words,
}


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
            limit = CpuLimit(*self.quota)
            group = control_group_words(limit, control_group_version())
            words += ["/bin/sh", "-euc", CONTROL_GROUP, "control-group", name, *group]
        if self.cpus:
            words += ["taskset", "-c", self.cpus]
        if self.nice:
            words += ["nice", "-n", str(self.nice)]
        if self.huge_pages:
            script = _HUGE_PAGES.format(option=_PR_SET_THP_DISABLE)
            words += [sys.executable, "-c", script, str(int(self.huge_pages == "0"))]
        if self.limits:
            words += ["prlimit", *(f"--{kind}={value}" for kind, value in self.limits.items())]
        if self.variables:
            words += ["env", *self.variables]
        return [*words, *self._bubblewrap(), *self._loaded(program, own)]

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
        files = [FILE.format(number) for number in self.filters]
        words += [word for at in range(len(files)) for word in ("--add-seccomp-fd", str(9 - at))]
        if files:
            opened = " ".join(f'{9 - at}< "$filters/{file}"' for at, file in enumerate(files))
            script = f'filters=$1; shift; exec "$@" {opened}'
            words = ["/bin/sh", "-euc", script, "filtered", str(self.folder), *words]
        return words

    def _loaded(self, program: Sequence[str], own: Sequence[str]) -> list[str]:
        if not self.libraries:
            return [self.program or program[0], *program[1:]]
        loader = next(path for path in sorted(Path(self.libraries).iterdir()) if _is_loader(path))
        first = self.program or own[0]
        return [str(loader), "--library-path", self.libraries, first, *own[1:]]


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


def ladder_of(native: Surroundings, container: Surroundings, folder: Path) -> Ladder:
    """The steps from one to the other.

    Args:
        folder: of what was copied out of the container: its filters, and in `code` its files.
    """
    steps: list[Step] = []
    left_out = list(_left_out(native, container))
    setting = Setting(folder)
    for title, before, after, change in _differences(native, container, folder):
        if isinstance(change, str):
            left_out.append(f"{title}: {before} → {after} ({change})")
            continue
        setting = replace(setting, **change)
        steps.append(Step(title, before, after, setting))
    added = _added(native.variables, container.variables)
    secrets = {_SECRET.format(at): value for at, value in enumerate(added.values())}
    return Ladder(tuple(steps), tuple(left_out), secrets)


# Title, both sides, and what the setting has then or why it cannot have it.
Difference = tuple[str, str, str, dict[str, Any] | str]


def _differences(
    native: Surroundings, container: Surroundings, folder: Path
) -> Iterator[Difference]:
    """Title, both sides and the change of the setting, or why it cannot be made."""
    is_root = os.geteuid() == 0
    if native.cpus != container.cpus:
        yield "CPU binding", native.cpus, container.cpus, {"cpus": container.cpus}
    if native.quota != container.quota:
        quota: dict[str, Any] | str = {"quota": container.quota}
        obstacle = "needs root" if container.quota else "this machine's own is not lifted"
        change = quota if is_root and container.quota else obstacle
        yield "CPU quota", _quota(native), _quota(container), change
    if native.nice != container.nice:
        more = container.nice - native.nice
        nice: dict[str, Any] | str = {"nice": more} if more > 0 or is_root else "needs root"
        yield "priority (nice)", str(native.nice), str(container.nice), nice
    if native.huge_pages != container.huge_pages and container.huge_pages:
        pages = {"huge_pages": container.huge_pages}
        yield "transparent huge pages", native.huge_pages, container.huge_pages, pages
    limits = {k: v for k, v in container.limits.items() if native.limits.get(k) != v}
    if limits:
        before = " ".join(f"{name}={native.limits.get(name, '')}" for name in limits)
        after = " ".join(f"{name}={value}" for name, value in limits.items())
        yield "resource limits", before, after, {"limits": limits}
    yield from _of_variables(native.variables, container.variables)
    yield from _of_namespaces(native, container, is_root)
    if native.shared_memory != container.shared_memory:
        sizes = (_size(native.shared_memory), _size(container.shared_memory))
        there = container.shared_memory
        shm: dict[str, Any] | str = {"shared_memory": there} if there else "it has none"
        yield "size of /dev/shm", *sizes, shm
    if container.filters > native.filters:
        count = len(list(folder.glob(FILE.format("*"))))
        # Those that both have are the oldest.
        added = tuple(range(native.filters, container.filters))
        fits = count == container.filters and len(added) <= MOST_FILTERS
        filters: dict[str, Any] | str = "the kernel does not give them to us"
        if fits:
            filters = {"filters": added}
        yield "seccomp filters", str(native.filters), str(container.filters), filters
    yield from _of_files(native, container, folder)


def _of_variables(native: Mapping[str, str], container: Mapping[str, str]) -> Iterator[Difference]:
    """Told by their names alone: a value may be a secret, and is taken from another variable."""
    added = _added(native, container)
    gone = sorted(native.keys() - container.keys())
    if not (added or gone):
        return
    ours = [_SECRET.format(at) for at in range(len(added))]
    words = [word for name in (*gone, *ours) for word in ("-u", name)]
    if added:
        pairs = zip(added, ours, strict=True)
        words += ["-S", " ".join(f'"{_escaped(name)}=${{{own}}}"' for name, own in pairs)]
    before = " ".join(sorted({*added, *gone} & native.keys()))
    yield (
        "environment",
        before or "none",
        " ".join(sorted(added)) or "none",
        {"variables": tuple(words)},
    )


def _added(native: Mapping[str, str], container: Mapping[str, str]) -> dict[str, str]:
    """The variables that only the container has, or has otherwise, sorted by name."""
    return {
        name: container[name] for name in sorted(container) if native.get(name) != container[name]
    }


def _escaped(name: str) -> str:
    """A name as `env -S` has it within double quotes."""
    return re.sub(r'(["$\\])', r"\\\1", name)


def _of_namespaces(
    native: Surroundings, container: Surroundings, is_root: bool
) -> Iterator[Difference]:
    """Mounts, processes, IPC and names together; network and users each by itself."""
    own = [kind for kind, at in container.namespaces.items() if native.namespaces[kind] != at]
    groups = ([kind for kind in own if kind not in ("net", "user")], ["net"], ["user"])
    have: list[str] = []
    for title, kinds in zip(
        ("namespaces", "network namespace", "user namespace"), groups, strict=True
    ):
        here = [kind for kind in kinds if kind in own]
        if not here:
            continue
        if not is_root and "user" not in (*have, *here):
            yield title, "the host's", f"its own ({', '.join(here)})", "needs root"
            continue
        have += here
        yield title, "the host's", f"its own ({', '.join(here)})", {"namespaces": tuple(have)}


def _of_files(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Difference]:
    """The C library, the other libraries, and the program's own file, where they differ."""
    program = (native.command[0], container.command[0])
    sides = [
        {Path(path).name: digest for path, digest in side.files.items() if path != its}
        for side, its in zip((native, container), program, strict=True)
    ]
    differ = {name for name, digest in sides[1].items() if sides[0].get(name) != digest}
    code = folder / "code"
    if differ and not any(map(_is_loader, code.iterdir())):
        yield "libraries", "other files", ", ".join(sorted(differ)), "its loader was not found"
        return
    for title, of_c in (("C library of the image", True), ("libraries of the image", False)):
        these = sorted(name for name in differ if name.startswith(_C_LIBRARY) == of_c)
        if not these:
            continue
        place = folder / ("c-library" if of_c else "code")
        if of_c:
            _link_c_library(code, place)
        before = ", ".join(f"{name} {sides[0].get(name, 'none')[:8]}" for name in these)
        after = ", ".join(f"{name} {sides[1][name][:8]}" for name in these)
        yield title, before, after, {"libraries": str(place)}
    digests = [
        side.files.get(its, "") for side, its in zip((native, container), program, strict=True)
    ]
    if digests[0] != digests[1]:
        file = code / Path(program[1]).name
        yield "program file", digests[0][:8], digests[1][:8], {"program": str(file)}


def _link_c_library(code: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    for path in code.iterdir():
        if path.name.startswith(_C_LIBRARY) and not (place / path.name).exists():
            (place / path.name).hardlink_to(path)


def _left_out(native: Surroundings, container: Surroundings) -> Iterator[str]:
    """What differs and is not made here."""
    if native.root != container.root:
        yield f"root file system: {native.root} → {container.root}"
    if native.memory_limit != container.memory_limit:
        yield f"memory limit: {_size(native.memory_limit)} → {_size(container.memory_limit)}"


def _quota(side: Surroundings) -> str:
    return f"{side.quota[0]} of {side.quota[1]} us" if side.quota else "none"


def _size(size: int) -> str:
    return f"{size / 2**10:.0f} KiB" if 0 < size < 2**20 else f"{size / 2**20:.0f} MiB"
