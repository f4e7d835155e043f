"""Installs programs of Debian's unstable release where the distribution's are absent or too old.

They need a newer C library than the host's, and get one in a private folder, by their ELF headers
alone: nothing of the host changes, and nothing that is measured can pick it up.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from parity.core.commands import output_of
from parity.core.errors import UserError

# Where the programs find their loader and libraries.
_PRIVATE = "usr/lib/private"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def install(
    package: str, libraries: Sequence[str], programs: Sequence[str], prefix: Path,
    lay_out: Callable[[Path], None] = lambda tree: None,
) -> None:  # fmt: skip
    """Download, unpack and link a package's programs (paths in it) into `prefix` (root only)."""
    # They are given the libraries of other packages; `lay_out` changes the unpacked package.
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=prefix.parent) as name:
        folder = Path(name)
        tree, given = folder / "tree", folder / "libraries"
        tree.mkdir(mode=0o755)
        for file in _download((package, *libraries), folder):
            own = file.name.startswith(f"{package}_")
            output_of(["dpkg-deb", "-x", file, tree if own else given])
        (tree / _PRIVATE).parent.mkdir(parents=True, exist_ok=True)
        (given / "usr/lib/x86_64-linux-gnu").rename(tree / _PRIVATE)
        private = prefix / _PRIVATE
        for program in programs:
            loader = ("--set-interpreter", private / "ld-linux-x86-64.so.2")
            search = ("--force-rpath", "--set-rpath", private)
            output_of(["patchelf", *loader, *search, tree / program])
        lay_out(tree)
        shutil.rmtree(prefix, ignore_errors=True)
        tree.rename(prefix)
    output_of([prefix / programs[0], "--version"])


def _download(wanted: Sequence[str], folder: Path) -> list[Path]:
    """The packages, through an apt state of their own: the host's lists stay as they are."""
    asked = ["apt-get", "indextargets", "--format", "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"]
    targets = [line.split("\t") for line in output_of(asked).splitlines()]
    mirrors = [uri for origin, label, uri in targets if origin == label == "Debian"]
    if not mirrors:
        problem = f"{wanted[0]} comes from Debian, and apt knows no Debian mirror"
        action = f"install {wanted[0]} your site's way; it is found on PATH"
        raise UserError(problem, where="/etc/apt", action=action)
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={_KEYRING}] {mirrors[0]} sid main\n")
    settings = {
        "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache", "APT::Sandbox::User": "root",
        # A mirror may be frozen at some day, and the unstable release is dated for a week only.
        "Acquire::Check-Valid-Until": "false",  # Its signature is checked all the same.
    }  # fmt: skip
    apt = ["apt-get", *(f"-o{key}={setting}" for key, setting in settings.items())]
    output_of([*apt, "update"])
    output_of([*apt, "--yes", "--download-only", "--no-install-recommends", "install", *wanted])
    archives = sorted((folder / "cache/archives").glob("*.deb"))
    return [file for file in archives if file.name.split("_")[0] in wanted]
