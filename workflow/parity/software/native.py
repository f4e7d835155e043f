"""Builds a toolchain's benchmarks natively with Spack, and records what came of it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

from parity.core import digests
from parity.core.commands import answer_of, output_of
from parity.core.errors import UserError
from parity.core.files import write_json
from parity.software.binaries import audit_script, parse_audit
from parity.software.sources import fetch_sources
from parity.software.spack import Spack
from parity.software.toolchain import (
    Toolchain,
    check_compilers,
    check_lock,
    compilers_of,
    packages_of,
    read_lock,
    specs_of,
    write_origin,
)

# The record of a build.
NATIVE = "native.json"
_ELF = b"\x7fELF"


def make_lock(spack: Spack, toolchain: Toolchain, log: Path) -> None:
    """Let Spack decide what spack.yaml means, and keep it as spack.lock and lock.json.

    Raises:
        UserError: a compiler is missing, or Spack finds no solution.
    """
    check_compilers(toolchain)
    workplace = _workplace(spack, toolchain)
    shutil.copyfile(toolchain.manifest, workplace / "spack.yaml")
    spack.run("--env-dir", workplace, "concretize", "--force", log=log)
    shutil.copyfile(workplace / "spack.lock", toolchain.lock)
    write_origin(toolchain, spack.version)


def build_native(spack: Spack, toolchain: Toolchain, destination: Path, log: Path) -> None:
    """Install what the lock says, and record it as JSON at `destination`.

    Everything that can be refused is refused before the first compiler starts.

    Raises:
        UserError: the lock does not match, a compiler is missing, a source cannot be
            fetched, or a build fails.
    """
    check_lock(toolchain)
    check_compilers(toolchain)
    workplace = _workplace(spack, toolchain)
    for path in (toolchain.manifest, toolchain.lock):
        shutil.copyfile(path, workplace / path.name)
    # Asked for sources of nothing, Spack fails.
    if not_installed(spack, toolchain):
        fetch_sources(spack, toolchain, workplace, log)
    destination.unlink(missing_ok=True)
    start = time.monotonic()
    spack.run("--env-dir", workplace, "install", "--only-concrete", "--no-cache", log=log)
    seconds = round(time.monotonic() - start, 3)
    # Another release of Spack writes its own version into the lock; the packages are the same.
    if packages_of(workplace / "spack.lock") != packages_of(toolchain.lock):
        raise UserError(
            "Spack changed the lock while it installed it",
            where=str(toolchain.lock),
            action="snakemake lock with this Spack, and commit what it makes",
        )
    view = workplace.parent / "view"
    write_json(destination, _record(spack, toolchain, view) | {"seconds": seconds})


def _workplace(spack: Spack, toolchain: Toolchain) -> Path:
    """The folder that Spack works in, outside of the clone; the view is beside it."""
    folder = spack.site.prefix / toolchain.name / "environment"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def not_installed(spack: Spack, toolchain: Toolchain) -> list[str]:
    """Folders of the lock's packages that are not in the installation tree yet."""
    names = [
        f"{spec['name']}-{spec['version']}-{spec['hash'][:7]}"
        for spec in specs_of(read_lock(toolchain))
        if not spec["external"]
    ]
    return [name for name in names if not (spack.site.prefix / "tree" / name).is_dir()]


def _record(spack: Spack, toolchain: Toolchain, view: Path) -> dict[str, Any]:
    """What was built: by which Spack, lock and compilers, and the identity of each binary."""
    programs = programs_of(view)
    audit = output_of(audit_script([str(path) for path in programs]))
    return {
        "toolchain": toolchain.name,
        "spack": {"version": spack.version, "commit": spack.commit},
        "lock": digests.digest(toolchain.lock),
        "compilers": {
            language: {"path": path, "version": answer_of([path, "--version"])[1]}
            for language, path in compilers_of(toolchain).items()
        },
        "specs": specs_of(read_lock(toolchain)),
        "view": str(view),
        "binaries": [
            row | {"path": str(path.relative_to(view))}
            for row, path in zip(parse_audit(audit), programs, strict=True)
        ],
    }


def programs_of(view: Path) -> list[Path]:
    """The ELF executables of a view (`<benchmark>/bin/<program>`) and its libraries, sorted.

    Libraries count, because mpiP is one that is preloaded.
    """
    found = sorted({*view.glob("*/bin/*"), *view.glob("*/lib/*.so")})
    return [path for path in found if path.is_file() and _is_elf(path)]


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF
