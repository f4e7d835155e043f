"""Digests, the chain of records, what a study needs of an image, and what cannot be made."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from parity.benchmarks import benchmarks
from parity.core import files
from parity.core.commands import Availability, answer_of, output_of
from parity.core.documents import write_document
from parity.core.errors import UserError
from parity.runtimes import every_arm
from parity.runtimes.model import manifest_digest
from parity.software import build, debian_packages, images, install
from parity.software.build import Context, recipe_of
from parity.software.images import ImageRecord, NeededImage, config_digest, needed_image
from parity.software.native import read_native


@pytest.fixture(autouse=True)
def no_cache_of_the_user(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "bin").mkdir(parents=True)
    (root / "bin/program").write_bytes(b"\x7fELF")
    (root / "bin/program").chmod(0o755)
    (root / "bin/link").symlink_to("program")
    (root / "empty").mkdir()
    return root


def test_a_digest_does_not_depend_on_place_or_time(tree, tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert files.digest(tmp_path / "file") == f"sha256:{hashlib.sha256(b'abc').hexdigest()}"
    before = files.digest(tree)
    os.utime(tree / "bin/program", (1, 1))
    assert files.digest(tree.rename(tmp_path / "elsewhere")) == before


CHANGES = {
    "byte": lambda root: (root / "bin/program").write_bytes(b"\x7fELG"),
    "mode": lambda root: (root / "bin/program").chmod(0o4755),
    "folder-mode": lambda root: (root / "bin").chmod(0o700),
    "gone": lambda root: (root / "empty").rmdir(),
    "renamed": lambda root: (root / "bin/program").rename(root / "bin/other"),
    "new": lambda root: (root / "new").touch(),
    "link": lambda root: ((link := root / "bin/link").unlink(), link.symlink_to("other")),
    "link-to-file": lambda root: ((link := root / "bin/link").unlink(), link.write_text("program")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_tree_digest_sees_every_change(tree, change):
    before = files.digest(tree)
    change(tree)
    assert files.digest(tree) != before


def test_a_link_out_of_the_tree_is_not_followed_and_a_linked_file_counts_once(tree, tmp_path):
    (outside := tmp_path / "outside").mkdir()
    (tree / "out").symlink_to(outside)
    (tree / "bin/program").write_bytes(b"x" * 100_000)
    before, size = files.digest(tree), files.size_on_disk(tree)
    (outside / "file").touch()
    assert files.digest(tree) == before
    (tree / "bin/again").hardlink_to(tree / "bin/program")
    assert files.size_on_disk(tree) == size >= 100_000


def test_a_tree_is_read_in_the_order_of_sorted_paths(tmp_path):
    for name in ("a/b", "a-b", "a.b", "a/b.c/d", "A", "ä/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).is_dir() or (tmp_path / name).touch()
    names = [line.split(b"\0")[0].decode() for line in files._manifest_lines(tmp_path)]
    assert names == [".", *(str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*")))]


def context(**changes):
    facts = {"folder": Path("c"), "stage": "system", "arguments": {"A": "1"}, "made_from": "FROM"}
    return Context(**facts | changes)


def test_the_recipe_changes_with_each_of_its_parts():
    changes = [{}, {"made_from": "FROM b"}, {"stage": "spack"}]
    changes += [{"arguments": {"A": "2"}}, {"arguments": {"A": "1", "B": "1"}}]
    recipes = {recipe_of(context(**change), "sha256:1") for change in changes}
    recipes.add(recipe_of(context(), "sha256:2"))
    assert len(recipes) == 6
    assert recipe_of(context(folder=Path("elsewhere")), "sha256:1") in recipes


def test_sources_are_apts_own_of_this_release_only(monkeypatch):
    lines = [
        *["Debian\tbookworm\thttp://mirror.example/debian/\tmain"] * 2,
        "Debian\tbookworm-security\thttp://mirror.example/security/\tmain",
        "Debian\tsid\thttp://mirror.example/debian/\tmain",
        "Somebody\tbookworm\thttp://other.example/\tmain",
        "$(ORIGIN)\t$(RELEASE)\thttp://unfetched.example/\tmain",
    ]
    monkeypatch.setattr(debian_packages, "is_installed", lambda _program: True)
    monkeypatch.setattr(debian_packages, "output_of", lambda _argv: "\n".join(lines))
    assert debian_packages.debian_sources("bookworm") == [
        "deb http://mirror.example/debian/ bookworm main",
        "deb http://mirror.example/security/ bookworm-security main",
    ]


def test_a_base_by_digest_is_taken_and_without_a_builder_every_record_says_so(
    monkeypatch, tmp_path
):
    reference = f"docker.io/library/debian@sha256:{'a' * 64}"
    record = build.base_image(reference, tmp_path / "base.tar", tmp_path / "log")
    assert (record.digest, record.location) == (f"sha256:{'a' * 64}", reference)
    assert images.line_of(record).startswith("base")
    monkeypatch.setattr(build, "is_installed", lambda _program: True)
    monkeypatch.setattr(build, "answer_of", lambda _argv: (False, ""))
    base = ImageRecord("base", digest="sha256:1", location="/base.tar")
    record = build.build_image(base, context(), tmp_path / "oci", tmp_path / "l")
    directory = build.unpack_image(record, tmp_path / "d", rootless=True, log=tmp_path / "l")
    squashed = build.make_format(arm(), record, directory, tmp_path / "x", tmp_path / "l")
    reasons = {record.reason, directory.reason, squashed.reason}
    assert reasons == {"no image builder: docker, podman or buildah"}


def arm(convert=None, reason="", digest=None, image_format="squashfs"):
    def write(_oci, _rootfs, destination):
        destination.write_text("image")
        return str(destination)

    return SimpleNamespace(
        image_format=image_format, made_from="oci", converter=("echo", "tool 1"),
        probe=lambda: Availability(not reason, reason=reason), convert=convert or write,
        digest=digest or (lambda location: files.digest(Path(location))), size=lambda location: 5,
    )  # fmt: skip


@pytest.fixture
def oci(tmp_path):
    """The record of a minimal OCI image layout."""
    (blobs := tmp_path / "oci/blobs/sha256").mkdir(parents=True)

    def blob(value):
        data = json.dumps(value).encode()
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return f"sha256:{digest}"

    system = {"type": "layers", "diff_ids": ["sha256:base", "sha256:top"]}
    manifest = blob({"config": {"digest": (config := blob({"rootfs": system}))}})
    index = {"manifests": [{"digest": manifest}]}
    (folder := tmp_path / "oci").joinpath("index.json").write_text(json.dumps(index))
    assert (manifest_digest(folder), config_digest(folder)) == (manifest, config)
    assert images.image_configuration(folder)["rootfs"] == system
    return ImageRecord("oci", manifest, location=str(folder), recipe="r")


@pytest.fixture
def made(tmp_path, oci):
    """Makes an arm's format of the image."""
    log, none = tmp_path / "log", ImageRecord("directory")
    return lambda arm, name="x": build.make_format(arm, oci, none, tmp_path / name, log)


