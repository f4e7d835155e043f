"""Whether file systems in user space can be mounted here."""

from __future__ import annotations

import os
from pathlib import Path

from parity.core.availability import Availability

DEVICE = Path("/dev/fuse")


def no_fuse(device: Path = DEVICE) -> Availability | None:
    """Why a user cannot mount a file system in user space here; None if it can."""
    if os.access(device, os.R_OK | os.W_OK):
        return None
    if not device.exists():
        return Availability(False, reason=f"no {device}", remedy="as root: modprobe fuse")
    return Availability(
        False, reason=f"no access to {device}", remedy=f"as root: chmod 0666 {device}"
    )
