"""Runtimes that no engine is needed for, or that sites have: exact command lines and documents."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from parity.runtimes import arms, sites, udocker
from parity.runtimes.model import SCRATCH, Image, Launch

INNER = ["/bin/echo", "a b", "$HOME", ""]
TREE = Path("/opt/tree")
ADAPTERS = ("cscs-engine", "enroot", "podman-hpc", "pyxis", "sarus", "shifter")


def command(name, state, location="/images/one"):
    """The words of an arm before those of the program, which must be the last."""
    arm = arms()[name]
    image = Image(arm.image_format, location, f"sha256:{'1' * 64}")
    launch = Launch("campaign-b0001.sysbench", image, SCRATCH, state, host="n1", binds=(TREE,))
    argv = arm.command(launch, INNER)
    assert argv[-len(INNER) :] == INNER
    return argv[: -len(INNER)]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Puts a program on PATH that writes its words into a file, then does what it is told."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    def make(name, *lines):
        program = tmp_path / "bin" / name
        saves = f'printf "%s\\n" "{name} $*" >> "{tmp_path}/said"'
        program.write_text("\n".join(["#!/bin/sh", saves, *lines]) + "\n")
        program.chmod(0o755)
        return tmp_path / "said"

    return make


@pytest.mark.parametrize(("proot", "asked", "reason"), [
    ("exit 0", "echo version: 1.3.17", ""),
    ("exit 1", "echo version: 1.3.17", "PRoot cannot trace programs here"),
    ("exit 0", "exit 1", "not installed"),
    ("", "echo version: 1.3.17", "not installed"),
])  # fmt: skip
def test_udocker_is_there_where_proot_can_trace(proot, asked, reason, fake, monkeypatch):
    if proot:
        fake("proot", proot)
    monkeypatch.setattr(udocker, "_PROOT", "proot" if proot else "no-proot")
    monkeypatch.setattr(udocker, "_words", lambda _store: ["sh", "-c", asked])
    found = arms()["udocker"].probe()
    assert found.reason == reason and found.available == (not reason)
    assert found.version == ("udocker 1.3.17" if found.available else "")


def test_runc_starts_the_words_of_its_own_rank(tmp_path, fake):
    said = fake("runc")
    assert subprocess.run([*command("runc", tmp_path), *INNER]).returncode == 0
    bundle = tmp_path / "campaign-b0001.sysbench"
    run = f"run --bundle={bundle} campaign-b0001.sysbench"
    assert said.read_text() == f"runc --root={tmp_path}/runc {run}\n"
    config = json.loads((bundle / "config.json").read_text())
    assert config["process"]["args"] == INNER


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The configuration of Shifter's gateway."""
    (file := tmp_path / "udiRoot.conf").write_text(
        "# gateway\nsystem=mycluster\nimageGateway=http://gateway:5000\n"
    )
    monkeypatch.setattr(sites, "CONFIGURATION", file)


def layout(clone: Path, digest: str) -> Path:
    """As much of an OCI image layout as names its image."""
    (clone / "oci").mkdir(parents=True, exist_ok=True)
    index = {"manifests": [{"digest": f"sha256:{digest}"}]}
    (clone / "oci/index.json").write_text(json.dumps(index))
    return clone / "oci"


@pytest.mark.parametrize("name", ["docker", "podman", "podman-hpc", "sarus", "shifter"])
@pytest.mark.usefixtures("site")
def test_clones_that_build_one_study_leave_each_other_s_images_in_a_store(name, tmp_path, fake):
    """The stores belong to the node: a tag that both use would be the image of the last build."""
    programs = ("skopeo", "docker", "podman", "podman-hpc", "sarus", "mksquashfs", "munge", "curl")
    for program in (*programs, "shifterimg"):
        fake(program, "echo sha256:22")

    def names_given(clone: str, digest: str) -> set[str]:
        (tmp_path / "said").write_text("")
        oci = layout(tmp_path / clone, digest)
        location = arms()[name].convert(oci, tmp_path / "root", tmp_path / clone / "image")
        said = f"{(tmp_path / 'said').read_text()} {location}".replace(f"{oci}:parity", "")
        return set(re.findall(r"\bparity:\w+", said))

    first, second = names_given("first", "a" * 64), names_given("second", "b" * 64)
    assert (first, second) == ({f"parity:{'a' * 16}"}, {f"parity:{'b' * 16}"})
    # The same image has the same name in both.
    assert names_given("second", "a" * 64) == first


