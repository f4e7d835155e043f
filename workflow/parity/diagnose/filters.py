"""The filters of system calls that a process has, taken from the kernel.

`PTRACE_SECCOMP_GET_FILTER` of ptrace(2) gives them to root, as instructions that can be loaded
again; a filter that asks a program of its own (`SECCOMP_RET_USER_NOTIF`) cannot be.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_SEIZE, _INTERRUPT, _DETACH, _GET_FILTER = 0x4206, 0x4207, 17, 0x420C
_BYTES_OF_AN_INSTRUCTION = 8
FILE = "filter-{}.bpf"
# A shell opens files by numbers of one digit, and these are those that it leaves free.
MOST_FILTERS = 3


def dump_filters(pid: int, keep: Path) -> int:
    """Write each filter of a process to a file of its own, the oldest first; how many there were.

    Where the kernel gives none to us, there are none; `Surroundings.filters` says how many are.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(_SEIZE, pid, None, None) != 0:
        return 0
    try:
        # It has to stand still to be asked.
        if libc.ptrace(_INTERRUPT, pid, None, None) != 0:
            return 0
        # A thread of another's child is waited for by its number alone.
        os.waitpid(pid, 0x40000000)
        found: list[bytes] = []
        # The kernel counts from the newest.
        while (count := libc.ptrace(_GET_FILTER, pid, len(found), None)) > 0:
            place = ctypes.create_string_buffer(count * _BYTES_OF_AN_INSTRUCTION)
            libc.ptrace(_GET_FILTER, pid, len(found), place)
            found.append(place.raw)
        # Bubblewrap loads files in the order of its words.
        for number, content in enumerate(reversed(found)):
            (keep / FILE.format(number)).write_bytes(content)
        return len(found)
    except ChildProcessError:
        return 0
    finally:
        libc.ptrace(_DETACH, pid, None, ctypes.c_void_p(0))
