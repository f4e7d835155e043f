"""The lock that Spack made of a toolchain: what it was made from, and the packages in it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from parity.core import files
from parity.core.commands import answer_of, output_of
from parity.core.documents import (
    Document,
    Format,
    read_document,
    said_from_2_on,
    unchanged,
    write_document,
)  # fmt: skip
from parity.core.errors import UserError
from parity.core.files import files_below
from parity.software.images import publish, remove
from parity.software.toolchain import Toolchain, choose_toolchain, compose, read_builds

ORIGIN_VERSION = 2


class LockOrigin(Document, frozen=True):
    """What a lock was made from: `lock.json`, beside it."""

    version: int
    spack: str
    recipes: str
    manifest: str = msgspec.field(name="spack.yaml")
    lock: str = msgspec.field(name="spack.lock")


read_origin = Format(LockOrigin, (unchanged,), said_from_2_on).read


def check_only_grown(toolchain: Toolchain, release: tuple[int, ...]) -> None:
    """Refuse to add to a lock that was made from another entry, or for another layout of Spack.

    Raises:
        UserError: composing the same packages gives another spack.yaml than the locked one.
    """
    assert toolchain.entry is not None
    locked = toolchain.manifest.read_text(encoding="utf-8")
    if compose(toolchain.entry, read_builds(toolchain.manifest), release) != locked:
        raise UserError(
            "the lock was made with another compiler, target, library or layout of Spack",
            where=str(toolchain.manifest),
            allowed="the same entry of `toolchains` in the system's file as when it was made",
            action="undo the change, give the changed entry another name, or let Spack decide"
            " anew: snakemake lock",
        )


def write_origin(toolchain: Toolchain, spack_version: str) -> None:
    """Note what the lock was made from, for `check_lock`."""
    write_document(toolchain.origin, _state(toolchain, spack_version))


def check_lock(toolchain: Toolchain) -> None:
    """Refuse a lock that was made from another spack.yaml or other recipes, or was edited.

    Spack itself would install such a lock without a word.

    Raises:
        UserError: the lock is missing, or does not match; with both hashes.
    """
    missing = [path for path in (toolchain.lock, toolchain.origin) if not path.exists()]
    if missing:
        raise UserError("the toolchain has no lock", where=str(missing[0]), action="snakemake lock")
    noted = read_origin(toolchain.origin)
    now = _state(toolchain, noted.spack)
    for name, before, after in (
        ("spack.yaml", noted.manifest, now.manifest),
        ("recipes", noted.recipes, now.recipes),
        ("spack.lock", noted.lock, now.lock),
    ):
        if before != after:
            raise UserError(
                f"the lock does not match {name}: it was made with {before}, and there is {after}",
                where=str(toolchain.lock),
                action=f"undo the change of {name}, or let Spack decide anew: snakemake lock",
            )


def _state(toolchain: Toolchain, spack_version: str) -> LockOrigin:
    state = hashlib.sha256()
    for path in files_below(toolchain.recipes):
        name = str(path.relative_to(toolchain.recipes))
        state.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return LockOrigin(
        version=ORIGIN_VERSION,
        spack=spack_version,
        recipes=f"sha256:{state.hexdigest()}",
        manifest=files.digest(toolchain.manifest),
        lock=files.digest(toolchain.lock),
    )


class _Root(msgspec.Struct):
    hash: str


class _Target(msgspec.Struct):
    name: str


class _Arch(msgspec.Struct):
    target: str | _Target


class _External(msgspec.Struct):
    path: str | None = None


class _Spec(msgspec.Struct):
    name: str
    version: str
    arch: _Arch
    parameters: dict[str, list[str] | str | float | bool | None] = {}
    external: _External | None = None


class SpackLock(msgspec.Struct):
    """What is read of a spack.lock; Spack writes more, and more with each release."""

    roots: tuple[_Root, ...]
    concrete_specs: dict[str, _Spec]


def packages_of(lock: Path) -> list[str]:
    """The hashes of all packages of a lock file; each covers its dependencies, too.

    Raises:
        UserError: it is no lock file.
    """
    return sorted(read_document(lock, SpackLock).concrete_specs)


class BuiltPackage(Document, frozen=True):
    """A package of a lock.

    Attributes:
        flags: those of the compilers that are set, by kind.
        external: prefix of a package that Spack did not build, or empty.
        root: whether it was asked for.
    """

    name: str
    version: str
    hash: str
    target: str
    flags: dict[str, str]
    external: str
    root: bool


def specs_of(path: Path) -> list[BuiltPackage]:
    """The packages of a lock file: those asked for and those they need, by name and hash.

    Raises:
        UserError: it is no lock file.
    """
    lock = read_document(path, SpackLock)
    roots = {root.hash for root in lock.roots}
    packages = [
        BuiltPackage(
            name=spec.name,
            version=spec.version,
            hash=digest,
            target=spec.arch.target if isinstance(spec.arch.target, str) else spec.arch.target.name,
            flags={
                name: " ".join(words)
                for name, words in spec.parameters.items()
                if name.endswith("flags") and isinstance(words, list) and words
            },
            external=(spec.external.path or "") if spec.external else "",
            root=digest in roots,
        )
        for digest, spec in lock.concrete_specs.items()
    ]
    return sorted(packages, key=lambda package: (package.name, package.hash))


# Where a checkout of Spack says its version, and one of its packages has them.
_VERSION_FILE = "lib/spack/spack/__init__.py"
_BUILTIN = "repos/spack_repo/builtin"


@dataclass(frozen=True)
class SpackSite:
    """Where Spack comes from here, and where it installs.

    Attributes:
        repository: address of its git repository, or a folder that holds a checkout.
        release: tag that is cloned; of no effect where `repository` is a folder.
        packages, packages_release: the same of its packages, from Spack 1.0 on.
        python: Python that runs Spack; empty for the first on PATH. Where the network
            does not let Spack fetch its solver, one that has clingo installed.
        sources: folder or address of a source mirror that is asked first; empty for none.
        prefix: folder of all installations; the binaries carry it.
        jobs: how many compilers run at a time.
    """

    repository: str
    release: str
    packages: str
    packages_release: str
    python: str
    sources: str
    prefix: Path
    jobs: int


def spack_site(section: Mapping[str, str], jobs: int) -> SpackSite:
    """The `spack` section of config/config.yaml, checked by its schema before."""
    named = ("repository", "release", "packages", "packages_release", "python", "sources")
    prefix = Path(section["prefix"]).expanduser().resolve()
    return SpackSite(**{name: section[name] for name in named}, prefix=prefix, jobs=jobs)


def release_of(version: str) -> tuple[int, ...]:
    """Major and minor number of a version or tag; a branch without numbers is the newest."""
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (1, 0)


def expected_release(section: Mapping[str, str]) -> tuple[int, ...]:
    """Which Spack the `spack` section of config/config.yaml names, without running it."""
    file = Path(section["repository"]).expanduser() / _VERSION_FILE
    said = re.search(r'__version__ = "([^"]+)"', file.read_text()) if file.is_file() else None
    return release_of(said[1] if said else section["release"])


@dataclass(frozen=True)
class Spack:
    """A Spack that answers.

    Attributes:
        program: absolute path of bin/spack.
        version: what it says of itself.
        commit: commit of its checkout; empty if it is none.
        home: the toolchain's folder under the prefix.
        packages: its own packages from 1.0 on; None where they are part of its checkout.
    """

    program: Path
    version: str
    commit: str
    home: Path
    packages: Path | None
    site: SpackSite

    @property
    def release(self) -> tuple[int, ...]:
        """Major and minor number of its version."""
        return release_of(self.version)

    def run(self, *words: str | Path, log: Path | None = None) -> str:
        """Run it to its end and return its standard output; raises UserError."""
        argv = [self.program, "--config-scope", self.home / "scope", *words]
        return output_of(argv, environment=_environment(self.site), log=log)


def find_spack(site: SpackSite, toolchain: Toolchain, log: Path) -> Spack:
    """The Spack of this site, set up for a toolchain; it is cloned first where there is none yet.

    Raises:
        UserError: it cannot be cloned, or does not run.
    """
    folder = _checkout(site, "spack", site.repository, site.release, log)
    program = folder / "bin/spack"
    if not program.exists():
        raise _no_spack(site, f"{folder} holds no bin/spack")
    variables = [f"{name}={value}" for name, value in _environment(site).items()]
    answers, said = answer_of(["env", *variables, str(program), "--version"], seconds=60)
    if not answers:
        raise _no_spack(site, f"{program} does not run: {said}")
    _, commit = answer_of(["git", "-C", str(folder), "rev-parse", "HEAD"])
    version = said.split(" ")[0]
    packages = None
    if release_of(version) >= (1,):
        checkout = _checkout(site, "packages", site.packages, site.packages_release, log)
        packages = checkout / _BUILTIN
        if not packages.is_dir():
            raise _no_spack(site, f"{packages}, Spack's own packages, is not there", "packages")
    home = site.prefix / toolchain.name
    _make_prefix(home)
    write_scope(site, home, toolchain.recipes.resolve(), packages, home / "scope")
    return Spack(
        program=program,
        version=version,
        commit=commit if (folder / ".git").exists() else "",
        home=home,
        packages=packages,
        site=site,
    )


def chosen_spack(given: Mapping[str, Any], jobs: int, log: Path) -> tuple[Toolchain, Spack]:
    """The toolchain that a rule's parameters name, and the Spack of this site set up for it.

    Args:
        given: `spack` and `toolchains` of the configuration, and the folder `recipes`.

    Raises:
        UserError: there is no such toolchain, or no Spack, without which nothing else matters.
    """
    section, where = given["spack"], "the system's file"
    recipes = Path(given["recipes"])
    toolchain = choose_toolchain(section["toolchain"], given["toolchains"], where, recipes)
    return toolchain, find_spack(spack_site(section, jobs), toolchain, log)


def _checkout(site: SpackSite, what: str, repository: str, release: str, log: Path) -> Path:
    """The folder that is named, or a clone of the address, which is made once."""
    folder = Path(repository).expanduser().resolve()
    if folder.is_dir():
        return folder
    folder = site.prefix / f"{what}-{release}"
    if folder.exists():
        return folder
    _make_prefix(site.prefix)
    words = ["--quiet", "--depth=1", "--branch", release, repository, str(folder)]
    try:
        # Without a terminal git would wait for a password for ever.
        output_of(["git", "clone", *words], environment={"GIT_TERMINAL_PROMPT": "0"}, log=log)
    except UserError as error:
        key = "repository" if what == "spack" else what
        last = error.what.splitlines()[-1]
        raise _no_spack(site, f"{repository} cannot be cloned: {last}", key) from None
    return folder


def _no_spack(site: SpackSite, why: str, key: str = "repository") -> UserError:
    return UserError(
        f"there is no Spack here: {why}",
        where=f"config/config.yaml: spack.{key}",
        allowed="the address of a git repository, or a folder with a checkout",
        action=f"where the network allows it, git clone --depth=1 --branch {site.release}"
        " https://github.com/spack/spack.git, then `snakemake native --config"
        " 'spack={repository: <that folder>, sources: <a source mirror, if the network has"
        " no sources>}'`; or `provider: system` in the study, which needs no Spack",
    )


def _make_prefix(prefix: Path) -> None:
    try:
        prefix.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{prefix} cannot be made: {error.strerror}",
            where="config/config.yaml: spack.prefix",
            allowed="a folder that you may write to, or that you may make",
            action=f"as root, once: install -d -o <your name> {prefix}",
        ) from None


def _environment(site: SpackSite) -> dict[str, str]:
    """Variables that keep Spack off the user's own configuration and caches."""
    return {
        "SPACK_DISABLE_LOCAL_CONFIG": "1",
        "SPACK_USER_CACHE_PATH": str(site.prefix / "cache"),
        **({"SPACK_PYTHON": site.python} if site.python else {}),
    }


