"""The Spack of a site: where it comes from and installs, what its locks say, what it fetches."""

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.core.commands import answer_of, output_of
from parity.core.documents import RESTORE, Document, as_document, parse_json, read_text
from parity.core.errors import UserError
from parity.software.images import publish, remove
from parity.software.toolchain import Toolchain, choose_toolchain

_BUILTIN = "repos/spack_repo/builtin"  # where a checkout of Spack's packages has them


@dataclass(frozen=True)
class SpackSite:
    """The `spack` section of config/config.yaml, which says what each is."""

    repository: str  # like `packages`, may be a folder with a checkout: then no release is cloned
    release: str
    packages: str
    packages_release: str
    python: str
    sources: str
    prefix: Path
    jobs: int  # how many compilers run

    @property
    def environment(self) -> dict[str, str]:
        """Variables that keep Spack off the user's own configuration and caches."""
        cache, python = str(self.prefix / "cache"), {"SPACK_PYTHON": self.python}
        own = {"SPACK_DISABLE_LOCAL_CONFIG": "1", "SPACK_USER_CACHE_PATH": cache}
        return own | (python if self.python else {})


def spack_site(section: Mapping[str, str], jobs: int) -> SpackSite:
    """The `spack` section of config/config.yaml, checked by its schema before."""
    prefix = Path(section["prefix"]).expanduser().resolve()
    fields = {key: text for key, text in section.items() if key not in ("toolchain", "prefix")}
    return SpackSite(**fields, prefix=prefix, jobs=jobs)


def release_of(version: str) -> tuple[int, ...]:
    """Major and minor number of a version or tag; a branch without numbers is the newest."""
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (1, 0)


def expected_release(section: Mapping[str, str]) -> tuple[int, ...]:
    """Which Spack the `spack` section of config/config.yaml names, without running it."""
    file = Path(section["repository"]).expanduser() / "lib/spack/spack/__init__.py"
    version = re.search(r'__version__ = "([^"]+)"', file.read_text()) if file.is_file() else None
    return release_of(version[1] if version else section["release"])


@dataclass(frozen=True)
class Spack:
    """A Spack that answers: its program, and what that says of its version."""

    program: Path
    version: str
    commit: str  # of its checkout, empty if it is none
    home: Path  # the toolchain's folder under the prefix
    packages: Path | None  # its own from 1.0 on, None where they are part of its checkout
    site: SpackSite

    def run(self, *words: str | Path, log: Path | None = None) -> str:
        """Run it to its end and return its standard output; raises UserError."""
        argv = [self.program, "--config-scope", self.home / "scope", *words]
        return output_of(argv, environment=self.site.environment, log=log)


def chosen_spack(given: Mapping[str, Any], jobs: int, log: Path) -> tuple[Toolchain, Spack]:
    """The toolchain that a rule's parameters name, and the Spack of this site set up for it."""
    # They are `spack` and `toolchains` of the configuration, and the folder `recipes`.
    section, entries, recipes = given["spack"], given["toolchains"], Path(given["recipes"])
    toolchain = choose_toolchain(section["toolchain"], entries, "the system's file", recipes)
    return toolchain, find_spack(spack_site(section, jobs), toolchain, log)


def find_spack(site: SpackSite, toolchain: Toolchain, log: Path) -> Spack:
    """The Spack of this site, set up for a toolchain, cloned where there is none; or UserError."""
    folder = _checkout(site, "repository", f"spack-{site.release}", site.release, log)
    program = folder / "bin/spack"
    if not program.exists():
        raise _no_spack(site, f"{folder} holds no bin/spack")
    variables = [f"{name}={text}" for name, text in site.environment.items()]
    answers, answer = answer_of(["env", *variables, str(program), "--version"], seconds=60)
    if not answers:
        raise _no_spack(site, f"{program} does not run: {answer}")
    version, packages = answer.split(" ")[0], None
    if release_of(version) >= (1,):
        release = site.packages_release
        packages = _checkout(site, "packages", f"packages-{release}", release, log) / _BUILTIN
        if not packages.is_dir():
            raise _no_spack(site, f"{packages}, Spack's own packages, is not there", "packages")
    _, commit = answer_of(["git", "-C", str(folder), "rev-parse", "HEAD"])
    home = site.prefix / toolchain.name
    _make_prefix(home)
    write_scope(site, home, toolchain.recipes.resolve(), packages, home / "scope")
    commit = commit if (folder / ".git").exists() else ""
    return Spack(program, version, commit, home, packages, site)


