"""A toolchain: what is composed from a study, and what is refused in one message."""

import json
import os
import re
from pathlib import Path

import pytest
from toolchains import ENTRIES, RECIPES, composed_toolchain, site_toolchain

from parity.benchmarks import benchmarks
from parity.core.documents import as_document
from parity.core.errors import UserError
from parity.core.settings import load_yaml, schema
from parity.plan.study import load_study
from parity.runtimes.ladder import MECHANISMS
from parity.software import toolchain
from parity.software.native import check_lock, check_only_grown
from parity.software.spack import find_spack, spack_site, specs_of
from parity.software.toolchain import Toolchain, ToolchainEntry, compilers_of, compose

ROOT = Path(__file__).parents[3]
OLD, NEW = (0, 23), (1, 0)
ENTRY = as_document(ENTRIES["debian12"], ToolchainEntry, "machine.yaml")
# Cases and margins of the studies of what Spack builds; the margins are the register's.
STUDIES = {
    "hpcg": {"hpcg-1x1": 0.03, "hpcg-1x2": 0.03, "stream": 0.02},
    "libaio": {"sysbench-libaio-linked": 0.01, "sysbench-libaio-absent": 0.01},
    "ladder": {"hpcg-1x1": 0.03},
}


@pytest.mark.parametrize("scale", ["smoke", "machine", "cluster"])
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_spack_s_and_has_the_register_s_margins(name, scale):
    study = load_study(ROOT / f"config/studies/{name}.yaml", scale)
    assert study.provider == "spack"
    assert {case.margin for case in study.cases} == {*STUDIES[name].values()}
    if scale != "cluster":
        assert [(case.name, case.margin) for case in study.cases] == [*STUDIES[name].items()]
        assert study.blocks == (30 if scale == "machine" else study.blocks) >= 2
    if name == "ladder":
        rungs = ("native-a", "native-b", *(f"ladder-{each}" for each in MECHANISMS))
        assert study.arms[: len(rungs)] == rungs
        assert {*study.arms[len(rungs) :]} >= {"charliecloud-sqfs", "apptainer", "podman"}


def _builds(*names: str) -> dict[str, str]:
    return toolchain.builds_of_study(benchmarks()[name] for name in names)


HPCG, STREAM = _builds("hpcg"), _builds("stream")
C, CXX, FORTRAN = (f"/usr/bin/{name}-12" for name in ("gcc", "g++", "gfortran"))
OF_OLD = {"cc": C, "cxx": CXX, "f77": FORTRAN, "fc": FORTRAN}
OF_NEW = {"c": C, "cxx": CXX, "fortran": FORTRAN}


@pytest.fixture
def site(tmp_path: Path) -> Toolchain:
    """A site's own folder, locked."""
    return site_toolchain(tmp_path / "spack")


@pytest.fixture
def composed(tmp_path: Path) -> Toolchain:
    """An empty folder that an environment is composed in."""
    (tmp_path / "debian12").mkdir()
    return Toolchain(tmp_path / "debian12", RECIPES, ENTRY)


@pytest.mark.parametrize(("release", "languages"), [(OLD, OF_OLD), (NEW, OF_NEW)])
def test_a_composed_environment_is_as_it_was(composed, release, languages) -> None:
    """A snapshot of either layout of Spack: before 1.0 compilers stand apart from packages.

    What the site has is not built. Spack takes the first projection that fits, and a build
    without libaio fits any, so the build that says most is first. PARITY_SNAPSHOTS=1 writes it.
    """
    text = compose(ENTRY, STREAM | HPCG | _builds("sysbench-libaio"), release)
    snapshot = ROOT / f"tests/golden/spack-composed-{release[0]}.yaml"
    if os.environ.get("PARITY_SNAPSHOTS"):
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8")
    assert compilers_of(snapshot) == languages


def test_a_benchmark_of_the_distribution_alone_asks_for_nothing() -> None:
    assert _builds("sysbench", "startup") == {}
    assert _builds("hpcc") == {"hpcc@1.5.0": "hpcc"}
    assert set(_builds("mpip").values()) == {"mpi-time", "npb"}


def test_another_study_adds_and_takes_nothing_away(composed) -> None:
    first = toolchain.composed_manifest(composed, STREAM, OLD)
    composed.manifest.write_text(first)
    assert toolchain.read_builds(composed.manifest) == STREAM
    assert toolchain.composed_manifest(composed, dict(list(STREAM.items())[:1]), OLD) == first
    assert toolchain.composed_manifest(composed, HPCG, OLD) == compose(ENTRY, STREAM | HPCG, OLD)
    check_only_grown(composed, OLD)


