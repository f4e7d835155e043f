"""What a builder is sent and told: command lines, folders and refusals; nothing is built."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from toolchains import site_toolchain

from parity.core import files
from parity.core.errors import UserError
from parity.core.settings import load_yaml
from parity.software import build
from parity.software.build import Context, recipe_of, system_context
from parity.software.native import programs_of
from parity.software.spack import Spack, gather_sources, spack_site
from parity.software.toolchain import Toolchain

ROOT = Path(__file__).parents[3]
CONTAINERS = ROOT / "containers"
SECTION = load_yaml(ROOT / "config/config.yaml")["spack"]


@pytest.fixture
def toolchain(tmp_path: Path) -> Toolchain:
    return site_toolchain(tmp_path / "spack")


@pytest.fixture
def spack(tmp_path: Path) -> Spack:
    """What `find_spack` would find, in a checkout that has nothing but a program."""
    for part in ("bin", "etc", "lib/spack/__pycache__", "share", "var/spack/repos", "opt", ".git"):
        (tmp_path / "checkout" / part).mkdir(parents=True)
    (program := tmp_path / "checkout/bin/spack").touch(0o755)
    (tmp_path / "checkout/lib/spack/__pycache__/a.pyc").touch()
    site = spack_site(SECTION | {"prefix": str(tmp_path / "prefix")}, jobs=2)
    return Spack(program, "0.22.1", "", tmp_path / "prefix/debian12", None, site)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    (tmp_path / "mirror/_source-cache").mkdir(parents=True)
    (tmp_path / "mirror/_source-cache/a.tar.gz").write_bytes(b"source")
    (tmp_path / "mirror/a-1.tar.gz").symlink_to("_source-cache/a.tar.gz")
    return tmp_path / "mirror"


@pytest.fixture
def sent(tmp_path: Path, toolchain: Toolchain, spack: Spack, mirror: Path, monkeypatch):
    """Makes the context of a toolchain's image, with version 1 of every package."""
    versions = "parity.software.toolchain.installed_versions"
    monkeypatch.setattr(versions, lambda names: sorted(f"{name}=1" for name in names))

    def make(name: str = "context", spack: Spack = spack) -> Context:
        folder = tmp_path / name
        return build.spack_context(CONTAINERS, ["sysbench=2"], toolchain, spack, mirror, folder)

    return make


@pytest.mark.parametrize(("program", "isolation"), [
    ("docker", []), ("podman", ["--isolation=chroot"]), ("buildah", ["--isolation=chroot"]),
])  # fmt: skip
def test_the_command_line_of_each_builder(program: str, isolation: list[str]) -> None:
    (builder,) = [builder for builder in build.BUILDERS if builder.program == program]
    context = Context(Path("/c"), "system", {"PACKAGES": "a=1 b=2"}, "FROM")
    assert build.build_command(builder, context, "debian@sha256:1", "f00", Path("/t/id")) == [
        *(program, "build", *isolation, "--network=host", "--build-arg", "BASE=debian@sha256:1"),
        *("--build-arg", "RECIPE=f00", "--build-arg", "PACKAGES=a=1 b=2", "--target", "system"),
        *("--iidfile", "/t/id", "--file", "/c/Dockerfile", "/c"),
    ]


def stages(folder: Path) -> list[str]:
    return re.findall(r"^FROM .*$", (folder / "Dockerfile").read_text(), re.M)


def test_debian_s_image_stops_at_its_stage_and_is_sent_no_spack() -> None:
    context = system_context(CONTAINERS, ["b=2", "a=1"])
    assert (context.folder, context.stage) == (CONTAINERS, "system")
    assert context.arguments == {"PACKAGES": "b=2 a=1"}
    assert sorted(path.name for path in CONTAINERS.iterdir()) == ["Dockerfile", "hosts"]
    # The classic builder of Docker makes every stage up to the one that is asked for.
    after = ["FROM system AS build", "FROM system AS spack"]
    assert stages(CONTAINERS) == ["FROM ${BASE} AS system", *after]


def test_an_image_with_own_sources_adds_them_to_debian_s(tmp_path: Path) -> None:
    compiler = ["gcc=4", "libc6-dev=2"]
    context = build.compiled_context(CONTAINERS, ["a=1"], ["selfish.c"], compiler, tmp_path)
    assert (context.folder, context.stage) == (tmp_path, "compiled")
    assert context.arguments == {
        "PACKAGES": "a=1",
        "COMPILER": "gcc=4 libc6-dev=2",
        "SOURCES": "selfish.c",
        "FOLDER": "/opt/parity/compiled",
    }
    sources = {path.name for path in (tmp_path / "sources").iterdir()}
    assert sources == {"compile.sh", "selfish.c", "trace.h"}
    # Docker without BuildKit goes through every stage before its own.
    after = ["FROM system AS compiler", "FROM system AS compiled"]
    assert stages(tmp_path) == ["FROM ${BASE} AS system", *after]
    # Its recipe changes with a source.
    assert "sources/selfish.c\0" in context.made_from


