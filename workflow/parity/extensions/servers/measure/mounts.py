"""Mounts below a folder, found and ended without anybody's asking their file systems."""

from __future__ import annotations

import os
from pathlib import Path

from parity.extensions.network_namespace import ask_kernel

# <sys/mount.h>
_MNT_DETACH = 2
TABLE = Path("/proc/self/mountinfo")


def unmount_below(folder: Path) -> None:
    """Unmount, lazily, all that is mounted at a folder or below; nothing there is touched.

    Raises:
        OSError: the kernel refuses it.
    """
    for point in mounts_below(folder):
        ask_kernel("umount2", os.fsencode(point), _MNT_DETACH)


def mounts_below(folder: Path) -> list[Path]:
    """The mount points at or below a folder, the last mounted first."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    points = (Path(line.split()[4].encode().decode("unicode_escape")) for line in lines)
    return [point for point in points if point.is_relative_to(folder)][::-1]
