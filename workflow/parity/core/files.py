"""Files: text that is bounded, JSON written whole or not at all, digests of what is there."""

import base64
import csv
import errno
import hashlib
import io
import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from parity.core.errors import CONTROL, UserError, shown

LARGEST_INPUT = 1 << 18  # the largest file that people write here, the claims, has 75 kB
DATA_URL = "data:;base64,"  # what is no text stands in texts as a URL of itself (RFC 2397)
# As people write numbers; Python takes nan, 1_000 and the digits of every script, too.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
# What may stand as one part of a path: it begins no option, and names no folder above.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]{0,99}")


def as_text(content: bytes) -> str:
    """Content as text that JSON and tables can hold: its own if it is UTF-8, else a data URL."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return DATA_URL + base64.b64encode(content).decode("ascii")


def as_bytes(text: str) -> bytes:
    """What `as_text` was given that is no UTF-8; raises ValueError if it is no such URL."""
    if not text.startswith(DATA_URL):
        raise ValueError("it is text")
    return base64.b64decode(text.removeprefix(DATA_URL), validate=True)


def read_regular(path: Path, most: int | None = None) -> str:
    """The UTF-8 text of a regular file, of at most so many bytes; raises OSError or ValueError."""
    # A FIFO would wait for ever, and a device such as /dev/zero has no end.
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

    Raises UserError: it is not there, cannot be read, is no regular file, not UTF-8, or too large.
    """
    try:
        return read_regular(path, most).removeprefix("\ufeff")
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("[!.]*.*") if p.suffix == path.suffix)
        problem, action = "there is no such file", "correct the path, or make the file"
        raise UserError(problem, where=str(path), allowed=", ".join(near), action=action) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"the file cannot be read: {why}", where=str(path)) from None


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


def digest(path: Path) -> str:
    """`sha256:…` of a file's bytes or of a directory's manifest; raises OSError.

    The manifest has a line per entry, sorted: path, type, permission bits, size, and the
    content's hash or the link's target; not owner and times, which differ between copies.
    """
    if not path.is_dir():
        return f"sha256:{sha256(path)}"
    return f"sha256:{hashlib.sha256(b''.join(_manifest_lines(path))).hexdigest()}"


def size_on_disk(path: Path) -> int:
    """Bytes that a file or a directory takes on disk; a file with many links counts once."""
    below = [] if path.is_symlink() else path.rglob("*")
    states = [entry.lstat() for entry in (path, *below)]
    return sum({state.st_ino: state.st_blocks * 512 for state in states}.values())


def _manifest_lines(root: Path) -> Iterator[bytes]:
    """One line for each entry of a tree; a folder's own line stands before those in it."""
    # Texts, not paths: an image has ten thousand entries, and each node checks all before a block.
    waiting = [(".", str(root))]
    while waiting:
        name, path = waiting.pop()
        status = os.lstat(path)
        kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        size, content = 0, ""
        if stat.S_ISREG(kind):
            size, content = status.st_size, sha256(Path(path))
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


def sha256(path: Path) -> str:
    """Hash of a file's bytes; raises OSError."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_rows(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), most: int = LARGEST_INPUT
) -> list[dict[str, str]]:
    """The rows of a CSV file that people write, as text by column: every row with every column.

    Raises UserError: the file is no such table; with the line of the row. `optional`: columns that
    it may have, too; with any, all may come in any order. `most`: how many bytes the file may have.
    """
    reader = csv.reader(io.StringIO(read_input(path, most), newline=""), strict=True)
    rows: list[dict[str, str]] = []
    try:
        given = next(reader, [])
        expected = [*columns, *(name for name in optional if name in given)]
        if (sorted(given) != sorted(expected)) if optional else (given != expected):
            missing = [name for name in columns if name not in given]
            lack = f"; missing columns: {', '.join(missing)}" if missing else ""
            also = f"; or also {', '.join(optional)}" if optional else ""
            problem = f"the columns are not those of such a file: {shown(given, ', '.join)}{lack}"
            raise UserError(problem, where=str(path), allowed=", ".join(columns) + also)
        for row in reader:
            where = row_of(path, len(rows))
            if len(row) != len(given):
                raise UserError(f"{len(row)} cells instead of {len(given)}", where=where)
            if odd := next((cell for cell in row if CONTROL.search(cell)), None):
                raise UserError(f"a control character in {shown(odd)}", where=where)
            rows.append(dict(zip(given, map(sys.intern, row), strict=True)))
    except csv.Error as error:
        where = f"{path}: line {reader.line_num}"
        raise UserError(f"this is not CSV: {error}", where=where) from None
    return rows


def row_of(path: Path, index: int) -> str:
    """Where a row of `read_rows` stands: its line, if no cell before it has several."""
    return f"{path}: line {index + 2}"


def refuse_name(name: str, where: str, pattern: re.Pattern[str] = NAME) -> None:
    """Refuse what does not match the pattern as a whole, before it becomes a part of a path."""
    if not pattern.fullmatch(name):
        allowed = f"text that matches {pattern.pattern}"
        raise UserError(f"{shown(name)} is no name", where=where, allowed=allowed)


def finite(text: str, name: str, where: str) -> float:
    """A number in a cell; raises UserError if it is none, or not finite."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise UserError(f"{name} is {shown(text)}, not a number", where=where)
    return value


def moment(text: str, name: str, where: str) -> datetime:
    """A time with its zone, ISO 8601; raises UserError if it is none, or without a zone."""
    with suppress(ValueError):
        value = datetime.fromisoformat(text)
        if value.tzinfo is not None:
            return value
    problem = f"{name} is {shown(text)}, not a time with its zone"
    raise UserError(problem, where=where, allowed="ISO 8601, such as 2026-11-21T05:15:20+00:00")