@pytest.mark.parametrize(("change", "release"), [({"target": "x86_64"}, OLD), ({}, NEW)])
def test_a_changed_toolchain_is_refused_under_its_old_name(composed, change, release) -> None:
    composed.manifest.write_text(compose(ENTRY, HPCG, OLD))
    entry = as_document(ENTRIES["debian12"] | change, ToolchainEntry, "machine.yaml")
    with pytest.raises(UserError, match=r"another compiler, target(.|\n)*snakemake lock"):
        check_only_grown(Toolchain(composed.folder, RECIPES, entry), release)


UNSHAPED = ["[]", "spack: []", "spack: {packages: []}", "spack: {packages: {a: 1}}"]
NOT_OURS = ["spack: 1", "spack: {specs: [hpcg], view: {default: {projections: {}}}}", "spack: {}"]


@pytest.mark.parametrize("text", UNSHAPED + NOT_OURS)
def test_an_environment_that_is_none_or_not_ours_is_refused(composed, text: str) -> None:
    composed.manifest.write_text(text)
    with pytest.raises(UserError, match="no environment that was composed here") as caught:
        toolchain.composed_manifest(composed, HPCG, OLD)
    assert str(composed.manifest) in str(caught.value)
    if text in UNSHAPED:
        with pytest.raises(UserError, match=r"spack\.yaml"):
            compilers_of(composed.manifest)


def test_a_broken_entry_is_named() -> None:
    with pytest.raises(UserError, match=r"missing required field(.|\n)*toolchains\.debian12"):
        toolchain.choose_toolchain("debian12", {"debian12": {"target": "x86_64"}}, "machine.yaml")


@pytest.mark.parametrize("named", ["debian99", "/nowhere/debian99"])
def test_an_unknown_toolchain_is_answered_with_the_known_ones(named: str) -> None:
    with pytest.raises(UserError, match=r"unknown toolchain: .*debian99") as caught:
        toolchain.choose_toolchain(named, {"debian12": {}}, "machine.yaml")
    assert "allowed: debian12 (machine.yaml: toolchains), or the path" in str(caught.value)
    # Nobody who builds nothing with Spack is asked for one.
    assert toolchain.choose_toolchain(named, {}, "machine.yaml", needed=False).name == "debian99"


def test_a_site_s_own_toolchain_lies_wherever_it_wants(site) -> None:
    own = toolchain.choose_toolchain(str(site.folder), {}, "machine.yaml")
    ours = composed_toolchain()
    assert own == site and own.recipes == site.folder.parent / "repo"
    assert own.name == ours.name == "debian12"
    assert ours.folder == Path("results/spack/debian12")


@pytest.mark.parametrize(("named", "allowed"), [
    *((name, True) for name in ("debian12", "/srv/parity/d", "~/d", "./d", "../d")),
    *((name, False) for name in ("", "Debian", "/srv/my parity/d", "/srv/$(id)/d", "/srv/d/")),
])  # fmt: skip
def test_what_a_toolchain_may_be_called(named: str, allowed: bool) -> None:
    pattern = schema("config")["properties"]["spack"]["properties"]["toolchain"]["pattern"]
    assert bool(re.fullmatch(pattern, named)) is allowed


def test_a_missing_compiler_is_named(site) -> None:
    text = site.manifest.read_text().replace("/usr/bin/gfortran-12", "/nowhere/gfortran")
    site.manifest.write_text(text)
    with pytest.raises(UserError, match=r"no such compiler: .*/nowhere/gfortran") as caught:
        toolchain.check_compilers(site.manifest, site)
    assert "spack.yaml: compilers" in str(caught.value)


def test_packages_that_are_not_installed_are_named(site, monkeypatch) -> None:
    monkeypatch.setattr(
        "parity.software.toolchain.installed_versions",
        lambda names: [f"{name}=1" for name in names if name == "gcc-12"],
    )
    site.debian.write_text("build: [gcc-12, g++-12]\nrun: [libgomp1]\n")
    with pytest.raises(UserError, match=r"not installed: g\+\+-12 libgomp1\n") as caught:
        toolchain.installed_packages(site)
    said = str(caught.value)
    assert f"{site.manifest}: Debian packages" in said
    assert f"parity install --toolchain {site.folder}" in said
    assert "apt-get install --no-install-recommends g++-12 libgomp1" in said


