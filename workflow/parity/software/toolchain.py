"""A toolchain: what Spack is asked to build, on which compiler, and the Debian packages it takes.

It is composed of a study's packages and an entry of the system's file, or is a site's own folder.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from parity.benchmarks.model import Benchmark
from parity.core.documents import Document, as_document
from parity.core.errors import UserError
from parity.core.package import own
from parity.core.settings import load_checked, load_yaml
from parity.core.spack_paths import PREFIX, SPACK
from parity.software.debian_packages import installed_versions

# Our own recipes, and where composed toolchains are kept with their locks.
RECIPES = Path(own("envs/spack/repo"))
COMPOSED = Path("results/spack")
# The key of a projection has none; it tells a build from others of its package.
_VERSION = re.compile(r"@\S+")
# A composed environment, the lock that Spack made of it, and what that was made from.
LOCKED = ("spack.yaml", "spack.lock", "lock.json")
_HEADER = """\
# Composed from the benchmarks of the studies that were built, and from the toolchain's entry
# in the system's file: change those, not this. docs/spack.md says how.
"""


class Compiler(Document, frozen=True):
    """A compiler that is installed already; the last three are paths of its programs."""

    name: str
    version: str
    c: str
    cxx: str
    fortran: str


class External(Document, frozen=True):
    """A package that is installed already, and is never built by Spack."""

    spec: str
    prefix: str


class DebianPackages(Document, frozen=True):
    """The Debian packages that building takes, and that the programs load."""

    build: tuple[str, ...]
    run: tuple[str, ...]


class ToolchainEntry(Document, frozen=True):
    """An entry of `toolchains` in a system's file."""

    operating_system: str
    target: str  # the instruction set, so that every machine builds the same program
    compiler: Compiler
    providers: dict[str, str]  # the package that provides each virtual one, such as `mpi`
    externals: tuple[External, ...]
    debian: DebianPackages


def _in_folder(name: str) -> Any:
    return property(lambda self: self.folder / name)


@dataclass(frozen=True)
class Toolchain:
    """A folder with what Spack is given and what it decided: composed here, or a site's own."""

    folder: Path
    recipes: Path  # our own recipes, or the site's, which the lock depends on as well
    entry: ToolchainEntry | None = None  # what it is composed from; None for a site's own folder

    @property
    def name(self) -> str:
        """What its folder under the prefix is called, natively and in the image."""
        return self.folder.name

    # What is to be built, with which compiler, for which instruction set; every package with its
    # hash, as Spack decided; what that was made from; a site's list of Debian's packages.
    manifest, lock = _in_folder("spack.yaml"), _in_folder("spack.lock")
    origin, debian = _in_folder("lock.json"), _in_folder("debian.yaml")

    def refusal(self, problem: str, of: str, action: str) -> UserError:
        """What is wrong with a part of the site's spack.yaml or of the entry, and what to do."""
        where = f"the system's file: {self.name}" if self.entry else str(self.manifest)
        # As config/config.yaml has it.
        named = self.name if self.folder.parent == COMPOSED else self.folder
        install = f"parity install --toolchain {named}"
        return UserError(problem, where=f"{where}: {of}", action=f"{install}{action}")


def choose_toolchain(
    named: str, entries: Mapping[str, Any], where: str, recipes: Path = RECIPES, *,
    needed: bool = True,
) -> Toolchain:  # fmt: skip
    """The toolchain that config/config.yaml names, of a system's file or a folder; or UserError."""
    # The entries are `toolchains` of the system's file, which is `where`. One that is not there is
    # refused (UserError) if it is needed; else it has its name alone.
    toolchain, absent = Toolchain(COMPOSED / named, recipes), f"{named} is not in {where}"
    if "/" in named:
        folder = Path(named).expanduser()
        toolchain = Toolchain(folder, folder.parent / "repo")
        absent = "" if toolchain.manifest.exists() else f"{toolchain.manifest} is not there"
    elif named in entries:
        entry = as_document(entries[named], ToolchainEntry, f"{where}: toolchains.{named}")
        toolchain, absent = replace(toolchain, entry=entry), ""
    if needed and absent:
        allowed = f"{', '.join(sorted(entries))} ({where}: toolchains), or the path of a folder"
        allowed, where = f"{allowed} that holds a spack.yaml", "config/config.yaml: spack.toolchain"
        raise UserError(f"unknown toolchain: {absent}", where=where, allowed=allowed)
    return toolchain


