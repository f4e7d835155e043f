"""The toolchain's lock and its compilers: refused in one message where they do not fit."""

import json
import re
from pathlib import Path

import pytest
from toolchains import composed_toolchain, site_toolchain

from parity.core.errors import UserError
from parity.core.files import read_json
from parity.core.settings import load_yaml, schema
from parity.software.spack import (
    SpackSite,
    check_lock,
    find_spack,
    packages_of,
    spack_site,
    specs_of,
)
from parity.software.toolchain import (
    Toolchain,
    check_compilers,
    check_prefix,
    choose_toolchain,
    compilers_of,
    installed_packages,
    packages_now,
    read_builds,
)

ROOT = Path(__file__).parents[3]
RECIPE = "repo/packages/netpipe/package.py"


@pytest.fixture
def toolchain(tmp_path: Path) -> Toolchain:
    return site_toolchain(tmp_path / "spack")


def _site(folder: Path, repository: Path | str) -> SpackSite:
    section = load_yaml(ROOT / "config/config.yaml")["spack"]
    return spack_site(
        section | {"prefix": str(folder / "prefix"), "repository": str(repository)}, jobs=1
    )


def test_a_lock_matches_what_it_was_made_from(toolchain: Toolchain) -> None:
    check_lock(toolchain)


def test_a_lock_of_a_time_before_versions_is_read(toolchain: Toolchain) -> None:
    origin = json.loads(toolchain.origin.read_text())
    toolchain.origin.write_text(json.dumps({k: origin[k] for k in origin if k != "version"}))
    check_lock(toolchain)
    toolchain.origin.write_text("[]")
    with pytest.raises(UserError, match=r"(?i)lock ?origin") as caught:
        check_lock(toolchain)
    assert str(toolchain.origin) in str(caught.value)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("debian12/spack.yaml", "spack.yaml"),
        ("debian12/spack.lock", "spack.lock"),
        (RECIPE, "recipes"),
    ],
)
def test_a_changed_file_is_named_with_both_hashes(
    toolchain: Toolchain, path: str, name: str
) -> None:
    file = toolchain.folder.parent / path
    file.write_text(file.read_text() + "\n")
    with pytest.raises(UserError, match=f"does not match {name}") as caught:
        check_lock(toolchain)
    assert str(caught.value).count("sha256:") == 2
    assert "snakemake lock" in str(caught.value)


def test_bytecode_beside_a_recipe_is_no_change(toolchain: Toolchain) -> None:
    (toolchain.recipes / "packages/netpipe/package.pyc").write_bytes(b"\0")
    check_lock(toolchain)


@pytest.mark.parametrize("name", ["spack.lock", "lock.json"])
def test_a_lock_that_is_missing_says_how_to_make_it(toolchain: Toolchain, name: str) -> None:
    (toolchain.folder / name).unlink()
    with pytest.raises(UserError, match="has no lock") as caught:
        check_lock(toolchain)
    assert name in str(caught.value) and "snakemake lock" in str(caught.value)


@pytest.mark.parametrize("named", ["debian99", "/nowhere/debian99"])
def test_an_unknown_toolchain_is_answered_with_the_known_ones(named: str) -> None:
    with pytest.raises(UserError, match=r"unknown toolchain: .*debian99") as caught:
        choose_toolchain(named, {"debian12": {}}, "machine.yaml")
    assert "allowed: debian12 (machine.yaml: toolchains), or the path" in str(caught.value)
    # Nobody who builds nothing with Spack is asked for one.
    assert choose_toolchain(named, {}, "machine.yaml", needed=False).name == "debian99"


def test_a_site_s_own_toolchain_lies_wherever_it_wants(toolchain: Toolchain) -> None:
    own = choose_toolchain(str(toolchain.folder), {}, "machine.yaml")
    assert own == toolchain and own.recipes == toolchain.folder.parent / "repo"
    assert (own.name, own.named) == ("debian12", str(toolchain.folder))
    composed = composed_toolchain()
    assert (composed.name, composed.named) == ("debian12", "debian12")
    assert composed.folder == Path("results/spack/debian12")


@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        ("debian12", True),
        ("/srv/parity/debian12", True),
        ("~/debian12", True),
        ("./debian12", True),
        ("../debian12", True),
        ("", False),
        ("Debian", False),
        ("/srv/my parity/debian12", False),
        ("/srv/$(id)/debian12", False),
        ("/srv/debian12/", False),
    ],
)
def test_what_a_toolchain_may_be_called(named: str, allowed: bool) -> None:
    pattern = schema("config")["properties"]["spack"]["properties"]["toolchain"]["pattern"]
    assert bool(re.fullmatch(pattern, named)) is allowed


