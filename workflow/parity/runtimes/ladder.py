"""The namespace ladder: the program under one more mechanism of a container at each step.

A container engine is a sum of mechanisms of the kernel. Here they are added one by one, so
that a cost can be laid at the door of one of them: a step is compared with the step before.
Bubblewrap does most of it; the first step's difference to the bare program is a control
group, the second one's is bubblewrap itself, which always makes a mount namespace and sets
"no new privileges" (engines do so on request only). It keeps all capabilities of its caller.

Control groups and namespaces without a user namespace belong to root. So an ordinary user
has the steps from `+user` on, and those only where its control group is delegated to it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from parity.core.commands import Availability, answer_of, is_installed, no_fuse
from parity.core.errors import UserError
from parity.runtimes.limits import (
    CONTROL_GROUPS,
    CpuLimit,
    control_group_version,
    control_group_words,
)
from parity.runtimes.model import HOSTS, SCRATCH, Arm, Launch, Look
from parity.runtimes.namespaces import mounted, no_user_namespaces

PROFILE = Path("/usr/share/containers/seccomp.json")
LIBRARY = "libseccomp.so.2"
# Of the capabilities that the profile asks about, the one that engines leave to a container.
CAPABILITIES = frozenset({"CAP_SYS_CHROOT"})
# The profile's names of machines, by those of `uname`.
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x"}
# seccomp.h: actions, and comparisons of arguments.
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_COMPARISONS = ("NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ")
_UNKNOWN_CALL = -1


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp` of seccomp.h."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("comparison", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Rule:
    """What happens when a system call is made.

    Attributes:
        call: the system call's name.
        action: `SCMP_ACT_ALLOW`, or `SCMP_ACT_ERRNO` with the error in its low bits.
        comparisons: (argument, comparison, first value, second value), all of which must
            hold for the rule to apply; empty if it always does.
    """

    call: str
    action: int
    comparisons: tuple[tuple[int, int, int, int], ...] = ()


def _action(entry: Mapping[str, Any], name: str, number: str) -> int:
    if entry[name] == "SCMP_ACT_ALLOW":
        return _ALLOW
    if entry[name] == "SCMP_ACT_ERRNO":
        return _ERRNO | int(entry.get(number, errno.EPERM))
    raise UserError(f"unknown action {entry[name]}", where=str(PROFILE))


def _applies(entry: Mapping[str, Any], machine: str) -> bool:
    """Whether an entry is meant for this machine and for a container's capabilities."""
    includes, excludes = entry.get("includes") or {}, entry.get("excludes") or {}
    return (
        machine in includes.get("arches", [machine])
        and machine not in excludes.get("arches", [])
        and CAPABILITIES.issuperset(includes.get("caps", []))
        and CAPABILITIES.isdisjoint(excludes.get("caps", []))
    )


def rules(profile: Mapping[str, Any], machine: str) -> Iterator[Rule]:
    """The profile's rules for one machine, in the profile's order.

    Args:
        machine: in the profile's own words, such as `amd64`.

    Raises:
        UserError: the profile has an action that is neither to allow nor to refuse.
    """
    for entry in profile["syscalls"]:
        if not _applies(entry, machine):
            continue
        comparisons = tuple(
            (
                each["index"],
                1 + _COMPARISONS.index(each["op"].removeprefix("SCMP_CMP_")),
                each["value"],
                each.get("valueTwo", 0),
            )
            for each in entry.get("args") or ()
        )
        action = _action(entry, "action", "errnoRet")
        for call in entry["names"]:
            yield Rule(call, action, comparisons)


def no_profile() -> Availability | None:
    """Why a filter cannot be made here; None if it can."""
    if not PROFILE.exists():
        remedy = "apt-get install golang-github-containers-common"
        return Availability(False, reason=f"no {PROFILE}", remedy=remedy)
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return Availability(False, reason=f"no {LIBRARY}", remedy="apt-get install libseccomp2")
    return None


def write_filter(file: Path) -> None:
    """Write the filter, as the kernel takes it (an array of `struct sock_filter`), to a file.

    Like in a container it knows the calls of 32-bit programs of the same machine, too.

    Raises:
        UserError: the profile or libseccomp is missing, or one does not know the other.
    """
    if missing := no_profile():
        raise UserError(f"no filter of system calls: {missing.reason}", action=missing.remedy)
    file.write_bytes(_filter(PROFILE))


