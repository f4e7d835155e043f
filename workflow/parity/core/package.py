"""The package itself: what its folders of modules provide, and which state of it runs."""

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from parity.core.files import files_below, sha256

PACKAGE = Path(__file__).parents[1]
# Where the workflow's own files are, as they lie in a clone: an installation has them below the
# package. The work is where somebody stands, who may have a config/ there, too.
PROJECT = PACKAGE / "project" if (PACKAGE / "project").exists() else PACKAGE.parents[1]
EXTENSIONS = PACKAGE / "extensions"  # a folder each, of rooms called as the packages they add to
# From the ground up: what is done in one of them may follow from those before it, and from none
# after it. The contracts in pyproject.toml hold the imports to it.
LAYERS = (
    *("core", "runtimes", "benchmarks", "software", "plan", "measure", "records", "analysis"),
    *("claims", "report", "preview", "imports", "checks", "diagnose", "command_line"),
)


def own(path: str) -> str:
    """A file of the project; in its own folder, messages keep the short name."""
    return path if Path.cwd().samefile(PROJECT) else str(PROJECT / path)


def configured(path: str) -> str:
    """A file of config/: the working directory's where it has one, else the project's own."""
    return own(path) if (PROJECT / path).exists() and not Path(path).exists() else path


def modules_with(package: ModuleType, attribute: str) -> list[Any]:
    """Values of `attribute` of a package's and its extensions' modules, in their names' order."""
    return extensions_with(package, attribute, package.__name__)


def extensions_with(package: ModuleType, attribute: str, *packages: str) -> list[Any]:
    """The same, of the extensions' modules alone, and of those of `packages`."""
    room = package.__name__.removeprefix("parity.")
    inits = EXTENSIONS.glob(f"*/{room.replace('.', '/')}/__init__.py")
    rooms = (f"parity.extensions.{path.relative_to(EXTENSIONS).parts[0]}.{room}" for path in inits)
    places = ((place, import_module(place).__path__) for place in (*packages, *rooms))
    names = sorted((module.name, place) for place, path in places for module in iter_modules(path))
    modules = [import_module(f"{package}.{name}") for name, package in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


@cache
def code_of(package: str, root: Path = PACKAGE) -> str:
    """SHA-256 over a package, those below it, what extensions add to them, and its commands."""
    # Snakemake does not see what a command runs; rules carry this as a parameter.
    files = [root / f"command_line/{package}.py", *root.glob("extensions/*.py")]
    for name in LAYERS[: LAYERS.index(package) + 1]:
        for folder in (root / name, *root.glob(f"extensions/*/{name}")):
            files += files_below(folder)
    return _digest(filter(Path.exists, files), root)


def identity() -> dict[str, str | bool]:
    """Which state of this program it is, for records; without a commit outside of a clone."""
    lock = PROJECT / "uv.lock"
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--untracked-files=no")),  # of tracked files
        "package_sha256": _digest(files_below(PACKAGE), PACKAGE),  # the sources that really run
        "lock_sha256": _content(lock) if lock.exists() else "",
        "python": platform.python_version(),
    }


_content = cache(sha256)


def _digest(files: Iterable[Path], root: Path) -> str:
    lines = [f"{path.relative_to(root)} {_content(path)}\n" for path in files]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _git(*words: str) -> str:
    """What git says of the project's own clone; nothing outside of one."""
    with suppress(FileNotFoundError):
        if (PROJECT / ".git").exists():
            done = subprocess.run(["git", "-C", PROJECT, *words], capture_output=True, text=True)
            return done.stdout.strip()
    return ""