def test_the_engine_of_cscs_gets_an_environment_of_its_own(tmp_path):
    command("cscs-engine", tmp_path, '/images/"one"')
    assert tomllib.loads((tmp_path / "environment.toml").read_text()) == {
        "image": '/images/"one"',
        "mounts": ["/tmp/parity:/tmp/parity", "/etc/hosts:/etc/hosts:ro", "/opt/tree:/opt/tree:ro"],
        "writable": False,
        "entrypoint": False,
    }


@pytest.mark.parametrize("name", ["pyxis", "cscs-engine"])
def test_a_plugin_is_there_where_srun_knows_its_option(name, fake):
    option = arms()[name].option
    fake("srun", "echo 'fatal: no configuration source' >&2; exit 1")
    assert arms()[name].probe().reason == "no Slurm answers"
    fake("srun", "echo 'Usage: srun'")
    assert arms()[name].probe().reason == f"srun knows no {option}"
    fake("srun", f"echo 'Usage: srun'; echo '  {option}=…'")
    assert arms()[name].probe().available


def test_what_sarus_loads(tmp_path, fake):
    said, sarus = fake("skopeo"), arms()["sarus"]
    fake(
        "sarus",
        "echo 'REPOSITORY           TAG               IMAGE ID      CREATED     SIZE     SERVER'",
        "echo 'load/library/parity  abababababababab  2fe79f06fa6d  2018-01-31  47.04MB  load'",
    )
    location = sarus.convert(layout(tmp_path, "ab" * 32), tmp_path / "root", tmp_path / "image")
    copy, load = said.read_text().splitlines()
    assert copy.startswith(f"skopeo copy oci:{tmp_path}/oci:parity docker-archive:{tmp_path}/")
    assert load.startswith(f"sarus load --temp-dir={tmp_path}/")
    assert (sarus.digest(location), sarus.size(location)) == ("sha256:2fe79f06fa6d", 47_040_000)
    assert sarus.digest("load/library/another:study") == ""


def test_what_shifter_imports(tmp_path, fake, site):
    said, shifter = fake("mksquashfs"), arms()["shifter"]
    for name, line in (("munge", "echo MUNGE:x:"), ("curl", ":"), ("shifterimg", "echo 0a1b")):
        fake(name, line)
    location = shifter.convert(layout(tmp_path, "ab" * 32), tmp_path / "root", tmp_path / "image")
    assert said.read_text().splitlines() == [
        f"mksquashfs {tmp_path}/root {tmp_path}/image -noappend -no-progress -no-xattrs",
        "munge -n",
        f'curl --fail --data={{"filepath": "{tmp_path}/image", "format": "squashfs"}} '
        "--header=authentication: MUNGE:x: "
        "http://gateway:5000/api/doimport/mycluster/custom/parity:abababababababab/",
        "shifterimg lookup custom:parity:abababababababab",
    ]
    assert shifter.digest(location) == "fasthash:0a1b"


def test_what_podman_hpc_loads_and_moves(tmp_path, fake):
    said, arm = fake("skopeo"), arms()["podman-hpc"]
    fake("podman-hpc", "echo sha256:22")
    location = arm.convert(layout(tmp_path, "ab" * 32), tmp_path / "root", tmp_path / "image")
    asked = [line.split()[1] for line in said.read_text().splitlines()]
    assert (location, asked) == ("sha256:22", ["copy", "load", "migrate", "image"])
    assert arm.digest(location) == "sha256:22"


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_not_available_where_its_program_is_not(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    presence = arms()[name].probe()
    assert not presence.available and presence.reason and presence.remedy
