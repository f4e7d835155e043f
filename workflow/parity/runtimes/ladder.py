"""The namespace ladder: the program under one more mechanism of a container at each step.

A container engine is a sum of mechanisms of the kernel. Here they are added one by one, so
that a cost can be laid at the door of one of them: a step is compared with the step before.
Bubblewrap does most of it; the first step's difference to the bare program is a control
group, the second one's is bubblewrap itself, which always makes a mount namespace and sets
"no new privileges" (engines do so on request only). It keeps all capabilities of its caller.

Control groups and namespaces without a user namespace belong to root. So an ordinary user
has the steps from `+user` on, and those only where its control group is delegated to it.
"""

import ctypes
import errno
import json
import os
import platform
import signal
import struct
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from parity.core.commands import Availability, answer_of, is_installed, no_fuse
from parity.core.errors import UserError
from parity.runtimes import limits
from parity.runtimes.limits import control_group_version
from parity.runtimes.model import HOSTS, SCRATCH, Launch, Named, absent, name_in
from parity.runtimes.namespaces import mounted, mounting, no_user_namespaces

PROFILE = Path("/usr/share/containers/seccomp.json")
LIBRARY = "libseccomp.so.2"
# Of the capabilities that the profile asks about, the one that engines leave to a container.
CAPABILITIES = frozenset({"CAP_SYS_CHROOT"})
# What profiles and images call a machine, by its name in `uname`.
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x"}
# seccomp.h: actions, and comparisons of arguments.
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_COMPARISONS = ("NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ")


class Rule(NamedTuple):
    """What happens when a system call is made."""

    call: str
    action: int  # `SCMP_ACT_ALLOW`, or `SCMP_ACT_ERRNO` with the error in its low bits
    # (argument, comparison, first value, second value), all of which must hold for it to apply.
    comparisons: tuple[tuple[int, int, int, int], ...] = ()


def _action(name: str, error: int | None) -> int:
    if name not in ("SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"):
        raise UserError(f"unknown action {name}", where=str(PROFILE))
    refused_by = errno.EPERM if error is None else error
    return _ALLOW if name == "SCMP_ACT_ALLOW" else _ERRNO | refused_by


def rules(profile: Mapping[str, Any], machine: str) -> Iterator[Rule]:
    """The profile's rules for a container on a machine (`amd64`), or UserError, in its order."""
    for entry in profile["syscalls"]:
        includes, excludes = entry.get("includes") or {}, entry.get("excludes") or {}
        if (
            machine in includes.get("arches", [machine])
            and machine not in excludes.get("arches", [])
            and CAPABILITIES.issuperset(includes.get("caps", []))
            and CAPABILITIES.isdisjoint(excludes.get("caps", []))
        ):
            comparisons = tuple(
                (
                    each["index"], 1 + _COMPARISONS.index(each["op"].removeprefix("SCMP_CMP_")),
                    each["value"], each.get("valueTwo", 0),
                )
                for each in entry.get("args") or ()
            )  # fmt: skip
            action = _action(entry["action"], entry.get("errnoRet"))
            yield from (Rule(call, action, comparisons) for call in entry["names"])


def no_profile() -> Availability | None:
    """Why a filter cannot be made here; None if it can."""
    if not PROFILE.exists():
        return absent(f"no {PROFILE}", "apt-get install golang-github-containers-common")
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return absent(f"no {LIBRARY}", "apt-get install libseccomp2")
    return None


def write_filter(file: Path) -> None:
    """Write the filter, as the kernel takes it (an array of `struct sock_filter`); or UserError."""
    # Like in a container it knows the calls of 32-bit programs of the same machine, too.
    if missing := no_profile():
        raise UserError(f"no filter of system calls: {missing.reason}", action=missing.remedy)
    file.write_bytes(_filter(PROFILE))


