"""The steps from the bare program to its container: each adds one difference that was seen.

A step is a command line of this machine's own: a control group, `taskset`, `prlimit`, `env`,
bubblewrap's namespaces, mounts, capabilities and filters, the image's libraries by the image's own
loader, and the image itself as the root. So what a step costs is what the difference costs, and no
engine is needed to make it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from parity.core.commands import is_installed, no_fuse
from parity.core.errors import UserError
from parity.diagnose.look import CODE, FILES, FILTER, SQUASHED, ProgramFails, copy_of, look
from parity.diagnose.setting import LOADER, Setting
from parity.diagnose.surroundings import PRELOAD, Surroundings
from parity.runtimes.limits import NO_LIMIT, CpuLimit, control_group_version, control_group_words

CONTAINER = "the container itself"
# Our own variables, whose values are those of the container.
_SECRET = "PARITY_VARIABLE_{}"
_KNOWN = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())
_MATTERS = re.compile("|".join(_KNOWN["matters"]))
_CAPABILITIES: list[str] = _KNOWN["capabilities"]
_NONE = "none"
# A shell opens files by numbers of one digit, and these are those that it leaves free.
_MOST_FILTERS = 3
# The C library's parts belong to one loader, and are taken from one image together.
_C_LIBRARY = re.compile(rf"{LOADER.pattern}|lib(c|m|pthread|dl|rt)[.-].*")


class Step(NamedTuple):
    """One difference between both sides, and all that is on with it."""

    title: str  # what it is, such as `CPU binding`
    native: str  # what this side has
    container: str  # and that one; where both are the same there is no difference
    change: Mapping[str, Any] = {}  # what of the setting the difference changes
    obstacle: str = ""  # why it cannot be made here; empty if it can
    loads: frozenset[str] = frozenset()  # SHA-256 of files that are in memory if it does as it says
    secrets: Mapping[str, str] = {}  # values for the container's variables, by those of ours
    setting: Setting = Setting(Path())  # with the changes of all steps up to it


def steps_of(
    native: Surroundings, container: Surroundings, folder: Path, given: Surroundings | None = None,
    *, launched: bool = False,
) -> Iterator[Step]:  # fmt: skip
    """The steps from one to the other, those that cannot be made here among them.

    `folder`: of what was copied out of the container. `given`: what surrounds ourselves: what the
    native program has otherwise, it or its launcher sets itself, and it is nothing that surrounds
    it. `launched`: whether a launcher starts the program more than once.
    """
    setting, given = Setting(folder), given or native
    differences = (
        *_of_process(native, container, given, launched),
        *_of_variables(native, container, given, folder), *_of_kernel(native, container, folder),
        *_of_files(native, container, folder), *_of_root(native, container, folder),
    )  # fmt: skip
    for step in differences:
        if step.native == step.container:
            continue
        if not step.obstacle:
            # Variables and limits of the group add up; of all else the last one counts.
            variables = {**setting.variables, **step.change.get("variables", {})}
            group = (*setting.group, *step.change.get("group", ()))
            setting = replace(setting, **{**step.change, "variables": variables, "group": group})
        yield step._replace(setting=setting)


def proven(
    steps: Iterable[Step], launcher: Sequence[str], program: Sequence[str], own: Sequence[str]
) -> Iterator[Step]:
    """The steps, with an obstacle where the files of one are not seen in the program's memory.

    `own`: the native process's words.
    """
    for step in steps:
        obstacle, words = step.obstacle, [*launcher, *step.setting.words(program, own)]
        try:
            if step.loads and not obstacle:
                seen, _ = look(words, step.setting.run(program, own))
                obstacle = "was not loaded" if step.loads - set(seen.files.values()) else ""
        except UserError as error:
            # One that fails is a row that says so.
            obstacle = obstacle if isinstance(error, ProgramFails) else error.what
        yield step._replace(obstacle=obstacle)


def _of_process(
    native: Surroundings, container: Surroundings, given: Surroundings, launched: bool
) -> Iterator[Step]:
    """What a process has of CPUs, memory and limits."""
    needs_root = "" if os.geteuid() == 0 else "needs root"

    def itself(name: str) -> str:
        is_own = getattr(native, name) != getattr(given, name)
        return "the program or its launcher sets it itself" if is_own else ""

    yield Step("CPU binding", native.cpus, container.cpus, {"cpus": container.cpus}, itself("cpus"))
    version, (ours, theirs) = control_group_version(), (native.quota, container.quota)
    quota = control_group_words(CpuLimit(*theirs) if theirs else NO_LIMIT, version)
    shares = (side[0] / side[1] if side else 0 for side in (ours, theirs))
    memory = "memory.limit_in_bytes" if version == 1 else "memory.max"
    sizes = native.memory_limit, container.memory_limit
    most = native.most_processes, container.most_processes
    quotas = (f"{it[0]} of {it[1]} us" if it else _NONE for it in (ours, theirs))
    for title, (least, asked), told, words in (
        ("CPU quota", shares, quotas, quota),
        ("memory limit", sizes, map(_size, sizes), [f"{memory}={sizes[1]}"]),
        ("limit of processes", most, (str(it or _NONE) for it in most), [f"pids.max={most[1]}"]),
    ):
        is_lifted = not asked or 0 < least < asked
        obstacle = "this machine's own is not lifted" if is_lifted else needs_root
        obstacle = obstacle or "not made for each rank" * launched
        before, after = told
        yield Step(title, before, after, {"group": tuple(words)}, obstacle)
    more = container.nice - native.nice
    obstacle = itself("nice") or (needs_root if more < 0 else "")
    yield Step("priority (nice)", str(native.nice), str(container.nice), {"nice": more}, obstacle)
    if container.huge_pages:
        pages = native.huge_pages, container.huge_pages
        yield Step("transparent huge pages", *pages, {"huge_pages": pages[1]}, itself("huge_pages"))
    limits = {name: it for name, it in container.limits.items() if native.limits.get(name) != it}
    before = " ".join(f"{name}={native.limits.get(name, '')}" for name in limits)
    after = " ".join(f"{name}={it}" for name, it in limits.items())
    yield Step("resource limits", before, after, {"limits": limits}, itself("limits"))
    yield Step("user", native.user, container.user, obstacle="not made")


def _of_variables(
    native: Surroundings, container: Surroundings, given: Surroundings, folder: Path
) -> Iterator[Step]:
    """A step for each that matters, and one for all others, but those that a launcher sets.

    They are told by their names alone: a value may be a secret, and is taken from another variable.
    """
    ours, theirs = native.variables, container.variables
    names = (ours.keys() | theirs.keys()) - (ours.keys() - given.variables.keys())
    differ = {name for name in names if ours.get(name) != theirs.get(name)}
    preloaded = frozenset(native.files[path] for path in native.preloaded.values())
    loads = frozenset(container.files[path] for path in container.preloaded.values())
    values = dict(theirs)
    if loads:
        words = re.split(r"[ :]+", theirs[PRELOAD])
        copies = {word: copy_of(folder, path) for word, path in container.preloaded.items()}
        values[PRELOAD] = ":".join(str(copies.get(word, word)) for word in words)
    if loads != preloaded:
        # One path may be another file in the image.
        differ.add(PRELOAD)
    matter = sorted(filter(_MATTERS.match, differ))
    steps = [(f"environment: {name}", [name]) for name in matter]
    own = {name: _SECRET.format(at) for at, name in enumerate(sorted(differ & theirs.keys()))}
    for title, those in (*steps, ("environment", sorted(differ.difference(matter)))):
        change = {"variables": {name: own.get(name) for name in those}}
        secrets = {own[name]: values[name] for name in those if name in own}
        before, after = (", ".join(name for name in those if name in it) for it in (ours, theirs))
        proof = loads if those == [PRELOAD] else frozenset[str]()
        after = f"other {after}" if before == after != "" else after
        yield Step(title, before or _NONE, after or _NONE, change, loads=proof, secrets=secrets)


def _of_kernel(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Step]:
    """Namespaces (network and users each by itself), capabilities, /dev/shm, filters of calls."""
    own = [kind for kind, at in container.namespaces.items() if native.namespaces[kind] != at]
    have: list[str] = []
    alone = {"net": "network namespace", "user": "user namespace"}
    for title in ("namespaces", *alone.values()):
        kinds = [kind for kind in own if alone.get(kind, "namespaces") == title]
        cannot = os.geteuid() != 0 and "user" not in kinds
        have += [] if cannot else kinds
        if kinds:
            change = {"namespaces": tuple(have)}
            theirs = f"its own ({', '.join(kinds)})"
            yield Step(title, "the host's", theirs, change, "needs root" * cannot)
    own_bits, its_bits = native.capabilities, container.capabilities
    lost = [name for at, name in enumerate(_CAPABILITIES) if (own_bits & ~its_bits) >> at & 1]
    more = [name for at, name in enumerate(_CAPABILITIES) if (its_bits & ~own_bits) >> at & 1]
    if lost or more:
        obstacle = "those of its user namespace" if "user" in own else "it has more" if more else ""
        sides = ", ".join(lost) or _NONE, ", ".join(more) or "none of these"
        yield Step("capabilities", *sides, {"capabilities": tuple(lost)}, obstacle)
    sizes = _size(native.shared_memory), _size(container.shared_memory)
    obstacle = "" if container.shared_memory else "it has none"
    yield Step("size of /dev/shm", *sizes, {"shared_memory": container.shared_memory}, obstacle)
    if container.filters > native.filters:
        # Those that both have are the oldest.
        added = tuple(range(native.filters, container.filters))
        taken = len(list(folder.glob(FILTER.format("*"))))
        fits = taken == container.filters and len(added) <= _MOST_FILTERS
        obstacle = "" if fits else "the kernel does not give them to us"
        counts = str(native.filters), str(container.filters)
        yield Step("seccomp filters", *counts, {"filters": added}, obstacle)


def _of_files(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Step]:
    """The C library, the other libraries, and the program's own file, where they differ."""
    ours, theirs = native.libraries, container.libraries
    code, of_c_alone = folder / CODE, folder / "c-library"
    copied = [path.name for path in code.glob("*")]
    differ = sorted(name for name, digest in theirs.items() if ours.get(name) != digest)
    of_c = [name for name in differ if _C_LIBRARY.fullmatch(name)]
    is_other = native.executable != container.executable
    obstacle = ""
    if container.busy != container.command[0] or native.busy != native.command[0]:
        obstacle = "of a process that the program starts"
    elif (differ or is_other) and not any(map(LOADER.fullmatch, copied)):
        obstacle = "its loader was not found"
    elif of_c:
        of_c_alone.mkdir(exist_ok=True)
        for name in filter(_C_LIBRARY.fullmatch, copied):
            shutil.copy(code / name, of_c_alone)
    file = {"program": str(code / Path(container.command[0]).name)}
    own = native.executable[:8], container.executable[:8]
    # A program of one C library does not run with another's loader.
    at_once = is_other and any(LOADER.fullmatch(name) for name in of_c if name not in ours)
    for title, names, place in (
        ("C library of the image", of_c, of_c_alone),
        ("libraries of the image", [name for name in differ if name not in of_c], code),
    ):
        before = [f"{name} {ours.get(name, _NONE)[:8]}" for name in names]
        after = [f"{name} {theirs[name][:8]}" for name in names]
        change = {"libraries": str(place)}
        if at_once and names is of_c:
            change |= file
            before, after = [*before, f"program {own[0]}"], [*after, f"program {own[1]}"]
        loads = frozenset(theirs[name] for name in names)
        if names:
            yield Step(title, ", ".join(before), ", ".join(after), change, obstacle, loads)
    if is_other and not at_once:
        yield Step("program file", *own, file, obstacle, frozenset({container.executable}))


