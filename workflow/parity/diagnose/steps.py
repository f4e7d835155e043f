"""The steps from the bare program to its container: each adds one difference that was seen.

A step is a command line of this machine's own: a control group, `taskset`, `prlimit`, `env`,
bubblewrap's namespaces, mounts, capabilities and filters, the image's libraries by the image's own
loader, and the image itself as the root. So what a step costs is what the difference costs, and no
engine is needed to make it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from parity.core.commands import is_installed, no_fuse
from parity.diagnose.setting import LOADER, Setting, is_loader
from parity.diagnose.surroundings import CODE, FILTER, IMAGE, Surroundings

CONTAINER = "the container itself"
# Our own variables, whose values are those of the container.
_SECRET = "PARITY_VARIABLE_{}"
# With these programs and their libraries compute: each is a step of its own.
_MATTERS = re.compile(
    r"(LD_|GLIBC_|MALLOC_|OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|BLIS_|OMPI_|PMIX_|PRTE_|UCX_|FI_|I_MPI_"
    r"|MPICH_|MV2_|PSM|NCCL_|CUDA_|HIP_|ROCR_|PYTHON(PATH|HOME|HASHSEED|MALLOC)|JAVA|GO(GC|MAXPROCS)|TMPDIR$|HOME$|PATH$|LC_|LANG)"
)
_PRELOAD = "LD_PRELOAD"
# A shell opens files by numbers of one digit, and these are those that it leaves free.
_MOST_FILTERS = 3
# The C library's parts belong to one loader, and are taken from one image together.
_C_LIBRARY = re.compile(rf"{LOADER.pattern}|lib(c|m|pthread|dl|rt)[.-].*")
# <linux/capability.h>, from bit 0.
_CAPABILITIES = re.findall(
    r"\w+",
    """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE
SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME
SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE""",
)
# By the type of a container's root, how the same files are mounted here.
_ROOTS = {
    "overlay": "overlay",
    "squashfs": "squashfs",
    "fuse.squashfuse": "squashfuse",
    "fuse.squashfuse_ll": "squashfuse_ll",
    "fuse.fuse-overlayfs": "fuse-overlayfs",
}


class Step(NamedTuple):
    """One difference, and all that is on with it.

    Attributes:
        title: what it is, such as `CPU binding`.
        native, container: what each side has.
        loads: SHA-256 of the files that are in the program's memory if the step does what it says.
    """

    title: str
    native: str
    container: str
    setting: Setting
    loads: frozenset[str] = frozenset()


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
        loads: as a step has it.
    """

    title: str
    native: str
    container: str
    change: Mapping[str, Any] = {}
    obstacle: str = ""
    loads: frozenset[str] = frozenset()


def ladder_of(
    native: Surroundings,
    container: Surroundings,
    folder: Path,
    given: Surroundings | None = None,
    *,
    launched: bool = False,
) -> Ladder:
    """The steps from one to the other.

    Args:
        folder: of what was copied out of the container: its filters, `code` and `image`.
        given: what surrounds ourselves: what the native program has otherwise, it or its launcher
            sets itself, and it is nothing that surrounds it.
        launched: whether a launcher starts the program more than once.
    """
    secrets, steps, left_out, setting = dict[str, str](), list[Step](), list[str](), Setting(folder)
    differences = [
        *_of_process(native, container, given or native, launched),
        *_of_variables(native, container, given or native, folder, secrets),
        *_of_kernel(native, container, folder),
        *_of_files(native, container, folder),
        *_of_root(native, container, folder),
    ]
    for title, before, after, change, obstacle, loads in differences:
        if obstacle:
            left_out.append(f"{title}: {before} → {after} ({obstacle})")
        else:
            # Variables add up; of all else the last one counts.
            change = {**change, "variables": {**setting.variables, **change.get("variables", {})}}
            setting = replace(setting, **change)
            steps.append(Step(title, before, after, setting, loads))
    return Ladder(tuple(steps), tuple(left_out), secrets)


