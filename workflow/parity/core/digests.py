"""Digests of what is on disk: a file by its bytes, a directory by a sorted manifest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_PIECE_BYTES = 1 << 20


def digest(path: Path) -> str:
    """`sha256:…` of a file's bytes or of a directory's manifest.

    The manifest has one line per entry, sorted by path: path, type, permission bits,
    size, and the content's hash or the link's target. Owner and times are left out:
    they differ between a root's and a user's copy of the same image.

    Raises:
        OSError: something cannot be read.
    """
    if not path.is_dir():
        return f"sha256:{_file_hash(path)}"
    manifest = hashlib.sha256()
    for line in _manifest_lines(path):
        manifest.update(line)
    return f"sha256:{manifest.hexdigest()}"


def size_on_disk(path: Path) -> int:
    """Bytes that a file or a directory takes on disk; a file with many links counts once."""
    below = [] if path.is_symlink() else path.rglob("*")
    states = [entry.lstat() for entry in (path, *below)]
    return sum({state.st_ino: state.st_blocks * 512 for state in states}.values())


def _manifest_lines(root: Path) -> Iterator[bytes]:
    """One line for each entry of a tree; a folder's own line stands before those in it.

    Paths are texts here: an image has ten thousand entries, and each node checks all of
    them before each block.
    """
    waiting = [(".", str(root))]
    while waiting:
        name, path = waiting.pop()
        status = os.lstat(path)
        kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        size, content = 0, ""
        if stat.S_ISREG(kind):
            size, content = status.st_size, _file_hash(Path(path))
        elif stat.S_ISLNK(kind):
            # A link has no permissions of its own.
            mode, content = 0, str(Path(path).readlink())
        elif stat.S_ISDIR(kind):
            above = "" if name == "." else f"{name}/"
            below = sorted((entry.name for entry in os.scandir(path)), reverse=True)
            waiting += [(f"{above}{child}", f"{path}/{child}") for child in below]
        fields = (name, f"{kind:o}", f"{mode:o}", str(size), content)
        # NUL cannot be part of a name or of a link's target, so no two trees share a manifest.
        yield "\0".join(fields).encode(errors="surrogateescape") + b"\0\n"


def _file_hash(path: Path) -> str:
    state = hashlib.sha256()
    # Most files of an image are smaller than one piece.
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            state.update(piece)
    return state.hexdigest()