def write_scope(
    site: SpackSite, home: Path, recipes: Path, packages: Path | None, scope: Path
) -> None:
    """The site's own words as a scope of Spack's configuration; JSON is YAML, too.

    Args:
        home: the toolchain's folder under the prefix.
        recipes: absolute path of our own recipes, where Spack runs; they go before Spack's.
        packages: Spack's own, from 1.0 on, when repositories have names.
    """
    scope.mkdir(exist_ok=True)
    documents: dict[str, object] = {
        "config": {
            "install_tree": {
                "root": str(home / "tree"),
                "projections": {"all": "{name}-{version}-{hash:7}"},
            },
            "build_stage": [str(site.prefix / "stage")],
            "source_cache": str(site.prefix / "cache/sources"),
            "build_jobs": site.jobs,
        },
        "repos": (
            {"parity": str(recipes), "builtin": str(packages)} if packages else [str(recipes)]
        ),
        "mirrors": {"sources": _address(site.sources)} if site.sources else {},
    }
    for name, document in documents.items():
        (scope / f"{name}.yaml").write_text(json.dumps({name: document}, indent=1) + "\n")


def _address(sources: str) -> str:
    """A source mirror's address; a folder becomes one, too."""
    return sources if "://" in sources else Path(sources).expanduser().resolve().as_uri()