def _of_process(
    native: Surroundings, container: Surroundings, given: Surroundings, launched: bool
) -> Iterator[Difference]:
    needs_root = "" if os.geteuid() == 0 else "needs root"

    def itself(name: str) -> str:
        is_own = getattr(native, name) != getattr(given, name)
        return "the program or its launcher sets it itself" if is_own else ""

    if native.cpus != container.cpus:
        change = {"cpus": container.cpus}
        yield Difference("CPU binding", native.cpus, container.cpus, change, itself("cpus"))
    if native.quota != container.quota:
        sides = (_quota(native), _quota(container))
        obstacle = needs_root if container.quota else "this machine's own is not lifted"
        obstacle = obstacle or "not made for each rank" * launched
        yield Difference("CPU quota", *sides, {"quota": container.quota}, obstacle)
    if more := container.nice - native.nice:
        obstacle = itself("nice") or (needs_root if more < 0 else "")
        nices = str(native.nice), str(container.nice)
        yield Difference("priority (nice)", *nices, {"nice": more}, obstacle)
    if native.huge_pages != container.huge_pages and container.huge_pages:
        pages = native.huge_pages, container.huge_pages
        change = {"huge_pages": container.huge_pages}
        yield Difference("transparent huge pages", *pages, change, itself("huge_pages"))
    limits = {k: v for k, v in container.limits.items() if native.limits.get(k) != v}
    if limits:
        before = " ".join(f"{name}={native.limits.get(name, '')}" for name in limits)
        after = " ".join(f"{name}={value}" for name, value in limits.items())
        yield Difference("resource limits", before, after, {"limits": limits}, itself("limits"))
    if native.memory_limit != container.memory_limit:
        sizes = _size(native.memory_limit), _size(container.memory_limit)
        yield Difference("memory limit", *sizes, {}, "not made")
    if native.most_processes != container.most_processes:
        counts = str(native.most_processes or "none"), str(container.most_processes or "none")
        yield Difference("limit of processes", *counts, {}, "not made")
    if native.user != container.user:
        yield Difference("user", native.user, container.user, obstacle="not made")


def _of_variables(
    native: Surroundings,
    container: Surroundings,
    given: Surroundings,
    folder: Path,
    secrets: dict[str, str],
) -> Iterator[Difference]:
    """A step for each that matters, and one for all others, but those that a launcher sets.

    They are told by their names alone: a value may be a secret, and is taken from another variable.
    """
    ours, theirs = native.variables, container.variables
    names_of_both = (ours.keys() | theirs.keys()) - (ours.keys() - given.variables.keys())
    differ = sorted(name for name in names_of_both if ours.get(name) != theirs.get(name))
    changes = dict[str, str | None]()
    for name in differ:
        changes[name] = None
        if name in theirs:
            changes[name] = own = _SECRET.format(len(secrets))
            secrets[own] = theirs[name]
    loads = frozenset[str]()
    if preload := changes.get(_PRELOAD):
        # Its files are in the image, and their copies here.
        paths = re.split(r"[ :]+", theirs[_PRELOAD])
        loads = frozenset(container.files[path] for path in paths if path in container.files)
        copies = [folder / CODE / Path(path).name for path in paths]
        secrets[preload] = ":".join(
            str(copy) if copy.exists() else path for copy, path in zip(copies, paths, strict=True)
        )
    groups = [[name] for name in differ if _MATTERS.match(name)]
    groups.append([name for name in differ if not _MATTERS.match(name)])
    for names in filter(None, groups):
        title = f"environment: {names[0]}" if _MATTERS.match(names[0]) else "environment"
        before, after = (
            ", ".join(name for name in names if name in side) for side in (ours, theirs)
        )
        change = {"variables": {name: changes[name] for name in names}}
        proof = loads if names == [_PRELOAD] else frozenset[str]()
        yield Difference(title, before or "none", after or "none", change, loads=proof)


