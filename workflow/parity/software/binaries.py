"""Which executables and libraries an arm really runs, asked of the files inside the arm.

The question is a constant shell script with nothing in it but what Debian's smallest
image has (dash, coreutils, sed, ldd). It runs once for each arm and block, untimed. What
a program loads by itself later (the plugins of Open MPI, for instance) is not in its
closure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from parity.core.documents import Document

# Prints for each executable: its name, its hash, its first page in hexadecimal (which
# holds the ELF notes), and for each library of its closure: name, hash.
_SCRIPT = Path(__file__).with_name("binaries_audit.sh").read_text(encoding="utf-8")

# An ELF note named GNU of type 3 is the build-id: length of the name, length of the
# identifier, type, name (System V ABI, "Note Section"), here of little-endian machines.
_BUILD_ID_NOTE = re.compile(r"04000000(..)00000003000000474e5500([0-9a-f]*)")


def audit_script(paths: Sequence[str]) -> list[str]:
    """The command that prints the identity of the executables at `paths`."""
    return ["/bin/sh", "-c", _SCRIPT, "audit", *paths]


class Library(Document, frozen=True):
    """A resolved library of an executable."""

    library: str
    sha256: str


class ProgramFile(Document, frozen=True):
    """An executable or library; all but the path is empty where it is not there."""

    path: str
    sha256: str
    build_id: str
    closure: tuple[Library, ...]
    closure_sha256: str


def parse_audit(text: str) -> list[ProgramFile]:
    """The executables from the script's output, each with its closure sorted by name.

    A library that is not there has the hash `not-found`. Lines that the script did not
    print, such as a runtime's own remarks, are passed over.
    """
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "executable":
            rows.append({"path": rest, "sha256": "", "page": "", "closure": []})
        elif rows and kind == "sha256":
            rows[-1]["sha256"] = rest.split(" ")[0]
        elif rows and kind == "page":
            rows[-1]["page"] += rest.replace(" ", "")
        elif rows and kind == "library":
            name, _, digest = rest.partition(" ")
            library = Library(library=name.rpartition("/")[2], sha256=digest.split(" ")[0])
            rows[-1]["closure"].append(library)
    return [
        ProgramFile(
            path=row["path"],
            sha256=row["sha256"],
            build_id=build_id(row["page"]),
            closure=tuple(sorted(row["closure"], key=lambda library: library.library)),
            closure_sha256=closure_digest(row["closure"]) if row["sha256"] else "",
        )
        for row in rows
    ]


def build_id(page: str) -> str:
    """The build-id in the hexadecimal first page of an ELF file; empty if there is none."""
    note = _BUILD_ID_NOTE.search(page) if page.startswith("7f454c46") else None
    return note.group(2)[: 2 * int(note.group(1), 16)] if note else ""


def closure_digest(closure: Iterable[Library]) -> str:
    """SHA-256 over the lines `library sha256`, sorted by library."""
    lines = sorted(f"{library.library} {library.sha256}\n" for library in closure)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
