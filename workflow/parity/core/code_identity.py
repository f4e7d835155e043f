"""Digests of the package's own source, so that a parser's fix re-parses and nothing else."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


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


def identity() -> dict[str, str | bool]:
    """Which state of this program it is, for records: commit, sources, lock, Python.

    Returns:
        commit (empty outside of a clone), changed (whether tracked files differ from
        it), package_sha256 (the sources that really run), lock_sha256, python.
    """
    root = PACKAGE.parents[1]
    lock = root / "uv.lock"
    return {
        "commit": _git(root, "rev-parse", "HEAD"),
        "changed": bool(_git(root, "status", "--porcelain", "--untracked-files=no")),
        "package_sha256": digest_of("."),
        "lock_sha256": hashlib.sha256(lock.read_bytes()).hexdigest() if lock.exists() else "",
        "python": platform.python_version(),
    }


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", root, *words], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