@pytest.mark.parametrize("text", [
    "build: [gcc-12]\n", "build: ['gcc 12']\nrun: []\n", "build: [$(id)]\nrun: []\n",
])  # fmt: skip
def test_a_wrong_list_of_packages_is_refused(site, text: str) -> None:
    site.debian.write_text(text)
    with pytest.raises(UserError, match=r"."):
        toolchain.installed_packages(site)
    # The rules are read before anything can be refused.
    assert toolchain.packages_now(site) == []


def test_a_lock_matches_what_it_was_made_from(site) -> None:
    (site.recipes / "packages/netpipe/package.pyc").write_bytes(b"\0")
    check_lock(site)
    # One of a time before versions is read, too.
    origin = json.loads(site.origin.read_text())
    site.origin.write_text(json.dumps({k: origin[k] for k in origin if k != "version"}))
    check_lock(site)


@pytest.mark.parametrize(("path", "name"), [
    ("debian12/spack.yaml", "spack.yaml"), ("debian12/spack.lock", "spack.lock"),
    ("repo/packages/netpipe/package.py", "recipes"),
])  # fmt: skip
def test_a_changed_file_is_named_with_both_hashes(site, path: str, name: str) -> None:
    file = site.folder.parent / path
    file.write_text(file.read_text() + "\n")
    with pytest.raises(UserError, match=f"does not match {name}") as caught:
        check_lock(site)
    assert str(caught.value).count("sha256:") == 2
    assert "snakemake lock" in str(caught.value)


@pytest.mark.parametrize("name", ["spack.lock", "lock.json"])
def test_a_lock_that_is_missing_says_how_to_make_it(site, name: str) -> None:
    (site.folder / name).unlink()
    with pytest.raises(UserError, match=rf"has no lock(.|\n)*{name}(.|\n)*snakemake lock"):
        check_lock(site)


def test_the_lock_says_what_is_built_and_what_is_debian_s(site) -> None:
    rows = {row.name: row for row in specs_of(site.lock)}
    assert {name for name, row in rows.items() if row.root} == {"hpcc", "netpipe"}
    assert {row.target for row in rows.values()} == {"x86_64_v3"}
    assert rows["openmpi"].external == "/usr" and not rows["netpipe"].external
    # Another Spack's version in it is no other package.
    before, text = specs_of(site.lock), site.lock.read_text()
    assert '"0.22.1"' in text
    site.lock.write_text(text.replace('"0.22.1"', '"0.23.0"'))
    assert specs_of(site.lock) == before


ODD = '{"name": 1, "version": [], "arch": {"target": "x"}}'
LOCKS_OF = [f'{{"roots": [], "concrete_specs": {{"a": {spec}}}}}' for spec in ("{}", ODD)]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"roots": [{}]}', *LOCKS_OF])
def test_a_lock_that_spack_did_not_write_is_refused_in_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "spack.lock").write_text(text)
    with pytest.raises(UserError, match=r"spack\.lock"):
        specs_of(tmp_path / "spack.lock")


@pytest.mark.parametrize(("repository", "prefix", "said"), [
    ("/nowhere/spack.git", "prefix", ("no Spack here", "git clone", "provider: system")),
    ("file:///nowhere/spack.git", "prefix", ("no Spack here", "spack.repository")),
    ("{folder}", "prefix", ("holds no bin/spack",)),
    ("/nowhere", "file", ("cannot be made", "spack.prefix")),
])  # fmt: skip
def test_without_spack_one_message_says_how_to_get_it(tmp_path, repository, prefix, said) -> None:
    (tmp_path / "file").touch()
    section = load_yaml(ROOT / "config/config.yaml")["spack"]
    places = {"repository": repository.format(folder=tmp_path), "prefix": str(tmp_path / prefix)}
    with pytest.raises(UserError) as caught:
        find_spack(spack_site(section | places, jobs=1), composed_toolchain(), tmp_path / "log")
    assert all(part in str(caught.value) for part in said)


def test_a_prefix_where_no_benchmark_looks_is_refused() -> None:
    with pytest.raises(UserError, match=r"looked for in /opt/parity(.|\n)*spack\.prefix"):
        toolchain.check_prefix({"prefix": "/srv/parity"})
    toolchain.check_prefix({"prefix": "/opt/parity"})
