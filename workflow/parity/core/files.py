"""Files: JSON that is whole or not there, and the text of files that people write."""

from __future__ import annotations

import base64
import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.core.errors import UserError

# The largest file that people write here, the register of claims, has 75 kB.
LARGEST_INPUT = 1 << 18
# What is no text stands in texts as a URL of itself (RFC 2397).
_DATA = "data:;base64,"


def as_text(content: bytes) -> str:
    """Content as text that JSON and tables can hold: its own if it is UTF-8, else a data URL."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return _DATA + base64.b64encode(content).decode("ascii")


def as_bytes(text: str) -> bytes:
    """What `as_text` was given that is no UTF-8.

    Raises:
        ValueError: the text is no such URL.
    """
    if not text.startswith(_DATA):
        raise ValueError("it is text")
    return base64.b64decode(text.removeprefix(_DATA), validate=True)


def read_regular(path: Path, most: int | None = None) -> str:
    """The UTF-8 text of a regular file, of at most so many bytes if that is given.

    A FIFO would wait for ever, and a device such as /dev/zero has no end.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger.
        ValueError: it is not UTF-8, or the path has a null character.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        # Room for as many bytes as are asked for is made at once.
        content = file.read() if most is None else file.read(most + 1)
    if most is not None and len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most // 1024} kB")
    return content.decode("utf-8")


def read_input(path: Path, most: int = LARGEST_INPUT) -> str:
    """The text of a file that people write; a mark of its byte order is no part of it.

    Raises:
        UserError: there is no such file, it cannot be read, is no regular file, not UTF-8, or
            larger than such a file can be.
    """
    try:
        return read_regular(path, most).removeprefix("\ufeff")
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("[!.]*.*") if p.suffix == path.suffix)
        raise UserError(
            "there is no such file",
            where=str(path),
            allowed=", ".join(near),
            action="correct the path, or make the file",
        ) from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"the file cannot be read: {said}", where=str(path)) from None


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document atomically: readers see the old file or the whole new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(document, file, sort_keys=True, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON document that `write_json` wrote."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def files_below(folder: Path) -> list[Path]:
    """All files of a folder, sorted; what Python leaves beside its sources does not count."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
