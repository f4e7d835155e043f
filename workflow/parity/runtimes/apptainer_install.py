"""Installs Apptainer where the distribution has none: from Debian's unstable release.

Its programs need a newer C library than the host's. They get one of their own, in a
private folder and through their ELF headers alone, so that nothing of the host changes
and nothing that is measured can pick it up.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from parity.core.commands import output_of
from parity.core.errors import UserError

PREFIX = Path("/opt/parity/apptainer")
_LIBRARIES = ("libc6", "libseccomp2", "libsqlite3-0", "libzstd1", "zlib1g")
# Where the two programs find their loader and libraries.
_PRIVATE = "usr/lib/private"
_STARTER = "usr/lib/x86_64-linux-gnu/apptainer/bin/starter"


def install() -> None:
    """Download, unpack and link Apptainer into `PREFIX` (root only).

    Raises:
        UserError: no Debian mirror is configured, or a step failed.
    """
    PREFIX.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=PREFIX.parent) as name:
        folder = Path(name)
        tree, libraries = folder / "tree", folder / "libraries"
        tree.mkdir(mode=0o755)
        for package in _download(folder):
            own = package.name.startswith("apptainer_")
            output_of(["dpkg-deb", "-x", package, tree if own else libraries])
        (libraries / "usr/lib/x86_64-linux-gnu").rename(tree / _PRIVATE)
        private = PREFIX / _PRIVATE
        for program in ("usr/bin/apptainer", _STARTER):
            loader = ("--set-interpreter", private / "ld-linux-x86-64.so.2")
            search = ("--force-rpath", "--set-rpath", private)
            output_of(["patchelf", *loader, *search, tree / program])
        _lay_out(tree)
        shutil.rmtree(PREFIX, ignore_errors=True)
        tree.rename(PREFIX)
    output_of([PREFIX / "usr/bin/apptainer", "--version"])


def _mirror() -> str:
    """The Debian mirror that this machine's apt is configured with."""
    form = "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"
    for line in output_of(["apt-get", "indextargets", "--format", form]).splitlines():
        origin, label, address = line.split("\t")
        if origin == label == "Debian":
            return address
    raise UserError(
        "Apptainer comes from Debian, and apt knows no Debian mirror",
        where="/etc/apt",
        action="install Apptainer your site's way; it is found on PATH",
    )


def _download(folder: Path) -> list[Path]:
    """The packages, through an apt state of their own: the host's lists stay as they are."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={keyring}] {_mirror()} sid main\n")
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
        # A mirror may be frozen at some day, and the unstable release is dated for a week
        # only. Its signature is checked all the same.
        "Acquire::Check-Valid-Until": "false",
    }
    apt = ["apt-get", *(f"-o{key}={value}" for key, value in settings.items())]
    output_of([*apt, "update"])
    wanted = ("apptainer", *_LIBRARIES)
    output_of([*apt, "--yes", "--download-only", "--no-install-recommends", "install", *wanted])
    archives = sorted((folder / "cache/archives").glob("*.deb"))
    return [file for file in archives if file.name.split("_")[0] in wanted]


def _lay_out(tree: Path) -> None:
    """Put the configuration where a moved Apptainer looks for it.

    It takes its prefix from where its program is: `usr` for the command and, because
    Debian has one folder more than usual above the starter, `usr/lib` for that.
    """
    (tree / "etc").rename(tree / "usr/etc")
    (tree / "usr/var/lib/apptainer/mnt/session").mkdir(parents=True)
    for name in ("etc", "var"):
        (tree / "usr/lib" / name).symlink_to(Path("..", name))
