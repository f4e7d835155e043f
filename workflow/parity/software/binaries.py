"""Which executables and libraries an arm really runs: a script asks the files inside the arm.

It needs what Debian's smallest image has, and runs once for each arm and block, untimed. Files are
hashed here, three times as fast. What a program loads by itself later is not in its closure.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from parity.core.documents import Document
from parity.core.errors import UserError

# Prints each executable's name and the libraries of its closure, each with its path; then
# every file once: first all sizes, then all contents, one after the other.
_SCRIPT = Path(__file__).with_name("binaries_audit.sh").read_text(encoding="utf-8")
NOT_FOUND = "not-found"  # in place of the digest of a library that is not there
_BEGIN, _END = b"contents\n", b"end of contents\n"
_CUT_OFF = "the answer about programs and libraries is cut off"
# The ELF notes lie in a file's first page.
_PAGE_BYTES, _PIECE_BYTES = 4096, 1 << 18
# An ELF note named GNU of type 3 is the build-id: length of the name, length of the
# identifier, type, name (System V ABI, "Note Section"), here of little-endian machines.
_BUILD_ID_NOTE = re.compile(r"04000000(..)00000003000000474e5500([0-9a-f]*)")


def audit_script(paths: Sequence[str], shell: Sequence[str] = ("/bin/sh",)) -> list[str]:
    """The command that tells of the executables at `paths`; without `ldd`, of no libraries."""
    return [*shell, "-c", _SCRIPT, "audit", *paths]


class Library(Document, frozen=True, kw_only=False):
    """A resolved library of an executable."""

    library: str
    sha256: str  # or `NOT_FOUND`


class ProgramFile(Document, frozen=True, kw_only=False):
    """An executable or library; all but the path is empty where it is not there."""

    path: str
    sha256: str
    build_id: str
    closure: tuple[Library, ...]
    closure_sha256: str


class Audit(NamedTuple):
    """What was answered: the executables in the order of the question, and all lines of text."""

    programs: list[ProgramFile]
    text: str


def read_audit(stream: IO[bytes]) -> Audit:
    """The executables from the script's output, closures sorted by name; or UserError."""
    # Lines that the script did not print, such as a runtime's own remarks, are passed over. Refused
    # is what ends too early, a file that changed meanwhile, and a library that cannot be read.
    # Name and path of each library by executable, sizes by path, then digest and build-id by path.
    closures: dict[str, list[tuple[str, str]]] = {}
    sizes: dict[str, int] = {}
    contents: dict[str, tuple[str, str]] | None = None
    lines: list[str] = []
    for line in stream:
        if line == _BEGIN and contents is None:
            contents = {path: _read(stream, size) for path, size in sizes.items()}
            if stream.readline() != _END:
                raise UserError("a program or library changed while it was read")
            continue
        lines.append(line.decode(errors="replace"))
        kind, _, rest = lines[-1].rstrip("\n").partition(" ")
        if contents is None and kind == "executable":
            closures[rest] = []
        elif contents is None and kind == "library" and closures:
            name, _, path = rest.partition(" ")
            closures[next(reversed(closures))].append((name.rpartition("/")[2], path))
        elif contents is None and kind == "file" and closures:
            size, _, path = rest.partition(" ")
            if size.isdecimal():
                sizes[path] = int(size)
    if contents is None:
        raise UserError(_CUT_OFF)
    if untold := {at for row in closures.values() for _, at in row if at} - contents.keys():
        raise UserError(f"a library cannot be read: {min(untold)}")
    programs = []
    for path, closure in closures.items():
        digest, note = contents.get(path, ("", ""))
        pairs = [(name, contents[at][0] if at else NOT_FOUND) for name, at in closure if digest]
        libraries = tuple(Library(*pair) for pair in sorted(pairs))
        of_all = closure_digest(libraries) if digest else ""
        programs.append(ProgramFile(path, digest, note, libraries, of_all))
    return Audit(programs, "".join(lines))


def _read(stream: IO[bytes], size: int) -> tuple[str, str]:
    """SHA-256 and build-id of the next `size` bytes."""
    state, first = hashlib.sha256(), b""
    while size and (piece := stream.read(min(size, _PIECE_BYTES))):
        first = first or piece[:_PAGE_BYTES]
        state.update(piece)
        size -= len(piece)
    if size:
        raise UserError(_CUT_OFF)
    return state.hexdigest(), build_id(first.hex())


def build_id(page: str) -> str:
    """The build-id in the hexadecimal first page of an ELF file; empty if there is none."""
    note = _BUILD_ID_NOTE.search(page) if page.startswith("7f454c46") else None
    return note.group(2)[: 2 * int(note.group(1), 16)] if note else ""


def closure_digest(closure: Iterable[Library]) -> str:
    """SHA-256 over the lines `library sha256`, sorted by library."""
    lines = sorted(f"{library.library} {library.sha256}\n" for library in closure)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
