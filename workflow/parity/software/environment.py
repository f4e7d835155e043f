"""Composes a toolchain's spack.yaml: a study's packages on a site's compiler and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from parity.benchmarks.model import Benchmark
from parity.core.documents import Document
from parity.core.errors import UserError
from parity.core.settings import load_yaml
from parity.core.spack_paths import SPACK

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
    """An entry of `toolchains` in a system's file.

    Attributes:
        target: the instruction set, so that every machine builds the same program.
        providers: the package that provides each virtual one, such as `mpi`.
    """

    operating_system: str
    target: str
    compiler: Compiler
    providers: dict[str, str]
    externals: tuple[External, ...]
    debian: DebianPackages


def builds_of_study(used: Iterable[Benchmark]) -> dict[str, str]:
    """What Spack builds for these benchmarks: the folder in the view by spec."""
    by_spack = (benchmark.provided_by(SPACK) for benchmark in used)
    packages = (package for benchmark in by_spack for package in benchmark.spack_packages)
    return {package.spec: package.view_folder for package in packages}


def read_builds(manifest: Path) -> dict[str, str]:
    """The same of a spack.yaml that was composed here; empty if there is no such file.

    Raises:
        UserError: it was not composed here, or changed by hand.
    """
    if not manifest.exists():
        return {}
    try:
        content = load_yaml(manifest)["spack"]
        folders = content["view"]["default"]["projections"]
        return {spec: folders[_without_version(spec)] for spec in content["specs"]}
    except (KeyError, TypeError, AttributeError):
        raise UserError(
            "this is no environment that was composed here",
            where=str(manifest),
            action="remove its folder, or undo the change",
        ) from None


def _without_version(spec: str) -> str:
    """What a build is told from others of its package by: the key of a projection."""
    return re.sub(r"@\S+", "", spec)


def compose(entry: ToolchainEntry, builds: Mapping[str, str], release: tuple[int, ...]) -> str:
    """The text of spack.yaml.

    Each package is decided by itself (`unify: false`): so several builds of one package fit
    beside each other, and a further benchmark changes no build of those there are.

    Args:
        builds: folders in the view by spec.
        release: of Spack; from 1.0 on compilers are packages.
    """
    wanted = sorted(builds, key=lambda spec: (builds[spec], spec))
    # The first projection that fits is taken, so those that say most come first.
    projected = sorted(wanted, key=lambda spec: (spec.split("@")[0], -len(spec)))
    content: dict[str, Any] = {
        "specs": wanted,
        "concretizer": {"reuse": False, "unify": False},
        "view": {
            "default": {
                "root": "../view",
                "link": "roots",
                "projections": {_without_version(spec): builds[spec] for spec in projected},
            }
        },
    }
    if release >= (1,):
        content["packages"] = _packages(entry, [], _compiler_as_package(entry.compiler))
    else:
        content["compilers"] = [_compiler_apart(entry)]
        with_compiler = [f"%{entry.compiler.name}@{entry.compiler.version}"]
        content["packages"] = _packages(entry, with_compiler, {})
    return _HEADER + yaml.safe_dump({"spack": content}, sort_keys=False, width=1000)


def _packages(
    entry: ToolchainEntry, required: list[str], compiler: Mapping[str, Any]
) -> dict[str, Any]:
    """What all packages take, and what is not built again."""
    virtual = {name: {"buildable": False} for name in entry.providers}
    externals: dict[str, dict[str, Any]] = {}
    for external in entry.externals:
        name = re.split(r"[@ +~%]", external.spec)[0]
        known = externals.setdefault(name, {"buildable": False, "externals": []})
        known["externals"].append({"spec": external.spec, "prefix": external.prefix})
    everything = {
        "require": [*required, f"target={entry.target}"],
        "providers": {virtual: [name] for virtual, name in entry.providers.items()},
    }
    return {"all": everything, **virtual, **externals, **compiler}


def _compiler_apart(entry: ToolchainEntry) -> dict[str, Any]:
    """The compiler as Spack 0.22 and 0.23 have it."""
    compiler = entry.compiler
    return {
        "compiler": {
            "spec": f"{compiler.name}@={compiler.version}",
            "operating_system": entry.operating_system,
            "target": "x86_64" if entry.target.startswith("x86_64") else entry.target,
            "modules": [],
            "paths": {
                "cc": compiler.c,
                "cxx": compiler.cxx,
                "f77": compiler.fortran,
                "fc": compiler.fortran,
            },
        }
    }


def _compiler_as_package(compiler: Compiler) -> dict[str, Any]:
    """The compiler as Spack 1.0 and later have it: an external package."""
    spec = f"{compiler.name}@{compiler.version}"
    external = {
        "spec": f"{spec} languages='c,c++,fortran'",
        "prefix": str(Path(compiler.c).parents[1]),
        "extra_attributes": {
            "compilers": {"c": compiler.c, "cxx": compiler.cxx, "fortran": compiler.fortran}
        },
    }
    languages = {name: {"require": [spec]} for name in ("c", "cxx", "fortran")}
    return {compiler.name: {"buildable": False, "externals": [external]}, **languages}


def compilers_of(manifest: Path) -> dict[str, str]:
    """Paths of the compilers of a spack.yaml by language (cc, cxx, f77, fc; or c, cxx, fortran).

    Raises:
        UserError: it has them in another form than Spack.
    """
    content = load_yaml(manifest)
    try:
        found = [entry["compiler"]["paths"] for entry in content["spack"].get("compilers", [])]
        found += [
            external.get("extra_attributes", {}).get("compilers", {})
            for package in content["spack"].get("packages", {}).values()
            for external in package.get("externals", [])
        ]
        return {language: path for paths in found for language, path in paths.items() if path}
    except (KeyError, TypeError, AttributeError):
        raise UserError(
            "Spack's packages and compilers are not where its environments have them",
            where=str(manifest),
        ) from None