@cache
def _filter(profile_file: Path) -> bytes:
    """The filter of a profile; made once, because every run of the arm asks for it."""
    profile, library = json.loads(profile_file.read_text(encoding="utf-8")), ctypes.CDLL(LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_arch_resolve_name.restype = ctypes.c_uint32
    library.seccomp_arch_native.restype = ctypes.c_uint32

    def architecture(name: str) -> int:
        lower = name.removeprefix("SCMP_ARCH_").lower()
        return int(library.seccomp_arch_resolve_name(lower.encode()))

    default = _action(profile["defaultAction"], profile.get("defaultErrnoRet"))
    context = ctypes.c_void_p(library.seccomp_init(default))
    try:
        # The rules hold for those sets of system calls that are there before them.
        for entry in profile["archMap"]:
            if architecture(entry["architecture"]) == library.seccomp_arch_native():
                for name in entry["subArchitectures"]:
                    library.seccomp_arch_add(context, ctypes.c_uint32(architecture(name)))
        for rule in rules(profile, MACHINES.get(platform.machine(), "")):
            number = library.seccomp_syscall_resolve_name(rule.call.encode())
            if number == -1:
                continue  # Younger than this libseccomp: the default refuses it, as for runc.
            # An array of `struct scmp_arg_cmp`.
            comparisons = b"".join(struct.pack("IiQQ", *each) for each in rule.comparisons)
            asked = (ctypes.c_uint32(rule.action), number, len(rule.comparisons), comparisons)
            failure = library.seccomp_rule_add_array(context, *asked)
            # The profile has some rules twice.
            if failure not in (0, -errno.EEXIST):
                what = f"libseccomp refuses a rule: {rule} ({failure})"
                raise UserError(what, where=str(PROFILE))
        with tempfile.TemporaryFile() as output:
            if failure := library.seccomp_export_bpf(context, output.fileno()):
                raise UserError(f"libseccomp cannot write the filter: {failure}")
            output.seek(0)
            return output.read()
    finally:
        library.seccomp_release(context)


_LONGEST_END_SECONDS, _TRIES = 5, 3
# Runs the words in a control group of their own, in every hierarchy that there is, as an
# engine does: below the caller's group in those of version 1 (where a new cpuset is
# empty), beside it in version 2, where a group that has processes hands no controller
# down. Words such as cpu.shares=512 in front of the others are what to write into the files of
# these groups. The outer shell ($$) stays where it is, and removes the groups after the program.
CONTROL_GROUP = Path(__file__).with_name("ladder_control_group.sh").read_text(encoding="utf-8")
# Bubblewrap reads the filter from an open file.
FILTERED = '\nfilter=$1\nshift\nexec "$@" 9< "$filter"\n'


class Mechanism(msgspec.Struct, frozen=True):
    """One mechanism, as ladder.yaml says of each."""

    namespace: str = ""
    words: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


MECHANISMS = msgspec.yaml.decode(
    Path(__file__).with_name("ladder.yaml").read_bytes(), type=dict[str, Mechanism]
)


@dataclass(frozen=True)
class Step(Named):
    """The ladder up to one step, which is named after the last of its mechanisms."""

    mechanisms: tuple[str, ...]  # what is on, in the order of `MECHANISMS`
    image_format: str | None = None
    root_filesystem: str = ""

    @property
    def isolates(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(filter(None, (MECHANISMS[name].namespace for name in self.mechanisms)))

    @property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(package for name in self.mechanisms for package in MECHANISMS[name].packages)

    def probe(self) -> Availability:
        if "mount" in self.mechanisms:
            if not is_installed("bwrap"):
                return absent("not installed", "apt-get install bubblewrap")
            if os.getuid() and "user" not in self.mechanisms:
                remedy = "run the study as root: an ordinary user's needs a user namespace as well"
                return absent("needs root", remedy)
            if os.getuid() and (missing := no_user_namespaces()):
                return missing
        if "seccomp" in self.mechanisms and (missing := no_profile()):
            return missing
        if "squashfs" in self.mechanisms:
            if not is_installed("squashfuse_ll"):
                return absent("no squashfuse", "apt-get install squashfuse")
            if missing := no_fuse():
                return missing
        # The image is the run's own; everything else is tried.
        tried = replace(self, mechanisms=tuple(n for n in self.mechanisms if n != "squashfs"))
        with tempfile.TemporaryDirectory() as state:
            launch = Launch(name_in(Path(state)), None, SCRATCH, Path(state))
            words = tried.command(launch, ["true"])
            for _ in range(_TRIES):
                started, answer = answer_of(words)
                if started:
                    break
                # Bubblewrap reads the table of mounts and then goes through them, and fails if
                # another container ends in between and takes its own away.
                self.cleanup(launch)
            else:
                remedy = "as root on the node itself, or in a control group delegated to you"
                return absent(f"cannot start: {answer}", remedy)
        if "mount" in self.mechanisms:
            return Availability(True, version=answer_of(["bwrap", "--version"])[1])
        return Availability(True, version=f"{platform.system()} {platform.release()}")

    def command(self, launch: Launch, inner: Sequence[str]) -> list[str]:
        words = ["/bin/sh", "-euc", CONTROL_GROUP, "control-group", launch.name, *launch.limits]
        root = ["--dev-bind", "/", "/"]
        if "squashfs" in self.mechanisms:
            point, scratch = launch.state / "mount", str(launch.scratch)
            words += [*mounting(), *mounted("squashfuse_ll", launch.location, point)]
            root = ["--ro-bind", str(point), "/", "--dev-bind", "/dev", "/dev"]
            root += ["--ro-bind", "/sys", "/sys", "--bind", scratch, scratch]
            for path in (HOSTS, *launch.binds):
                root += ["--ro-bind", str(path), str(path)]
        if "seccomp" in self.mechanisms:
            write_filter(file := launch.state / "seccomp.bpf")
            words += ["/bin/sh", "-euc", FILTERED, "filtered", str(file)]
        if "mount" in self.mechanisms:
            words += ["bwrap", *root]
        return [*words, *(w for name in self.mechanisms for w in MECHANISMS[name].words), *inner]

    def limit_words(self, limit: limits.CpuLimit) -> list[str] | None:
        return limits.control_group_words(limit, control_group_version())

    def cleanup(self, *launches: Launch) -> None:
        remove_groups({launch.name for launch in launches})


def remove_groups(names: set[str]) -> None:
    """End what is in control groups of these names, in any hierarchy, and remove them."""
    for folder, below, _ in os.walk(limits.CONTROL_GROUPS):
        for name in names.intersection(below):
            _remove(Path(folder, name))


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


ARMS = tuple(
    Step(f"ladder-{name}", f"+{name}", tuple(MECHANISMS)[:last], *image)
    for last, name in enumerate(MECHANISMS, start=1)
    for image in [("squashfs", "fuse") if name == "squashfs" else ()]
)