def test_every_file_of_the_folder_counts_for_the_image(tmp_path: Path) -> None:
    shutil.copytree(CONTAINERS, containers := tmp_path / "containers")
    recipes = {recipe_of(system_context(containers, ["a=1"]), "sha256:1")}
    (containers / "etc").mkdir()
    for text in ("one", "another"):
        (containers / "etc/site.conf").write_text(text)
        recipes.add(recipe_of(system_context(containers, ["a=1"]), "sha256:1"))
    assert len(recipes) == 3


def test_from_1_0_on_the_image_is_sent_spack_s_packages(tmp_path, spack: Spack, sent) -> None:
    builtin = tmp_path / "packages/repos/spack_repo/builtin"
    (builtin / "packages/hpcg").mkdir(parents=True)
    (builtin / "packages/hpcg/package.py").touch()
    context = sent(spack=replace(spack, version="1.0.2", packages=builtin))
    there = "builtin/repos/spack_repo/builtin"
    assert (context.folder / "spack" / there / "packages/hpcg/package.py").exists()
    assert json.loads((context.folder / "scope/repos.yaml").read_text())["repos"] == {
        "parity": str(spack.site.prefix / "debian12/recipes"),
        "builtin": f"/spack/{there}",
    }


def test_the_image_of_a_toolchain_is_told_and_sent_all_that_it_takes_and_no_more(
    sent, spack: Spack, toolchain: Toolchain
) -> None:
    origin, packages = json.loads(toolchain.origin.read_text()), load_yaml(toolchain.debian)
    context = sent()
    assert context.stage == "spack"
    assert context.arguments == {
        "PACKAGES": " ".join(sorted(["sysbench=2", *(f"{name}=1" for name in packages["run"])])),
        "BUILD_PACKAGES": " ".join(f"{name}=1" for name in packages["build"]),
        "PREFIX": str(spack.site.prefix),
        "TOOLCHAIN": "debian12",
        "LOCK": origin["spack.lock"],
        "RECIPES": origin["recipes"],
    }
    paths = {str(path.relative_to(context.folder)) for path in context.folder.rglob("*")}
    assert {"Dockerfile", "hosts", "scope/config.yaml", "scope/repos.yaml"} <= paths
    parts = {"spack.yaml", "spack.lock", "lock.json", "recipes/repo.yaml"}
    parts |= {"recipes/packages/netpipe/package.py"}
    assert {f"toolchain/{name}" for name in parts} <= paths
    assert os.access(context.folder / "spack/bin/spack", os.X_OK)
    # The image's own lock is the very file that the label has the digest of.
    assert files.digest(context.folder / "toolchain/spack.lock") == context.arguments["LOCK"]
    assert (context.folder / "sources/a-1.tar.gz").is_symlink()
    assert (context.folder / "sources/a-1.tar.gz").read_bytes() == b"source"
    # Neither history nor what was compiled is sent.
    assert not {"__pycache__", "a.pyc", ".git", "opt"} & {Path(path).name for path in paths}
    # Spack is told the same place as natively.
    home, scopes = spack.site.prefix / "debian12", (context.folder / "scope").iterdir()
    scope = {path.stem: json.loads(path.read_text())[path.stem] for path in scopes}
    assert scope["config"]["install_tree"]["root"] == str(home / "tree")
    assert scope["repos"] == [str(home / "recipes")]
    assert scope["mirrors"] == {"sources": "file:///sources"}
    # Its recipe follows the lock.
    before = recipe_of(context, "sha256:1")
    assert recipe_of(sent("again"), "sha256:1") == before
    toolchain.origin.write_text(json.dumps(origin | {"spack.yaml": "sha256:0"}))
    assert recipe_of(sent("other"), "sha256:1") != before


@pytest.mark.parametrize(("said", "what"), [
    ("==> Warning: Error while fetching b@1\n==> Error: Error while fetching a@2", "a@2, b@1"),
    ("==> Error: no such mirror\nsee the log", "no such mirror"),
    ("the last line", "the last line"),
])  # fmt: skip
def test_a_failed_gathering_leaves_the_older_mirror(
    tmp_path, toolchain, spack, mirror, monkeypatch, said, what
) -> None:
    asked = []

    def run(_spack: Spack, *words: str | Path, log: Path) -> str:
        asked.append([str(word) for word in words])
        raise UserError(f"failed\n{said}")

    monkeypatch.setattr(Spack, "run", run)
    with pytest.raises(UserError, match=f"cannot be fetched: {what}\n") as caught:
        gather_sources(spack, toolchain, mirror, tmp_path / "log")
    for part in ("spack.sources", "spack mirror create", "hpcc netpipe"):
        assert part in str(caught.value)
    assert (mirror / "a-1.tar.gz").exists()
    part = str(mirror.with_name(".mirror.part"))
    (words,) = asked
    assert words[0] == "--env-dir"
    assert words[2:] == ["mirror", "create", "--all", "--directory", part]


def test_preloaded_libraries_are_recorded_and_scripts_are_not(tmp_path: Path) -> None:
    for name, data in {
        "mpi-time/lib/libmpitime.so": b"\x7fELF",
        "hpcc/bin/hpcc": b"\x7fELF",
        "hpcc/bin/script": b"#!/bin/sh",
        "mpi-time/share/other": b"\x7fELF",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    programs = [str(path.relative_to(tmp_path)) for path in programs_of(tmp_path)]
    assert programs == ["hpcc/bin/hpcc", "mpi-time/lib/libmpitime.so"]