def test_a_format_is_published_whole_and_a_failed_one_leaves_the_older(tmp_path, oci, made, capsys):
    def fails(_oci, _rootfs, destination):
        destination.write_text("half")
        raise UserError("disk full\nwith much to say")

    (final := tmp_path / "image.squashfs").write_text("an older one")
    failed = made(arm(fails), final.name)
    assert (failed.format, failed.reason) == ("squashfs", "making it failed: disk full")
    assert "much to say" in (tmp_path / "log").read_text()
    assert "squashfs could not be made" in capsys.readouterr().out
    assert final.read_text() == "an older one"
    record = made(arm(), final.name)
    assert final.read_text() == "image" and record.digest == files.digest(final)
    assert (record.parent, record.parent_digest, record.recipe) == ("oci", oci.digest, "r")
    assert not list(tmp_path.glob(".*"))


def test_an_absent_runtime_is_a_reason_and_a_store_must_hold_that_very_image(oci, made):
    record = made(arm(reason="not installed"))
    assert (record.reason, record.digest, record.location) == ("not installed", "", "")

    def stored(identity):
        return made(arm(lambda *_: identity, "", lambda location: location, "docker"))

    same, other = config_digest(Path(oci.location)), f"sha256:{'0' * 64}"
    assert stored(same).digest == same
    assert f"{other}, expected {same}" in stored(other).reason