def test_a_missing_compiler_is_named(toolchain: Toolchain) -> None:
    text = toolchain.manifest.read_text().replace("/usr/bin/gfortran-12", "/nowhere/gfortran")
    toolchain.manifest.write_text(text)
    with pytest.raises(UserError, match=r"no such compiler: .*/nowhere/gfortran") as caught:
        check_compilers(compilers_of(toolchain.manifest), toolchain)
    assert "spack.yaml: compilers" in str(caught.value)


def test_packages_that_are_not_installed_are_named(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"gcc-12": "12.2.0-14"}
    monkeypatch.setattr(
        "parity.software.toolchain.installed_versions",
        lambda names: [f"{name}=1" for name in names if name in known],
    )
    toolchain.debian.write_text("build: [gcc-12, g++-12]\nrun: [libgomp1]\n")
    with pytest.raises(UserError, match=r"not installed: g\+\+-12 libgomp1\n") as caught:
        installed_packages(toolchain)
    said = str(caught.value)
    assert f"{toolchain.manifest}: Debian packages" in said
    assert f"python -m parity install --toolchain {toolchain.folder}" in said
    assert "apt-get install --no-install-recommends g++-12 libgomp1" in said


@pytest.mark.parametrize(
    "text",
    ["build: [gcc-12]\n", "build: ['gcc 12']\nrun: []\n", "build: [$(id)]\nrun: []\n"],
    ids=["a key missing", "a blank", "for a shell"],
)
def test_a_wrong_list_of_packages_is_refused(toolchain: Toolchain, text: str) -> None:
    toolchain.debian.write_text(text)
    with pytest.raises(UserError, match=r"."):
        installed_packages(toolchain)
    # The rules are read before anything can be refused.
    assert packages_now(toolchain) == []


def test_the_lock_says_what_is_built_and_what_is_debian_s(toolchain: Toolchain) -> None:
    rows = {row.name: row for row in specs_of(toolchain.lock)}
    assert {name for name, row in rows.items() if row.root} == {"hpcc", "netpipe"}
    assert {row.target for row in rows.values()} == {"x86_64_v3"}
    assert rows["openmpi"].external == "/usr" and not rows["netpipe"].external
    assert set(compilers_of(toolchain.manifest)) == {"cc", "cxx", "f77", "fc"}


def test_another_spack_s_version_in_the_lock_is_no_other_package(toolchain: Toolchain) -> None:
    before = packages_of(toolchain.lock)
    text = toolchain.lock.read_text()
    assert '"0.22.1"' in text
    toolchain.lock.write_text(text.replace('"0.22.1"', '"0.23.0"'))
    assert packages_of(toolchain.lock) == before


def test_the_lock_holds_no_place_of_the_machine_that_made_it(toolchain: Toolchain) -> None:
    places = [
        spec["external"]["path"]
        for spec in read_json(toolchain.lock)["concrete_specs"].values()
        if "external" in spec
    ]
    assert set(places) == {"/usr"}


@pytest.mark.parametrize("repository", ["/nowhere/spack.git", "file:///nowhere/spack.git"])
def test_without_spack_one_message_says_how_to_get_it(tmp_path: Path, repository: str) -> None:
    with pytest.raises(UserError, match="there is no Spack here") as caught:
        find_spack(_site(tmp_path, repository), composed_toolchain(), tmp_path / "log")
    said = str(caught.value)
    assert "spack.repository" in said and "git clone" in said and "provider: system" in said


def test_a_folder_without_spack_is_not_taken_for_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no bin/spack"):
        find_spack(_site(tmp_path, tmp_path), composed_toolchain(), tmp_path / "log")


def test_a_prefix_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "prefix").write_text("a file")
    with pytest.raises(UserError, match="cannot be made") as caught:
        find_spack(_site(tmp_path, "/nowhere"), composed_toolchain(), tmp_path / "log")
    assert "spack.prefix" in str(caught.value)


def test_a_prefix_where_no_benchmark_looks_is_refused() -> None:
    with pytest.raises(UserError, match="looked for in /opt/parity") as caught:
        check_prefix({"prefix": "/srv/parity"})
    assert "spack.prefix" in str(caught.value)
    check_prefix({"prefix": "/opt/parity"})


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"roots": [], "concrete_specs": {"a": {}}}', '{"roots": [{}]}']
)
def test_a_lock_that_spack_did_not_write_is_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spack.lock"
    path.write_text(text)
    for read in (packages_of, specs_of):
        with pytest.raises(UserError, match=r"spack\.lock"):
            read(path)


@pytest.mark.parametrize(
    "text", ["[]", "spack: []", "spack: {packages: []}", "spack: {packages: {a: 1}}"]
)
def test_an_environment_that_is_none_is_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spack.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"spack\.yaml"):
        compilers_of(path)
    with pytest.raises(UserError, match="no environment that was composed here"):
        read_builds(path)