def _checkout(site: SpackSite, key: str, name: str, release: str, log: Path) -> Path:
    """The folder that a key of the site names, or a clone of the address, which is made once."""
    repository = getattr(site, key)
    if (folder := Path(repository).expanduser().resolve()).is_dir():
        return folder
    if (folder := site.prefix / name).exists():
        return folder
    _make_prefix(site.prefix)
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    words = ["--quiet", "--depth=1", "--branch", release, repository, part]
    try:
        # Without a terminal git would wait for a password for ever.
        output_of(["git", "clone", *words], environment={"GIT_TERMINAL_PROMPT": "0"}, log=log)
        part.rename(folder)
    except UserError as error:
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
        problem = f"{prefix} cannot be made: {error.strerror}"
        where = "config/config.yaml: spack.prefix"
        allowed = "a folder that you may write to, or that you may make"
        action = f"as root, once: install -d -o <your name> {prefix}"
        raise UserError(problem, where=where, allowed=allowed, action=action) from None


def write_scope(
    site: SpackSite, home: Path, recipes: Path, packages: Path | None, scope: Path
) -> None:
    """The site's own words as a scope of Spack's configuration; JSON is YAML, too."""
    # Recipes of our own, by the path where Spack runs, go before Spack's own packages, which it has
    # from 1.0 on, when repositories have names.
    sources, projections = site.sources, {"all": "{name}-{version}-{hash:7}"}
    if sources and "://" not in sources:
        sources = Path(sources).expanduser().resolve().as_uri()
    repos = {"parity": str(recipes), "builtin": str(packages)}
    config = {
        "install_tree": {"root": str(home / "tree"), "projections": projections},
        "build_stage": [str(site.prefix / "stage")],
        "source_cache": str(site.prefix / "cache/sources"), "build_jobs": site.jobs,
    }  # fmt: skip
    documents: dict[str, object] = {
        "config": config, "repos": repos if packages else [str(recipes)],
        "mirrors": {"sources": sources} if sources else {},
    }  # fmt: skip
    scope.mkdir(exist_ok=True)
    for name, document in documents.items():
        (scope / f"{name}.yaml").write_text(json.dumps({name: document}, indent=1) + "\n")


class BuiltPackage(Document, frozen=True):
    """A package of a lock."""

    name: str
    version: str
    hash: str  # covers its dependencies, too
    target: str
    flags: dict[str, str]  # those of the compilers that are set, by kind
    external: str  # prefix of a package that Spack did not build, or empty
    root: bool  # whether it was asked for


def specs_of(path: Path) -> list[BuiltPackage]:
    """The packages of a lock file, by name and hash: those asked for and those they need."""
    lock, packages = parse_json(read_text(path), str(path)), []
    try:
        roots = [root["hash"] for root in lock["roots"]]
        for digest, spec in lock["concrete_specs"].items():
            target, options = spec["arch"]["target"], spec.get("parameters", {})
            flags = [(k, v) for k, v in options.items() if k.endswith("flags") and v]
            package = {key: spec[key] for key in ("name", "version")} | {
                "hash": digest, "root": digest in roots,
                "target": target if isinstance(target, str) else target["name"],
                "flags": {kind: " ".join(v) for kind, v in flags if isinstance(v, list)},
                "external": (spec.get("external") or {}).get("path") or "",
            }  # fmt: skip
            packages.append(as_document(package, BuiltPackage, str(path)))
    except (KeyError, TypeError, AttributeError):
        raise UserError("this is no lock of Spack", where=str(path), action=RESTORE) from None
    return sorted(packages, key=lambda package: (package.name, package.hash))


def gather_sources(spack: Spack, toolchain: Toolchain, destination: Path, log: Path) -> None:
    """Lay out a source mirror for a lock; if that fails an older one stays."""
    part = destination.with_name(f".{destination.name}.part")
    remove(part)
    with tempfile.TemporaryDirectory() as environment:
        for path in (toolchain.manifest, toolchain.lock):
            shutil.copy(path, environment)
        fetch(spack, Path(environment), log, "mirror", "create", "--all", "--directory", part)
    publish(part, destination)


def fetch(spack: Spack, environment: Path, log: Path, *words: str | Path) -> None:
    """Have Spack fetch an environment's sources; UserError says what it could not, or why."""
    try:
        spack.run("--env-dir", environment, *words, log=log)
    except UserError as error:
        packages = sorted(set(re.findall(r"Error while fetching (\S+)", error.what)))
        last = (re.findall(r"Error: (.+)", error.what) or error.what.splitlines())[-1]
        locked = specs_of(environment / "spack.lock")
        names = sorted({package.name for package in locked if package.root})
        raise UserError(
            f"a source cannot be fetched: {', '.join(packages) or last}",
            where=f"config/config.yaml: spack.sources; {log}",
            allowed="empty (the network), or the folder or address of a Spack source mirror",
            action="where there is a network, `spack mirror create --directory <folder>"
            f" {' '.join(names)}`, and name that folder",
        ) from None
