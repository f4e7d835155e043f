"""Locks a toolchain and builds its benchmarks natively with Spack; owns native.json."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from parity.core import files
from parity.core.commands import answer_of
from parity.core.documents import Document, Format, said_from_2_on, unchanged, write_document
from parity.core.errors import UserError
from parity.software.binaries import ProgramFile, audit_script, read_audit
from parity.software.spack import (
    BuiltPackage,
    Spack,
    check_lock,
    check_only_grown,
    fetch,
    packages_of,
    specs_of,
    write_origin,
)
from parity.software.toolchain import Toolchain, check_compilers, compilers_of, read_builds

# The record of a build.
NATIVE = "native.json"
NATIVE_VERSION = 2


class UsedSpack(Document, frozen=True):
    """The Spack that built; its commit is empty if it was no checkout."""

    version: str
    commit: str


class UsedCompiler(Document, frozen=True):
    """Where a compiler lay, and what it said of its version."""

    path: str
    version: str


class NativeBuild(Document, frozen=True):
    """What Spack built natively: by which Spack, lock and compilers, and each binary's identity.

    Attributes:
        lock: `sha256:…` of spack.lock.
        compilers: by language.
        binaries: programs and libraries, by their paths within the view.
        seconds: that installing took.
    """

    version: int
    toolchain: str
    spack: UsedSpack
    lock: str
    compilers: dict[str, UsedCompiler]
    specs: tuple[BuiltPackage, ...]
    view: str
    binaries: tuple[ProgramFile, ...]
    seconds: float

    @property
    def programs(self) -> Mapping[str, str]:
        """SHA-256 of each program by its absolute path."""
        return {f"{self.view}/{binary.path}": binary.sha256 for binary in self.binaries}


read_native = Format(NativeBuild, (unchanged,), said_from_2_on).read


def make_lock(spack: Spack, toolchain: Toolchain, manifest: str, log: Path) -> None:
    """Let Spack decide anew what spack.yaml means, and keep it as spack.lock and lock.json.

    Args:
        manifest: the composed spack.yaml; empty for a site's own folder, which has one.

    Raises:
        UserError: a compiler is missing, or Spack finds no solution.
    """
    manifest = manifest or toolchain.manifest.read_text(encoding="utf-8")
    _concretize(spack, toolchain, manifest, log, "--force")
    _keep(spack, toolchain)


def build_native(
    spack: Spack, toolchain: Toolchain, manifest: str, destination: Path, log: Path
) -> None:
    """Install what the lock says, and record it as JSON at `destination`.

    A composed toolchain is locked at its first use, and where the study has packages that
    the lock does not have yet they are added; else the lock is checked. It is kept when all
    is built: a study that cannot be built leaves the toolchain as it was to the others.

    Args:
        manifest: the composed spack.yaml; empty for a site's own folder, which has one.

    Raises:
        UserError: the lock does not match, a compiler is missing, Spack finds no solution, a
            source cannot be fetched, or a build fails.
    """
    workplace = _workplace(spack)
    if toolchain.entry is None or toolchain.lock.exists():
        check_lock(toolchain)
        for path in (toolchain.manifest, toolchain.lock):
            shutil.copyfile(path, workplace / path.name)
        manifest = manifest or toolchain.manifest.read_text(encoding="utf-8")
        if not _is_kept(toolchain, manifest):
            check_only_grown(toolchain, spack.release)
            _concretize(spack, toolchain, manifest, log)
    else:
        _concretize(spack, toolchain, manifest, log, "--force")
    check_compilers(compilers_of(workplace / "spack.yaml"), toolchain)
    lock = workplace / "spack.lock"
    decided = packages_of(lock)
    # Asked for sources of nothing, Spack fails.
    if not_installed(spack.home / "tree", lock):
        fetch(spack, workplace, log, "fetch", "--missing")
    destination.unlink(missing_ok=True)
    start = time.monotonic()
    spack.run("--env-dir", workplace, "install", "--only-concrete", "--no-cache", log=log)
    seconds = round(time.monotonic() - start, 3)
    # Another release of Spack writes its own version into the lock; the packages are the same.
    if packages_of(lock) != decided:
        raise UserError(
            "Spack changed the lock while it installed it",
            where=str(toolchain.lock),
            action="snakemake lock with this Spack",
        )
    if not _is_kept(toolchain, manifest):
        _keep(spack, toolchain)
    write_document(destination, _record(spack, toolchain, spack.home / "view", seconds))


def _concretize(spack: Spack, toolchain: Toolchain, manifest: str, log: Path, *words: str) -> None:
    """Have Spack decide in its own folder."""
    workplace = _workplace(spack)
    composed = workplace / "spack.yaml"
    composed.write_text(manifest, encoding="utf-8")
    if toolchain.entry is not None and not read_builds(composed):
        raise UserError(
            "Spack builds no benchmark of this study",
            where="config/config.yaml: study",
            action="choose a study with `provider: spack`",
        )
    check_compilers(compilers_of(composed), toolchain)
    spack.run("--env-dir", workplace, "concretize", *words, log=log)


def _is_kept(toolchain: Toolchain, manifest: str) -> bool:
    """Whether that environment is the one that the toolchain's lock was made from."""
    return toolchain.lock.exists() and toolchain.manifest.read_text(encoding="utf-8") == manifest


def _keep(spack: Spack, toolchain: Toolchain) -> None:
    """Keep the environment and its lock with the results, or in the site's own folder."""
    toolchain.folder.mkdir(parents=True, exist_ok=True)
    for path in (toolchain.manifest, toolchain.lock):
        shutil.copyfile(_workplace(spack) / path.name, path)
    write_origin(toolchain, spack.version)


def _workplace(spack: Spack) -> Path:
    """The folder that Spack works in, outside of the clone; the view is beside it."""
    folder = spack.home / "environment"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def not_installed(tree: Path, lock: Path) -> list[str]:
    """Folders of a lock's packages that are not in the installation tree yet."""
    names = [
        f"{package.name}-{package.version.replace('=', '_')}-{package.hash[:7]}"
        for package in specs_of(lock)
        if not package.external
    ]
    return [name for name in names if not (tree / name).is_dir()]


def _record(spack: Spack, toolchain: Toolchain, view: Path, seconds: float) -> NativeBuild:
    """What was built: by which Spack, lock and compilers, and the identity of each binary."""
    question = audit_script([str(path) for path in programs_of(view)])
    with subprocess.Popen(question, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as answer:
        assert answer.stdout is not None
        audit = read_audit(answer.stdout)
    return NativeBuild(
        version=NATIVE_VERSION,
        toolchain=toolchain.name,
        spack=UsedSpack(version=spack.version, commit=spack.commit),
        lock=files.digest(toolchain.lock),
        compilers={
            language: UsedCompiler(path=path, version=answer_of([path, "--version"])[1])
            for language, path in compilers_of(toolchain.manifest).items()
        },
        specs=tuple(specs_of(toolchain.lock)),
        view=str(view),
        binaries=tuple(
            msgspec.structs.replace(program, path=str(Path(program.path).relative_to(view)))
            for program in audit.programs
        ),
        seconds=seconds,
    )


def programs_of(view: Path) -> list[Path]:
    """The ELF executables of a view (`<benchmark>/bin/<program>`) and its libraries, sorted.

    Libraries count, because one is preloaded.
    """
    files = sorted({*view.glob("*/bin/*"), *view.glob("*/lib/*.so")})
    return [path for path in files if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