def test_a_program_that_fails_or_hangs_or_is_not_there():
    with pytest.raises(UserError, match=r"status 3(.|\n)*seen(.|\n)*heard"):
        output_of(["/bin/sh", "-c", "echo seen; echo heard >&2; exit 3"])
    with pytest.raises(UserError, match="not installed"):
        output_of(["no-such-program"])
    assert not answer_of(["no-such-program"])[0]
    assert not answer_of(["sleep", "5"], seconds=0.1)[0]
    # An engine may warn before it answers, and some say their version as others say errors.
    for words, answer in (
        ("echo level=warning >&2; echo 5ha256", (True, "5ha256")),
        ("echo version >&2", (True, "version")),
        ("echo seen; echo heard >&2; exit 3", (False, "heard")),
    ):
        assert answer_of(["/bin/sh", "-c", words]) == answer
    # One that hangs up its group on a full disk is told, and nobody else ends.
    words = "echo 'tar: x: Cannot write: No space left on device' >&2; kill -HUP 0"
    full = r"^the file system is full\nthis command failed with status -1"
    with pytest.raises(UserError, match=full):
        output_of(["/bin/sh", "-c", words])
    # Programs in Go say it with a small letter.
    with pytest.raises(UserError, match=full.replace("-1", "1")):
        output_of(["/bin/sh", "-c", "echo 'write /x: no space left on device' >&2; exit 1"])


# An interrupt may come when the program runs, and we have not heard yet that it does.
WITHIN = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
class Interrupted(subprocess.Popen):
    def _execute_child(self, *given):
        super()._execute_child(*given)
        while not os.path.exists({1!r}):
            pass
        os.kill(os.getpid(), signal.{0})
subprocess.Popen = Interrupted
output_of({2!r})
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_program_that_we_were_about_to_start_ends_when_we_are_interrupted(tmp_path, name) -> None:
    told = tmp_path / "told"
    words = ["/bin/sh", "-c", f"echo $$ > {told}.part; mv {told}.part {told}; sleep 600"]
    program = "from parity.core.commands import output_of\n" + WITHIN.format(name, str(told), words)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode
    assert not psutil.pid_exists(int(told.read_text()))


def test_a_program_ends_with_what_it_started_when_we_are_interrupted(tmp_path: Path) -> None:
    child = tmp_path / "child"
    words = ["/bin/sh", "-c", f"sleep 600 & echo $! > {child}.part; mv {child}.part {child}; wait"]
    program = f"from parity.core.commands import output_of\noutput_of({words!r})"
    caller = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    while not child.exists():
        assert caller.poll() is None
        time.sleep(0.01)
    caller.send_signal(signal.SIGINT)
    assert caller.wait(60)
    left = int(child.read_text())
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE


def test_what_could_not_be_made_is_tried_again(tmp_path):
    write_document(tmp_path / "sif.json", ImageRecord("sif", reason="not installed"))
    write_document(tmp_path / "oci.json", ImageRecord("oci", digest="sha256:1"))
    (tmp_path / "images.json").write_text("{}")
    assert images.forget_failures(tmp_path) == ["sif"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["images.json", "oci.json"]


def test_a_build_does_not_see_our_environment(tmp_path: Path, monkeypatch) -> None:
    """A site's tokens were handed to every program that a build runs."""
    seen, program = tmp_path / "seen", tmp_path / "mmdebstrap"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\nenv > {seen}; touch "$4"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SITE_TOKEN", "secret")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setattr(build, "debian_sources", lambda _suite: ["deb http://mirror x main"])
    record = build.base_image("bootstrap", tmp_path / "base.tar", tmp_path / "log")
    assert record.digest and not record.reason
    text = seen.read_text()
    assert "https_proxy=http://proxy:1" in text and "SOURCE_DATE_EPOCH=" in text
    assert "SITE_TOKEN" not in text
    ask = ["/bin/sh", "-c", 'echo "$SITE_TOKEN/$MORE"']
    assert output_of(ask, environment={"MORE": "1"}) == "secret/1\n"
    assert output_of(ask, environment={"MORE": "1"}, inherited=("PATH",)) == "/1\n"


def needs(names: str, *chosen: str, base: str = "bootstrap", foreign: str = "") -> NeededImage:
    used = [benchmarks()[name] for name in names.split()]
    return needed_image(base, used, [every_arm()[name] for name in chosen], foreign)


@pytest.mark.parametrize(("names", "chain"), [
    ("native-a ladder-net", ()),
    ("podman podman-shared", ("base", "oci", "podman")),
    ("docker", ("base", "oci", "docker")),
    ("apptainer apptainer-host-mpi", ("base", "oci", "sif")),
    ("lxc charliecloud-dir", ("base", "oci", "directory")),
    ("charliecloud-sqfs ladder-squashfs", ("base", "oci", "directory", "squashfs")),
])  # fmt: skip
def test_each_arm_needs_its_own_format_and_what_that_is_made_from(names, chain):
    assert {needs("sysbench", name).chain for name in names.split()} == {chain}


def test_studies_of_the_same_packages_and_base_share_an_image_and_each_has_its_records():
    one, same = needs("likwid", "podman"), needs("memory likwid", "docker", "podman")
    assert one.image_in("r") == same.image_in("r") == "r/bootstrap/likwid"
    assert one.records_in("r") == "r/bootstrap/likwid/records-podman"
    assert same.records_in("r") == "r/bootstrap/likwid/records-docker-podman"
    debian = f"docker.io/library/debian@sha256:{'12' * 32}"
    assert needs("likwid", "podman", base=debian).image_in("r") == "r/121212121212/likwid"
    # Programs with own sources have them in their image.
    selfish = needs("likwid selfish", "podman")
    assert (selfish.sources, selfish.packages) == (("selfish.c",), one.packages)
    assert selfish.image_in("r") == "r/bootstrap/likwid_selfish.c"
    # Without packages or without containers there is a place all the same.
    assert needs("hpcg", "podman").image_in("r") == "r/bootstrap/no-packages"
    assert needs("hpcg", "native-a").records_in("r") == "r/no-image"
    # A foreign image has a place and a chain of its own.
    foreign = needs("sysbench", "chroot-a", "podman", foreign="app.sif")
    assert (foreign.packages, foreign.chain) == ((), ("foreign", "oci", "directory", "podman"))
    digest = hashlib.sha256(b"app.sif").hexdigest()[:12]
    assert foreign.image_in("r") == f"r/foreign-{digest}"
    assert foreign.records_in("r") == f"r/foreign-{digest}/records-directory-podman"


def test_the_installation_finds_all_records_and_nothing_of_the_images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    needed, expected = needs("likwid", "podman", "lxc"), []
    for root in (install.ROOT, "results/spack/debian12/images"):
        image, base, records = needed.image_in(root), needed.base_in(root), needed.records_in(root)
        of_images = (f"{image}/oci/index.json", f"{image}/directory/etc/oci.json")
        of_records = (f"{base}/base.json", f"{image}/oci.json", f"{records}/images.json")
        for name in (*of_images, *of_records):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        expected += [base, image, records]
    assert sorted(map(str, install.image_folders())) == sorted(expected)


ARCHIVE = Path(__file__).parents[3] / "results/archive"
RECORD = ImageRecord("sif", digest="sha256:1", parent="oci", location="/images/a.sif", bytes=3)


@pytest.mark.parametrize("path", sorted(ARCHIVE.glob("*/images.json")), ids=lambda p: p.parent.name)
def test_the_archived_images_are_read(path: Path) -> None:
    records, plain = images.read_images(path), json.loads(path.read_text())
    # The oldest hold nothing but the formats.
    plain = plain.get("formats", plain)
    expected = {name: record["digest"] for name, record in plain.items()}
    assert {name: record.digest for name, record in records.items()} == expected
    assert {record.location for record in records.values()} == {""}


@pytest.mark.parametrize("path", sorted(ARCHIVE.glob("*/native.json")), ids=lambda p: p.parent.name)
def test_the_archived_native_builds_are_read(path: Path) -> None:
    native, plain = read_native(path), json.loads(path.read_text())
    assert native.programs == {
        f"{plain['view']}/{row['path']}": row["sha256"] for row in plain["binaries"]
    }
    assert [package.hash for package in native.specs] == [row["hash"] for row in plain["specs"]]


def test_what_is_written_is_read_and_not_under_another_s_name(tmp_path: Path) -> None:
    path = tmp_path / "images.json"
    images.write_images(path, {"sif": RECORD})
    assert images.read_images(path) == {"sif": RECORD}
    assert json.loads(path.read_text())["version"] == 2
    assert images.without_location({"sif": RECORD})["sif"].location == ""
    images.write_images(path, {"oci": RECORD})
    with pytest.raises(UserError, match="record of oci is another one"):
        images.read_images(path)
