"""The programs around a timed one: the image's own, or, where it is foreign, the host's.

A foreign image may have no shell, and another `env`. Then one static program of the host lies in
the working folder, which every arm sees at the same path, native ones included: all arms are
bound, witnessed and audited by the same bytes, and the image is left as it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Container
from pathlib import Path

from parity.core.errors import UserError
from parity.runtimes.model import SCRATCH
from parity.software.images import FOREIGN

PACKAGE = "busybox-static"
BUSYBOX = Path("/bin/busybox")
TOOLS = SCRATCH / f"{os.geteuid()}" / "busybox"
# Where a program that is linked dynamically names its loader.
_BEGINNING_BYTES = 4096


def tools_for(formats: Container[str]) -> str:
    """Path of the static tools for images of these formats; empty for the image's own programs."""
    return str(TOOLS) if FOREIGN in formats else ""


def lay_out(tools: str) -> None:
    """Put the static tools, if any are asked for, where all arms of this node see them.

    Raises:
        UserError: they are not installed, or not static.
    """
    if not tools:
        return
    if not BUSYBOX.exists() or b"ld-linux" in BUSYBOX.read_bytes()[:_BEGINNING_BYTES]:
        raise UserError(
            f"{BUSYBOX} is no static program, and an image of your own may have no tools",
            action=f"as root: apt-get install {PACKAGE}",
        )
    part = Path(f"{tools}.part")
    shutil.copy(BUSYBOX, part)
    part.rename(tools)


def tool(tools: str, path: str) -> tuple[str, ...]:
    """The words of a program that every Linux has, such as /bin/sh."""
    return (tools, Path(path).name) if tools else (path,)