def _of_kernel(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Difference]:
    """Namespaces (network and users each by itself), capabilities, /dev/shm, filters of calls."""
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
    if native.capabilities != container.capabilities:
        lost, more = (
            [name for bit, name in enumerate(_CAPABILITIES) if bits >> bit & 1]
            for bits in (
                native.capabilities & ~container.capabilities,
                container.capabilities & ~native.capabilities,
            )
        )
        obstacle = "those of its user namespace" if "user" in own else "it has more" if more else ""
        change = {"capabilities": tuple(lost)}
        sides = ", ".join(lost) or "none", ", ".join(more) or "none of these"
        yield Difference("capabilities", *sides, change, obstacle)
    if native.shared_memory != container.shared_memory:
        sides = _size(native.shared_memory), _size(container.shared_memory)
        obstacle = "" if container.shared_memory else "it has none"
        memory = {"shared_memory": container.shared_memory}
        yield Difference("size of /dev/shm", *sides, memory, obstacle)
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
    ours, theirs, code = native.libraries, container.libraries, folder / CODE
    differ = sorted(name for name, digest in theirs.items() if ours.get(name) != digest)
    of_c = [name for name in differ if _C_LIBRARY.fullmatch(name)]
    others = [name for name in differ if name not in of_c]
    is_other = native.executable != container.executable
    obstacle = ""
    if container.busy != container.command[0] or native.busy != native.command[0]:
        obstacle = "of a process that the program starts"
    elif (differ or is_other) and not any(map(is_loader, code.iterdir())):
        obstacle = "its loader was not found"
    if of_c and not obstacle:
        (folder / "c-library").mkdir(exist_ok=True)
        for path in code.iterdir():
            copy = folder / "c-library" / path.name
            if _C_LIBRARY.fullmatch(path.name) and not copy.exists():
                copy.hardlink_to(path)
    file = {"program": str(code / Path(container.command[0]).name)}
    sides = native.executable[:8], container.executable[:8]
    # A program of one C library does not run with another's loader.
    at_once = is_other and any(LOADER.fullmatch(name) for name in of_c if name not in ours)
    for title, names, place, change in (
        ("C library of the image", of_c, folder / "c-library", file if at_once else {}),
        ("libraries of the image", others, code, {}),
    ):
        if names:
            before = ", ".join(f"{name} {ours.get(name, 'none')[:8]}" for name in names)
            after = ", ".join(f"{name} {theirs[name][:8]}" for name in names)
            loads = frozenset(theirs[name] for name in names)
            change = {**change, "libraries": str(place)}
            if change.get("program"):
                before, after = f"{before}, program {sides[0]}", f"{after}, program {sides[1]}"
            yield Difference(title, before, after, change, obstacle, loads)
    if is_other and not at_once:
        yield Difference("program file", *sides, file, obstacle, frozenset({container.executable}))


def _of_root(native: Surroundings, container: Surroundings, folder: Path) -> Iterator[Difference]:
    """The image's files as a folder of this machine, and then mounted as the container's root."""
    if native.namespaces["mnt"] == container.namespaces["mnt"]:
        return
    image, way = folder / IMAGE, _ROOTS.get(container.root, "")
    obstacle = "" if os.geteuid() == 0 else "needs root"
    if not image.exists():
        obstacle = "too large to be copied, or not for us to read"
    change = {
        "root": "directory",
        "binds": container.mounts or {},
        "inside": container.folder,
        "libraries": "",
        "program": "",
    }
    yield Difference("image as a directory", "this machine's files", "its own", change, obstacle)
    if native.root == container.root:
        return
    if not obstacle and "fuse" in container.root and (missing := no_fuse()):
        obstacle = missing.reason
    if not obstacle and "fuse" in container.root and not is_installed(way):
        obstacle = f"{way or container.root} is not installed"
    elif not obstacle and not way:
        obstacle = "not made"
    if not obstacle and "squash" in way:
        words = ["mksquashfs", str(image), f"{image}.squashfs", "-noappend", "-no-progress"]
        done = subprocess.run(words, capture_output=True, check=False)
        obstacle = "mksquashfs fails" if done.returncode else ""
    yield Difference("root file system", native.root, container.root, {"root": way}, obstacle)


def _quota(side: Surroundings) -> str:
    return f"{side.quota[0]} of {side.quota[1]} us" if side.quota else "none"


def _size(size: int) -> str:
    return f"{size / 2**10:.0f} KiB" if 0 < size < 2**20 else f"{size / 2**20:.0f} MiB"
