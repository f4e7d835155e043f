"""Digests of what is on disk: a file by its bytes, a directory by a sorted manifest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


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
    inodes = {entry.lstat().st_ino: entry.lstat().st_blocks * 512 for entry in _entries(path)}
    return sum(inodes.values())


def _entries(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        for folder, folders, files in os.walk(path):
            yield from (Path(folder, name) for name in (*folders, *files))


def _manifest_lines(root: Path) -> Iterator[bytes]:
    for entry in sorted(_entries(root)):
        status = entry.lstat()
        kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        size, content = 0, ""
        if stat.S_ISREG(kind):
            size, content = status.st_size, _file_hash(entry)
        elif stat.S_ISLNK(kind):
            # A link has no permissions of its own.
            mode, content = 0, str(entry.readlink())
        fields = (str(entry.relative_to(root)), f"{kind:o}", f"{mode:o}", str(size), content)
        # NUL cannot be part of a name or of a link's target, so no two trees share a manifest.
        yield "\0".join(fields).encode(errors="surrogateescape") + b"\0\n"


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