def _of_root(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Step]:
    """The image's files as a folder of this machine, and then mounted as the container's root."""
    if native.namespaces["mnt"] == container.namespaces["mnt"]:
        return
    way, is_served = _KNOWN["roots"].get(container.root, ""), "fuse" in container.root
    obstacle = "" if os.geteuid() == 0 else "needs root"
    if not obstacle and not (folder / FILES).exists():
        obstacle = "too large to be copied, or not for us to read"
    change = {"root": "directory", "binds": container.mounts, "inside": container.folder}
    change |= {"libraries": "", "program": ""}
    secrets = {}
    if container.preloaded:
        # Its files are where they were, and copies of them are not there.
        change["variables"] = {PRELOAD: (own := _SECRET.format(PRELOAD))}
        secrets[own] = container.variables[PRELOAD]
    sides = "this machine's files", "its own"
    yield Step("image as a directory", *sides, change, obstacle, secrets=secrets)
    if native.root == container.root:
        return
    if not obstacle and is_served and (missing := no_fuse()):
        obstacle = missing.reason
    elif not obstacle and is_served and not is_installed(way):
        obstacle = f"{way or container.root} is not installed"
    elif not obstacle and not way:
        obstacle = "not made"
    elif not obstacle and "squash" in way:
        image = str(folder / FILES), str(folder / SQUASHED)
        words = ["mksquashfs", *image, "-noappend", "-no-progress"]
        done = subprocess.run(words, capture_output=True, check=False)
        obstacle = "mksquashfs fails" if done.returncode else ""
    yield Step("root file system", native.root, container.root, {"root": way}, obstacle)


def _size(size: int) -> str:
    if not size:
        return _NONE
    return f"{size / 2**10:.0f} KiB" if size < 2**20 else f"{size / 2**20:.0f} MiB"