def gather_sources(spack: Spack, toolchain: Toolchain, destination: Path, log: Path) -> None:
    """Lay out a source mirror with all that the lock is built from.

    Raises:
        UserError: a source cannot be fetched; an older mirror is left as it was.
    """
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    with tempfile.TemporaryDirectory() as environment:
        for path in (toolchain.manifest, toolchain.lock):
            shutil.copy(path, environment)
        fetch(spack, Path(environment), log, "mirror", "create", "--all", "--directory", part)
    publish(part, destination)


def fetch(spack: Spack, environment: Path, log: Path, *words: str | Path) -> None:
    """Have Spack fetch the sources of an environment by a command of its; raises UserError."""
    try:
        spack.run("--env-dir", environment, *words, log=log)
    except UserError as error:
        packages = specs_of(environment / "spack.lock")
        names = sorted({package.name for package in packages if package.root})
        raise UserError(
            f"a source cannot be fetched: {unfetched(error.what)}",
            where=f"config/config.yaml: spack.sources; {log}",
            allowed="empty (the network), or the folder or address of a Spack source mirror",
            action="where there is a network, `spack mirror create --directory <folder>"
            f" {' '.join(names)}`, and name that folder",
        ) from None


def unfetched(said: str) -> str:
    """What Spack could not fetch, from what it said: the packages, or else its last error."""
    if packages := set(re.findall(r"Error while fetching (\S+)", said)):
        return ", ".join(sorted(packages))
    errors = re.findall(r"Error: (.+)", said)
    return errors[-1] if errors else said.splitlines()[-1]
