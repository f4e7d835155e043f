"""Locks a toolchain and builds its benchmarks natively with Spack; owns lock.json, native.json."""

import hashlib
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from parity.core import files
from parity.core.commands import answer_of
from parity.core.documents import Document, Format, adding, said_from_2_on, write_document
from parity.core.errors import UserError
from parity.software.binaries import ProgramFile, audit_script, read_audit
from parity.software.spack import BuiltPackage, Spack, fetch, release_of, specs_of
from parity.software.toolchain import Toolchain, check_compilers, compilers_of, compose, read_builds

NATIVE = "native.json"  # the record of a build


class LockOrigin(Document, frozen=True):
    """What a lock was made from: `lock.json`, beside it."""

    version: int
    spack: str
    recipes: str
    manifest: str = msgspec.field(name="spack.yaml")
    lock: str = msgspec.field(name="spack.lock")


class UsedSpack(Document, frozen=True):
    """The Spack that built; its commit is empty if it was no checkout."""

    version: str
    commit: str


class UsedCompiler(Document, frozen=True):
    """Where a compiler lay, and what it said of its version."""

    path: str
    version: str


class NativeBuild(Document, frozen=True):
    """What Spack built natively, in so many seconds, each binary by its path within the view."""

    version: int
    toolchain: str
    spack: UsedSpack
    lock: str  # `sha256:…` of spack.lock
    compilers: dict[str, UsedCompiler]  # by language
    specs: tuple[BuiltPackage, ...]
    view: str
    binaries: tuple[ProgramFile, ...]
    seconds: float

    @property
    def programs(self) -> Mapping[str, str]:
        """SHA-256 of each program by its absolute path."""
        return {f"{self.view}/{binary.path}": binary.sha256 for binary in self.binaries}


read_origin = Format(LockOrigin, (adding(),), said_from_2_on).read
read_native = Format(NativeBuild, (adding(),), said_from_2_on).read


def origin_of(toolchain: Toolchain, spack_version: str) -> LockOrigin:
    """What the toolchain's lock is made from as its files are now."""
    recipes = hashlib.sha256()
    for path in files.files_below(toolchain.recipes):
        name = str(path.relative_to(toolchain.recipes))
        recipes.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return LockOrigin(
        version=2, spack=spack_version, recipes=f"sha256:{recipes.hexdigest()}",
        manifest=files.digest(toolchain.manifest), lock=files.digest(toolchain.lock),
    )  # fmt: skip


def check_lock(toolchain: Toolchain) -> None:
    """Refuse (UserError) a lock that is missing, edited, or of another spack.yaml or recipes."""
    # Spack itself would install such a lock without a word.
    for path in (toolchain.lock, toolchain.origin):
        if not path.exists():
            raise UserError("the toolchain has no lock", where=str(path), action="snakemake lock")
    noted = read_origin(toolchain.origin)
    now = origin_of(toolchain, noted.spack)
    for name, key in (("spack.yaml", "manifest"), ("recipes", "recipes"), ("spack.lock", "lock")):
        before, after = getattr(noted, key), getattr(now, key)
        if before != after:
            problem = f"the lock does not match {name}: it was made with {before}, and there is"
            action = f"undo the change of {name}, or let Spack decide anew: snakemake lock"
            raise UserError(f"{problem} {after}", where=str(toolchain.lock), action=action)


def check_only_grown(toolchain: Toolchain, release: tuple[int, ...]) -> None:
    """Refuse (UserError) to add to a lock of another entry, or for another layout of Spack."""
    assert toolchain.entry is not None
    locked = toolchain.manifest.read_text(encoding="utf-8")
    if compose(toolchain.entry, read_builds(toolchain.manifest), release) != locked:
        problem = "the lock was made with another compiler, target, library or layout of Spack"
        allowed = "the same entry of `toolchains` in the system's file as when it was made"
        action = "undo the change, give the changed entry another name, or let Spack decide anew:"
        action, where = f"{action} snakemake lock", str(toolchain.manifest)
        raise UserError(problem, where=where, allowed=allowed, action=action)


def make_lock(spack: Spack, toolchain: Toolchain, manifest: str, log: Path) -> None:
    """Let Spack decide anew what spack.yaml means, and keep it as spack.lock and lock.json."""
    # The composed spack.yaml is empty for a site's own folder, which has one.
    manifest = manifest or toolchain.manifest.read_text(encoding="utf-8")
    _concretize(spack, toolchain, manifest, log, "--force")
    _keep(spack, toolchain)