def check_prefix(section: Mapping[str, str]) -> None:
    """Refuse a prefix, of config/config.yaml's key `spack`, where no benchmark is looked for."""
    if Path(prefix := section["prefix"]).expanduser() != PREFIX:
        problem = f"benchmarks are looked for in {PREFIX}, and Spack would install in {prefix}"
        action = "make it a link to where there is room: binaries carry their path, natively"
        action, where = f"{action} and in the image", "config/config.yaml: spack.prefix"
        raise UserError(problem, where=where, allowed=str(PREFIX), action=action)


def builds_of_study(used: Iterable[Benchmark]) -> dict[str, str]:
    """What Spack builds for these benchmarks: the folder in the view by spec."""
    by_spack = (benchmark.provided_by(SPACK) for benchmark in used)
    packages = (package for benchmark in by_spack for package in benchmark.spack_packages)
    return {package.spec: package.view_folder for package in packages}


def read_builds(manifest: Path) -> dict[str, str]:
    """The same of a spack.yaml, empty if there is no such file; UserError if it is not ours."""
    if not manifest.exists():
        return {}
    try:
        content = load_yaml(manifest)["spack"]
        folders = content["view"]["default"]["projections"]
        return {spec: folders[_VERSION.sub("", spec)] for spec in content["specs"]}
    except (KeyError, TypeError, AttributeError):
        problem = "this is no environment that was composed here"
        action = "remove its folder, or undo the change"
        raise UserError(problem, where=str(manifest), action=action) from None


def all_builds(toolchain: Toolchain, builds: Mapping[str, str]) -> dict[str, str]:
    """These builds and those before, in one order: no study loses the view that it measures in."""
    before = read_builds(toolchain.manifest) if toolchain.entry else {}
    return dict(sorted((before | dict(builds)).items()))


def compose(entry: ToolchainEntry, builds: Mapping[str, str], release: tuple[int, ...]) -> str:
    """The text of spack.yaml for builds, which are folders in the view by spec."""
    # Each package is decided by itself (`unify: false`): so builds of one package fit beside each
    # other, and a further benchmark changes no build of those there are.
    wanted = sorted(builds, key=lambda spec: (builds[spec], spec))
    # The first projection that fits is taken, so those that say most come first.
    projected = sorted(wanted, key=lambda spec: (spec.split("@")[0], -len(spec)))
    projections = {_VERSION.sub("", spec): builds[spec] for spec in projected}
    content: dict[str, Any] = {
        "specs": wanted, "concretizer": {"reuse": False, "unify": False},
        "view": {"default": {"root": "../view", "link": "roots", "projections": projections}},
    }  # fmt: skip
    compiler, required = entry.compiler, [f"target={entry.target}"]
    spec, cxx, fortran = f"{compiler.name}@{compiler.version}", compiler.cxx, compiler.fortran
    as_packages: dict[str, Any] = {}
    if release >= (1,):  # Compilers are packages.
        paths = {"c": compiler.c, "cxx": cxx, "fortran": fortran}
        external = {
            "spec": f"{spec} languages='c,c++,fortran'", "prefix": str(Path(compiler.c).parents[1]),
            "extra_attributes": {"compilers": paths},
        }  # fmt: skip
        as_packages = {compiler.name: {"buildable": False, "externals": [external]}}
        as_packages |= {language: {"require": [spec]} for language in paths}
    else:
        required.insert(0, f"%{spec}")
        apart = {
            "spec": spec.replace("@", "@="), "operating_system": entry.operating_system,
            "target": "x86_64" if entry.target.startswith("x86_64") else entry.target,
            "modules": [], "paths": {"cc": compiler.c, "cxx": cxx, "f77": fortran, "fc": fortran},
        }  # fmt: skip
        content["compilers"] = [{"compiler": apart}]
    providers = {virtual: [name] for virtual, name in entry.providers.items()}
    packages: dict[str, Any] = {"all": {"require": required, "providers": providers}}
    packages |= {name: {"buildable": False} for name in providers}
    for installed in entry.externals:
        name = re.split(r"[@ +~%]", installed.spec)[0]
        at = {"spec": installed.spec, "prefix": installed.prefix}
        packages.setdefault(name, {"buildable": False}).setdefault("externals", []).append(at)
    content["packages"] = packages | as_packages
    return _HEADER + yaml.safe_dump({"spack": content}, sort_keys=False, width=1000)


