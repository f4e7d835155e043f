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
from typing import Any

# Prints for each executable: its name, its hash, its first page in hexadecimal (which
# holds the ELF notes), and for each library of its closure: name, hash.
_SCRIPT = r"""
for path in "$@"; do
  echo "executable $path"
  [ -r "$path" ] || continue
  echo "sha256 $(sha256sum < "$path")"
  od -A n -v -t x1 -N 4096 "$path" | sed 's/^/page /'
  ldd "$path" 2>/dev/null | sed -n '
    s/^\t\([^ ]*\) => not found$/\1 -/p
    s/^\t\([^ ]*\) => \(\/[^ ]*\) (0x.*/\1 \2/p
    s/^\t\(\/[^ ]*\) (0x.*/\1 \1/p
  ' | while read -r name file; do
    case $file in
      -) echo "library $name not-found" ;;
      *) echo "library $name $(sha256sum < "$file")" ;;
    esac
  done
done
"""

# An ELF note named GNU of type 3 is the build-id: length of the name, length of the
# identifier, type, name (System V ABI, "Note Section"), here of little-endian machines.
_BUILD_ID_NOTE = re.compile(r"04000000(..)00000003000000474e5500([0-9a-f]*)")


def audit_script(paths: Sequence[str]) -> list[str]:
    """The command that prints the identity of the executables at `paths`."""
    return ["/bin/sh", "-c", _SCRIPT, "audit", *paths]


def parse_audit(text: str) -> list[dict[str, Any]]:
    """Rows of the BINARIES table from the script's output.

    Returns:
        For each executable: path, sha256, build_id, closure_sha256 and closure (library
        and sha256, sorted by name). An executable that is not there has empty hashes; a
        library that is not there has the hash `not-found`. Lines that the script did not
        print, such as a runtime's own remarks, are passed over.
    """
    rows: list[dict[str, Any]] = []
    page = ""
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "executable":
            page = ""
            rows.append({"path": rest, "sha256": "", "build_id": "", "closure": []})
        elif rows and kind == "sha256":
            rows[-1]["sha256"] = _first_word(rest)
        elif rows and kind == "page":
            page += rest.replace(" ", "")
            rows[-1]["build_id"] = build_id(page)
        elif rows and kind == "library":
            name, _, digest = rest.partition(" ")
            library = {"library": name.rpartition("/")[2], "sha256": _first_word(digest)}
            rows[-1]["closure"].append(library)
    for row in rows:
        row["closure"].sort(key=lambda library: library["library"])
        row["closure_sha256"] = closure_digest(row["closure"]) if row["sha256"] else ""
    return rows


def build_id(page: str) -> str:
    """The build-id in the hexadecimal first page of an ELF file; empty if there is none."""
    note = _BUILD_ID_NOTE.search(page) if page.startswith("7f454c46") else None
    return note.group(2)[: 2 * int(note.group(1), 16)] if note else ""


def closure_digest(closure: Iterable[dict[str, str]]) -> str:
    """SHA-256 over the lines `library sha256`, sorted by library."""
    lines = sorted(f"{library['library']} {library['sha256']}\n" for library in closure)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _first_word(text: str) -> str:
    return text.split(" ")[0]
