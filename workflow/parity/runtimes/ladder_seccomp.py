"""The filter of system calls that container engines set by default, as a program for the kernel.

The list is the engines' own profile, a JSON file of Debian's package
golang-github-containers-common. It is read by the rules of its format (runtime-spec of the
Open Container Initiative, "seccomp", and Docker's `includes` and `excludes`), and libseccomp
makes the program, as it does for runc and crun.
"""

from __future__ import annotations

import ctypes
import errno
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from parity.core.availability import Availability
from parity.core.errors import UserError

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
