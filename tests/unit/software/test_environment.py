"""The environment that follows from a study: its packages, on a site's compiler and libraries."""

from pathlib import Path

import pytest
from toolchains import ENTRIES, RECIPES, composed_toolchain

from parity.benchmarks import benchmarks
from parity.core.documents import as_document
from parity.core.errors import UserError
from parity.core.settings import load_yaml
from parity.software.spack import check_only_grown
from parity.software.toolchain import (
    Toolchain,
    ToolchainEntry,
    builds_of_study,
    compilers_of,
    compose,
    composed_manifest,
    read_builds,
)

OLD, NEW = (0, 23), (1, 0)
ENTRY = as_document(ENTRIES["debian12"], ToolchainEntry, "machine.yaml")


def _builds(names: list[str]) -> dict[str, str]:
    return builds_of_study(benchmarks()[name] for name in names)


HPCG = _builds(["hpcg"])
STREAM = _builds(["stream"])


def _content(tmp_path: Path, text: str) -> dict:
    (tmp_path / "composed.yaml").write_text(text)
    return load_yaml(tmp_path / "composed.yaml")["spack"]


@pytest.fixture
def toolchain(tmp_path: Path) -> Toolchain:
    return Toolchain(tmp_path / "debian12", RECIPES, composed_toolchain().entry)


@pytest.mark.parametrize("release", [OLD, NEW])
def test_the_packages_are_the_study_s_and_no_others(tmp_path: Path, release) -> None:
    content = _content(tmp_path, compose(ENTRY, STREAM | HPCG, release))
    names = [spec.split("@")[0] for spec in content["specs"]]
    assert names == ["hpcg", *["stream"] * 7]
    folders = list(content["view"]["default"]["projections"].values())
    assert sorted(folders) == sorted((STREAM | HPCG).values())


def test_a_benchmark_of_the_distribution_alone_asks_for_nothing() -> None:
    assert _builds(["sysbench", "startup"]) == {}
    assert _builds(["hpcc"]) == {"hpcc@1.5.0": "hpcc"}
    assert set(_builds(["mpip"]).values()) == {"mpi-time", "npb"}


def test_the_build_that_says_most_has_the_first_projection(tmp_path: Path) -> None:
    """Spack takes the first that fits, and a build without libaio fits any."""
    content = _content(tmp_path, compose(ENTRY, _builds(["sysbench-libaio"]), OLD))
    first, last = content["view"]["default"]["projections"].items()
    assert "libaio" in first[0] and first[1] == "sysbench-libaio"
    assert last == ("sysbench", "sysbench")


def test_before_1_0_compilers_stand_apart(tmp_path: Path) -> None:
    content = _content(tmp_path, compose(ENTRY, HPCG, OLD))
    (entry,) = content["compilers"]
    assert entry["compiler"]["spec"] == "gcc@=12.2.0"
    assert content["packages"]["all"]["require"] == ["%gcc@12.2.0", "target=x86_64_v3"]
    assert "gcc" not in content["packages"]
    assert compilers_of(tmp_path / "composed.yaml")["fc"] == "/usr/bin/gfortran-12"


def test_from_1_0_on_compilers_are_packages(tmp_path: Path) -> None:
    content = _content(tmp_path, compose(ENTRY, HPCG, NEW))
    assert "compilers" not in content
    packages = content["packages"]
    assert packages["all"]["require"] == ["target=x86_64_v3"]
    (external,) = packages["gcc"]["externals"]
    assert external["spec"] == "gcc@12.2.0 languages='c,c++,fortran'"
    assert external["prefix"] == "/usr"
    assert {name: packages[name] for name in ("c", "cxx", "fortran")} == {
        name: {"require": ["gcc@12.2.0"]} for name in ("c", "cxx", "fortran")
    }
    assert compilers_of(tmp_path / "composed.yaml") == {
        "c": "/usr/bin/gcc-12",
        "cxx": "/usr/bin/g++-12",
        "fortran": "/usr/bin/gfortran-12",
    }


@pytest.mark.parametrize("release", [OLD, NEW])
def test_what_the_site_has_is_not_built_again(tmp_path: Path, release) -> None:
    packages = _content(tmp_path, compose(ENTRY, HPCG, release))["packages"]
    for name in ("mpi", "blas", "openmpi", "openblas", "python"):
        assert packages[name]["buildable"] is False
    assert packages["openblas"]["externals"] == [
        {"spec": "openblas@0.3.21 threads=pthreads", "prefix": "/usr"}
    ]
    assert packages["all"]["providers"]["mpi"] == ["openmpi"]


def test_another_study_adds_and_takes_nothing_away(toolchain: Toolchain) -> None:
    first = composed_manifest(toolchain, STREAM, OLD)
    toolchain.folder.mkdir()
    toolchain.manifest.write_text(first)
    assert read_builds(toolchain.manifest) == STREAM
    assert composed_manifest(toolchain, dict(list(STREAM.items())[:1]), OLD) == first
    both = composed_manifest(toolchain, HPCG, OLD)
    assert both == compose(ENTRY, STREAM | HPCG, OLD)
    check_only_grown(toolchain, OLD)


@pytest.mark.parametrize("what", ["target", "layout"])
def test_a_changed_toolchain_is_refused_under_its_old_name(toolchain: Toolchain, what: str) -> None:
    toolchain.folder.mkdir()
    toolchain.manifest.write_text(compose(ENTRY, HPCG, OLD))
    changed = ENTRIES["debian12"] | ({"target": "x86_64"} if what == "target" else {})
    entry = as_document(changed, ToolchainEntry, "machine.yaml")
    other = Toolchain(toolchain.folder, RECIPES, entry)
    with pytest.raises(UserError, match="another compiler, target") as caught:
        check_only_grown(other, NEW if what == "layout" else OLD)
    assert "snakemake lock" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["[]", "spack: {}", "spack: {specs: [hpcg], view: {default: {projections: {}}}}", "spack: 1"],
)
def test_an_environment_that_is_not_ours_is_refused(toolchain: Toolchain, text: str) -> None:
    toolchain.folder.mkdir()
    toolchain.manifest.write_text(text)
    with pytest.raises(UserError, match="composed here") as caught:
        composed_manifest(toolchain, HPCG, OLD)
    assert str(toolchain.manifest) in str(caught.value)


def test_a_broken_entry_is_named() -> None:
    with pytest.raises(UserError, match="missing required field") as caught:
        as_document({"target": "x86_64"}, ToolchainEntry, "machine.yaml: toolchains.debian12")
    assert "toolchains.debian12" in str(caught.value)
