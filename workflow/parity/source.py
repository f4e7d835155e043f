"""Digests of the package's own source, so that a parser's fix re-parses and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent


def digest_of(*parts: str) -> str:
    """SHA-256 over the Python files of these modules and sub-packages, such as `records`.

    Snakemake does not see what a script imports; rules carry this as a parameter.
    """
    state = hashlib.sha256()
    for part in sorted(parts):
        path = PACKAGE / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            state.update(f"{file.relative_to(PACKAGE)}\n".encode())
            state.update(file.read_bytes())
    return state.hexdigest()