def composed_manifest(
    toolchain: Toolchain, builds: Mapping[str, str], release: tuple[int, ...]
) -> str:
    """The spack.yaml of a composed toolchain; empty for a site's own folder."""
    entry = toolchain.entry
    return compose(entry, all_builds(toolchain, builds), release) if entry else ""


def compilers_of(manifest: Path) -> dict[str, str]:
    """Paths of a spack.yaml's compilers by language (cc, cxx, f77, fc; or c, cxx, fortran)."""
    content = load_yaml(manifest)
    try:
        listed = [entry["compiler"]["paths"] for entry in content["spack"].get("compilers", [])]
        listed += [
            external.get("extra_attributes", {}).get("compilers", {})
            for package in content["spack"].get("packages", {}).values()
            for external in package.get("externals", [])
        ]
        return {language: path for paths in listed for language, path in paths.items() if path}
    except (KeyError, TypeError, AttributeError):
        problem = "Spack's packages and compilers are not where its environments have them"
        raise UserError(problem, where=str(manifest)) from None


def check_compilers(manifest: Path, toolchain: Toolchain) -> None:
    """Refuse a spack.yaml of the toolchain whose compilers are not here; raises UserError."""
    if missing := {p for p in compilers_of(manifest).values() if not os.access(p, os.X_OK)}:
        problem = f"no such compiler: {', '.join(sorted(missing))}"
        action = " (Debian), or install it, or choose another toolchain in config/config.yaml:"
        raise toolchain.refusal(problem, "compilers", f"{action} spack.toolchain")


def debian_packages(toolchain: Toolchain) -> DebianPackages:
    """Names of the Debian packages that the toolchain takes; UserError if its list is wrong."""
    if toolchain.entry:
        return toolchain.entry.debian
    listed = load_checked(toolchain.debian, "debian")
    return as_document(listed, DebianPackages, str(toolchain.debian))


def installed_packages(toolchain: Toolchain) -> DebianPackages:
    """The same with the versions that are here (`name=version`); UserError if some are not."""
    wanted = debian_packages(toolchain)
    build, run = (tuple(installed_versions(names)) for names in (wanted.build, wanted.run))
    present = {package.partition("=")[0] for package in (*build, *run)}
    if absent := " ".join(sorted({*wanted.build, *wanted.run} - present)):
        problem = f"Debian packages that are not installed: {absent}"
        action = f", or sudo apt-get install --no-install-recommends {absent}"
        raise toolchain.refusal(problem, "Debian packages", action)
    return DebianPackages(build=build, run=run)


def packages_now(toolchain: Toolchain) -> list[str]:
    """`name=version` of those that are installed; none if the list itself will be refused."""
    try:
        wanted = debian_packages(toolchain)
    except UserError:
        return []
    return installed_versions([*wanted.build, *wanted.run])