@cache
def _filter(profile_file: Path) -> bytes:
    """The filter of a profile; made once, because every run of the arm asks for it."""
    profile, library = json.loads(profile_file.read_text(encoding="utf-8")), ctypes.CDLL(LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(
        library.seccomp_init(_action(profile, "defaultAction", "defaultErrnoRet"))
    )
    try:
        _add_relatives(library, context, profile)
        for rule in rules(profile, _MACHINES.get(platform.machine(), "")):
            _add(library, context, rule)
        with TemporaryFile() as output:
            if failure := library.seccomp_export_bpf(context, output.fileno()):
                raise UserError(f"libseccomp cannot write the filter: {failure}")
            output.seek(0)
            return output.read()
    finally:
        library.seccomp_release(context)


def _add_relatives(
    library: ctypes.CDLL, context: ctypes.c_void_p, profile: Mapping[str, Any]
) -> None:
    """Have the rules hold for the machine's other sets of system calls, before any is added."""

    def architecture(name: str) -> int:
        return int(
            library.seccomp_arch_resolve_name(name.removeprefix("SCMP_ARCH_").lower().encode())
        )

    library.seccomp_arch_resolve_name.restype = ctypes.c_uint32
    library.seccomp_arch_native.restype = ctypes.c_uint32
    for entry in profile["archMap"]:
        if architecture(entry["architecture"]) == library.seccomp_arch_native():
            for name in entry["subArchitectures"]:
                library.seccomp_arch_add(context, ctypes.c_uint32(architecture(name)))


def _add(library: ctypes.CDLL, context: ctypes.c_void_p, rule: Rule) -> None:
    number = library.seccomp_syscall_resolve_name(rule.call.encode())
    if number == _UNKNOWN_CALL:
        return  # Younger than this libseccomp: the default refuses it, as it does for runc.
    count = len(rule.comparisons)
    comparisons = (_Comparison * count)(*(_Comparison(*each) for each in rule.comparisons))
    failure = library.seccomp_rule_add_array(
        context, ctypes.c_uint32(rule.action), number, count, comparisons
    )
    # The profile has some rules twice.
    if failure not in (0, -errno.EEXIST):
        raise UserError(f"libseccomp refuses a rule: {rule} ({failure})", where=str(PROFILE))


_LONGEST_END_SECONDS = 5
_TRIES = 3

# Runs the words in a control group of their own, in every hierarchy that there is, as an
# engine does: below the caller's group in those of version 1 (where a new cpuset is
# empty), beside it in version 2, where a group that has processes hands no controller
# down. Words such as cpu.shares=512 in front of the others are what to write into the files of
# these groups. The outer shell ($$) stays where it is, and removes the groups after the program.
CONTROL_GROUP = Path(__file__).with_name("ladder_control_group.sh").read_text(encoding="utf-8")

# Bubblewrap reads the filter from an open file.
FILTERED = """
filter=$1
shift
exec "$@" 9< "$filter"
"""


class Mechanism(NamedTuple):
    """One mechanism: the namespace that it makes, bubblewrap's words for it, Debian packages."""

    namespace: str = ""
    words: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


# In the order in which they are added. A network namespace's loopback, over which mpirun
# finds its ranks, bubblewrap brings up.
MECHANISMS = {
    "cgroup": Mechanism(),
    "mount": Mechanism("mnt", packages=("bubblewrap",)),
    "pid": Mechanism("pid", ("--unshare-pid", "--proc", "/proc")),
    "ipc": Mechanism("ipc", ("--unshare-ipc",)),
    "user": Mechanism("user", ("--unshare-user",)),
    "net": Mechanism("net", ("--unshare-net",)),
    "seccomp": Mechanism(
        "", ("--seccomp", "9"), ("golang-github-containers-common", "libseccomp2")
    ),
    "squashfs": Mechanism(packages=("squashfs-tools", "squashfuse", "umoci", "util-linux")),
}


@dataclass(frozen=True)
class Step(Arm):
    """The ladder up to one step.

    Attributes:
        mechanisms: what is on, in the order of `MECHANISMS`; the step is named after the last.
    """

    name: str
    title: str
    mechanisms: tuple[str, ...]
    image_format: str | None = None
    root_filesystem: str = ""
    runtime: str = "ladder"
    look = Look("#882255", ">")
    made_from = "directory"
    converter = ("mksquashfs", "-version")

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(filter(None, (MECHANISMS[each].namespace for each in self.mechanisms)))

    @property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for each in self.mechanisms for name in MECHANISMS[each].packages)

    def probe(self) -> Availability:
        if missing := _missing(self.mechanisms):
            return missing
        # The image is the run's own; everything else is tried.
        tried = [each for each in self.mechanisms if each != "squashfs"]
        with tempfile.TemporaryDirectory() as state:
            launch = Launch(f"parity-probe-{os.getpid()}-{self.name}", None, SCRATCH, Path(state))
            started, said = self._started(launch, [*_words(tried, launch), "true"])
            if not started:
                remedy = "as root on the node itself, or in a control group delegated to you"
                return Availability(False, reason=f"cannot start: {said}", remedy=remedy)
        if "mount" in self.mechanisms:
            return Availability(True, version=answer_of(["bwrap", "--version"])[1])
        return Availability(True, version=f"{platform.system()} {platform.release()}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        return [*_words(self.mechanisms, launch), *inner]

    def limit_words(self, limit: CpuLimit) -> list[str] | None:
        return control_group_words(limit, control_group_version())

    def _started(self, launch: Launch, words: Sequence[str]) -> tuple[bool, str]:
        """Whether the words ran, and what they said; asked anew where a mount may have gone.

        Bubblewrap reads the table of mounts and then goes through them, and fails if another
        container ends in between and takes its own away.
        """
        for _ in range(_TRIES):
            started, said = answer_of(words)
            if started:
                break
            self.cleanup(launch)
        return started, said

    def cleanup(self, *launches: Launch) -> None:
        """End what is left in the run's control groups, and remove them."""
        names = {launch.name for launch in launches}
        for folder, below, _ in os.walk(CONTROL_GROUPS):
            for name in names.intersection(below):
                _remove(Path(folder, name))


def _missing(mechanisms: Sequence[str]) -> Availability | None:
    """What of the mechanisms' programs, files or rights is not here; None if nothing is."""
    if "mount" in mechanisms:
        if not is_installed("bwrap"):
            return Availability(False, reason="not installed", remedy="apt-get install bubblewrap")
        if os.getuid() and "user" not in mechanisms:
            remedy = "run the study as root: an ordinary user's needs a user namespace as well"
            return Availability(False, reason="needs root", remedy=remedy)
        if os.getuid() and (missing := no_user_namespaces()):
            return missing
    if "seccomp" in mechanisms and (missing := no_profile()):
        return missing
    if "squashfs" in mechanisms:
        if not is_installed("squashfuse_ll"):
            return Availability(False, reason="no squashfuse", remedy="apt-get install squashfuse")
        return no_fuse()
    return None


def _words(mechanisms: Sequence[str], launch: Launch) -> list[str]:
    """The words in front of the program's own that turn the mechanisms on."""
    words = ["/bin/sh", "-euc", CONTROL_GROUP, "control-group", launch.name, *launch.limits]
    root = ["--dev-bind", "/", "/"]
    if "squashfs" in mechanisms:
        mount, root = _mounted(launch)
        words += mount
    if "seccomp" in mechanisms:
        file = launch.state / "seccomp.bpf"
        write_filter(file)
        words += ["/bin/sh", "-euc", FILTERED, "filtered", str(file)]
    if "mount" in mechanisms:
        words += ["bwrap", *root]
    return words + [word for each in mechanisms for word in MECHANISMS[each].words]


def _mounted(launch: Launch) -> tuple[list[str], list[str]]:
    """The words that mount the image, and bubblewrap's that make it the root."""
    point = launch.state / "mount"
    # Only root may mount without a user namespace to do it in.
    rights = ["--map-root-user"] if os.getuid() else []
    root = ["--ro-bind", str(point), "/", "--dev-bind", "/dev", "/dev", "--ro-bind", "/sys", "/sys"]
    root += ["--bind", str(launch.scratch), str(launch.scratch)]
    for path in (HOSTS, *launch.binds):
        root += ["--ro-bind", str(path), str(path)]
    words = mounted("squashfuse_ll", launch.location, point)
    return ["unshare", *rights, "--mount", *words], root


def _remove(group: Path) -> None:
    """Kill a control group's processes, and remove it as soon as the kernel lets go of it."""
    deadline = time.monotonic() + _LONGEST_END_SECONDS
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            # Number 0 is a process that we do not see, and would be ourselves to kill().
            for number in set((group / "cgroup.procs").read_text().split()) - {"0"}:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(number), signal.SIGKILL)
            group.rmdir()
        time.sleep(0.01)


def _steps() -> Iterator[Step]:
    for last, name in enumerate(MECHANISMS, start=1):
        image = ("squashfs", "fuse") if name == "squashfs" else (None, "")
        yield Step(f"ladder-{name}", f"+{name}", tuple(MECHANISMS)[:last], *image)


ARMS = tuple(_steps())