def build_native(
    spack: Spack, toolchain: Toolchain, manifest: str, destination: Path, log: Path
) -> None:
    """Install what the lock says, and record it as JSON at `destination`.

    A composed toolchain is locked at its first use, and what the study has and the lock has not yet
    is added; else the lock is checked. It is kept when all is built: a study that cannot be built
    leaves the toolchain as it was to the others. `manifest` is as `make_lock` takes it.
    """
    workplace, is_kept = _workplace(spack), False
    if toolchain.entry is None or toolchain.lock.exists():
        check_lock(toolchain)
        for path in (toolchain.manifest, toolchain.lock):
            shutil.copyfile(path, workplace / path.name)
        if not (is_kept := manifest in ("", toolchain.manifest.read_text(encoding="utf-8"))):
            check_only_grown(toolchain, release_of(spack.version))
            _concretize(spack, toolchain, manifest, log)
    else:
        _concretize(spack, toolchain, manifest, log, "--force")
    check_compilers(workplace / "spack.yaml", toolchain)
    lock = workplace / "spack.lock"
    decided = specs_of(lock)
    # Asked for sources of nothing, Spack fails.
    own = [package for package in decided if not package.external]
    names = [f"{p.name}-{p.version.replace('=', '_')}-{p.hash[:7]}" for p in own]
    if not all((spack.home / "tree" / name).is_dir() for name in names):
        fetch(spack, workplace, log, "fetch", "--missing")
    destination.unlink(missing_ok=True)
    start = time.monotonic()
    spack.run("--env-dir", workplace, "install", "--only-concrete", "--no-cache", log=log)
    seconds = round(time.monotonic() - start, 3)
    # Another release of Spack writes its own version into the lock; the packages are the same.
    if specs_of(lock) != decided:
        problem = "Spack changed the lock while it installed it"
        raise UserError(problem, where=str(toolchain.lock), action="snakemake lock with this Spack")
    if not is_kept:
        _keep(spack, toolchain)
    write_document(destination, _record(spack, toolchain, seconds))


def _concretize(spack: Spack, toolchain: Toolchain, manifest: str, log: Path, *words: str) -> None:
    composed = _workplace(spack) / "spack.yaml"
    composed.write_text(manifest, encoding="utf-8")
    if toolchain.entry is not None and not read_builds(composed):
        problem = "Spack builds no benchmark of this study"
        action = "choose a study with `provider: spack`"
        raise UserError(problem, where="config/config.yaml: study", action=action)
    check_compilers(composed, toolchain)
    spack.run("--env-dir", composed.parent, "concretize", *words, log=log)


def _keep(spack: Spack, toolchain: Toolchain) -> None:
    """Keep the environment and its lock with the results, or in the site's own folder."""
    toolchain.folder.mkdir(parents=True, exist_ok=True)
    for path in (toolchain.manifest, toolchain.lock):
        shutil.copyfile(_workplace(spack) / path.name, path)
    write_document(toolchain.origin, origin_of(toolchain, spack.version))


def _workplace(spack: Spack) -> Path:
    """The folder that Spack works in, outside of the clone; the view is beside it."""
    (folder := spack.home / "environment").mkdir(parents=True, exist_ok=True)
    return folder


def _record(spack: Spack, toolchain: Toolchain, seconds: float) -> NativeBuild:
    view = spack.home / "view"
    question = audit_script([str(path) for path in programs_of(view)])
    with subprocess.Popen(question, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as answer:
        assert answer.stdout is not None
        audit = read_audit(answer.stdout)
    compilers = {
        language: UsedCompiler(path=path, version=answer_of([path, "--version"])[1])
        for language, path in compilers_of(toolchain.manifest).items()
    }
    binaries = (
        msgspec.structs.replace(program, path=str(Path(program.path).relative_to(view)))
        for program in audit.programs
    )
    return NativeBuild(
        version=2, toolchain=toolchain.name, lock=files.digest(toolchain.lock),
        spack=UsedSpack(version=spack.version, commit=spack.commit), compilers=compilers,
        specs=tuple(specs_of(toolchain.lock)), view=str(view), binaries=tuple(binaries),
        seconds=seconds,
    )  # fmt: skip


def programs_of(view: Path) -> list[Path]:
    """The ELF programs of a view (`<benchmark>/bin/<program>`) and libraries (one is preloaded)."""
    candidates = sorted({*view.glob("*/bin/*"), *view.glob("*/lib/*.so")})
    return [path for path in candidates if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
