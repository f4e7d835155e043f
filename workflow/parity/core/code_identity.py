"""Digests of the package's own source, so that a parser's fix re-parses and nothing else."""

from __future__ import annotations

import ast
import hashlib
import platform
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# Who imports this finds the other modules of its package by their being there.
REGISTRY = "parity.core.registry"

# Statements that import from this package. Reading all of every module by `ast` would take
# half a second of every call of Snakemake, so only what this finds is read by it; a test
# compares both for every module.
_IMPORTS = re.compile(
    rb"^[ \t]*(from parity[\w.]* import (?:\([^)]*\)|[^(\n]*)|import parity[^\n]*)", re.MULTILINE
)


@cache
def digest_of(program: Path, package: Path = PACKAGE) -> str:
    """SHA-256 over a program (script or module) and all that it imports from this package.

    Snakemake does not see what a script imports; rules carry this as a parameter.
    """
    return _digest(sources_of(program, package), package)


def sources_of(program: Path, package: Path = PACKAGE) -> set[Path]:
    """The program, the modules that it imports in turn, and the data files beside those."""
    sources: set[Path] = set()
    waiting = [program]
    while waiting:
        path = waiting.pop()
        if path not in sources:
            sources.add(path)
            waiting += _used_by(path, package)
    return sources


def imported_names(path: Path) -> set[str]:
    """Dotted names of what a file imports from this package, wherever in the file."""
    statements = b"\n".join(_IMPORTS.findall(path.read_bytes()))
    names: set[str] = set()
    for node in ast.parse(statements).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def identity() -> dict[str, str | bool]:
    """Which state of this program it is, for records: commit, sources, lock, Python.

    Returns:
        commit (empty outside of a clone), changed (whether tracked files differ from
        it), package_sha256 (the sources that really run), lock_sha256, python.
    """
    root = PACKAGE.parents[1]
    lock = root / "uv.lock"
    sources = set(_modules(PACKAGE).values()).union(*_data(PACKAGE).values())
    return {
        "commit": _git(root, "rev-parse", "HEAD"),
        "changed": bool(_git(root, "status", "--porcelain", "--untracked-files=no")),
        "package_sha256": _digest(sources, PACKAGE),
        "lock_sha256": hashlib.sha256(lock.read_bytes()).hexdigest() if lock.exists() else "",
        "python": platform.python_version(),
    }


@cache
def _modules(package: Path) -> dict[str, Path]:
    """The file of every module by its dotted name; a package's is its `__init__.py`."""
    modules = {}
    for path in package.rglob("*.py"):
        parts = ("parity", *path.relative_to(package).with_suffix("").parts)
        modules[".".join(parts).removesuffix(".__init__")] = path
    return modules


@cache
def _data(package: Path) -> dict[Path, set[Path]]:
    """The files that are no modules, by the folder of the modules that they lie beside or below."""
    packages = {path.parent for path in _modules(package).values()}
    data: dict[Path, set[Path]] = {folder: set() for folder in packages}
    for path in package.rglob("*"):
        if path.suffix not in {"", ".py", ".pyc"}:
            data[next(folder for folder in path.parents if folder in packages)].add(path)
    return data


@cache
def _used_by(path: Path, package: Path) -> frozenset[Path]:
    """What a file uses itself: modules with the packages around them, and data beside it."""
    if path.suffix != ".py":
        return frozenset()
    names = imported_names(path)
    # An import runs every package on the way; a name's end may be a module or what is in one.
    on_the_way = {name.rsplit(".", cut)[0] for name in names for cut in range(name.count(".") + 1)}
    modules = _modules(package)
    used = {modules[name] for name in on_the_way if name in modules}
    if REGISTRY in on_the_way:
        room = path.parent.relative_to(package)
        folders = {path.parent, *package.glob(f"extensions/*/{room}")}
        used |= {module for module in modules.values() if module.parent in folders}
    return frozenset(used | _data(package).get(path.parent, set()))


@cache
def _line(path: Path, package: Path) -> str:
    """A file's name and the SHA-256 of its content."""
    name = path.relative_to(package) if package in path.parents else path.name
    return f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def _digest(sources: Iterable[Path], package: Path) -> str:
    lines = sorted(_line(path, package) for path in sources)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _git(root: Path, *words: str) -> str:
    """What git says of the project's own clone; nothing outside of one."""
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", root, *words], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
