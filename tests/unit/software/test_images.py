"""Digests, the chain of image records, and what is refused before anything is built."""

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

from parity.command_line.main import main
from parity.core import files
from parity.core.commands import Availability, answer_of, output_of
from parity.core.documents import write_document
from parity.core.errors import UserError
from parity.records.schema import IMAGES
from parity.runtimes.model import manifest_digest
from parity.software import build, debian_packages, images, install
from parity.software.build import Context, recipe_of
from parity.software.images import ImageRecord, config_digest

NONE = ImageRecord("directory")


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


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "bin/program").write_bytes(b"\x7fELG"),
        lambda root: (root / "bin/program").chmod(0o4755),
        lambda root: (root / "bin").chmod(0o700),
        lambda root: (root / "empty").rmdir(),
        lambda root: (root / "bin/program").rename(root / "bin/other"),
        lambda root: (root / "new").touch(),
        lambda root: ((root / "bin/link").unlink(), (root / "bin/link").symlink_to("other")),
        lambda root: ((root / "bin/link").unlink(), (root / "bin/link").write_text("program")),
    ],
    ids=["byte", "mode", "folder-mode", "gone", "renamed", "new", "link", "link-to-file"],
)
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
    parts = (
        *({}, {"made_from": "FROM b"}, {"stage": "spack"}),
        *({"arguments": {"A": "2"}}, {"arguments": {"A": "1", "B": "1"}}),
    )
    recipes = {recipe_of(context(**part), "sha256:1") for part in parts}
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


def test_records_have_the_table_s_columns():
    columns = {column.name for column in IMAGES.columns} - {"campaign"}
    assert set(ImageRecord.__struct_fields__) == columns | {"location", "recipe"}


def layout(folder):
    """A minimal OCI image layout; returns the digests of manifest and configuration."""

    def blob(value):
        data = json.dumps(value).encode()
        digest = hashlib.sha256(data).hexdigest()
        (folder / "blobs/sha256" / digest).write_bytes(data)
        return f"sha256:{digest}"

    (folder / "blobs/sha256").mkdir(parents=True)
    config = blob({"rootfs": {"type": "layers", "diff_ids": ["sha256:base", "sha256:top"]}})
    manifest = blob({"config": {"digest": config}})
    (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": manifest}]}))
    return manifest, config


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
    manifest, config = layout(folder := tmp_path / "oci")
    assert (manifest_digest(folder), config_digest(folder)) == (manifest, config)
    assert images.image_configuration(folder)["rootfs"]["diff_ids"] == ["sha256:base", "sha256:top"]
    return ImageRecord("oci", manifest, location=str(folder), recipe="r")


@pytest.fixture
def made(tmp_path, oci):
    """Makes an arm's format of the image."""
    log = tmp_path / "log"
    return lambda arm, name="x": build.make_format(arm, oci, NONE, tmp_path / name, log)


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


def test_a_program_that_hangs_up_its_group_on_a_full_disk_is_told_and_nobody_else_ends() -> None:
    words = "echo 'tar: x: Cannot write: No space left on device' >&2; kill -HUP 0"
    with pytest.raises(
        UserError, match=r"^the file system is full\nthis command failed with status -1"
    ):
        output_of(["/bin/sh", "-c", words])


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


def test_packages_are_wanted_and_missing_by_what_wants_them():
    wanted = {"arm a": ("x", "y"), "arm b": ("y",), "paper": ("z",)}
    assert install.missing_packages(wanted, frozenset({"y", "z"})) == {"arm a": ["x"]}
    wanted = install.wanted_packages()
    assert "podman" in wanted["arm podman"] and "sysbench" in wanted["benchmark sysbench"]
    assert {"umoci", "skopeo", "mmdebstrap"} <= set(wanted["images"])
    # Compilers are wanted with own sources, and with a toolchain only where one is named.
    assert set(wanted["benchmark selfish"]) == {"gcc", "libc6-dev"}
    assert {"gcc", "libopenmpi-dev"} <= set(wanted["benchmark steps"])
    assert "gcc" not in wanted["benchmark sysbench"] and "toolchain debian12" not in wanted
    named = install.wanted_packages("debian12")["toolchain debian12"]
    assert {"gcc-12", "openmpi-bin"} <= set(named)


def test_one_failed_install_does_not_stop_the_others_and_an_unknown_toolchain_has_none(
    monkeypatch, capsys
):
    asked = []

    def apt(argv, **_):
        asked.append([word for word in argv if word in ("good", "bad")])
        if "bad" in asked[-1]:
            raise UserError("no package bad")
        return ""

    monkeypatch.setattr(install, "output_of", apt)
    failures = install._install_packages({"arm a": ["bad"], "arm b": ["good"]})
    assert failures == {"arm a": "no package bad"}
    assert asked[-2:] == [["bad"], ["good"]]
    monkeypatch.setattr(install, "install_as_root", lambda _wanted: pytest.fail("installed"))
    with pytest.raises(SystemExit):
        main(["install", "--toolchain", "debian99"])
    assert "unknown toolchain" in capsys.readouterr().err


def test_a_user_gets_one_command_and_outdated_is_what_the_benchmarks_depend_on(monkeypatch, capsys):
    monkeypatch.setattr(install, "installed_packages", frozenset)
    install.advise_user({"arm a": ("x",), "paper": ("x", "y")})
    assert "sudo apt-get install --no-install-recommends x y\n" in capsys.readouterr().out
    answers = {
        "apt-cache": "sysbench\n  Depends: libssl3\nlibssl3\n<virtual>\n",
        "apt-get": "Inst libssl3 [1] (2 Debian)\nInst postgresql [1] (2 Debian)\nConf libssl3\n",
    }
    monkeypatch.setattr(install, "output_of", lambda argv, **_: answers[argv[0]])
    monkeypatch.setattr(install, "installed_packages", lambda: frozenset({"sysbench"}))
    monkeypatch.setattr(install, "is_installed", lambda _program: True)
    assert install.outdated_libraries() == ["libssl3"]


def test_libraries_are_only_named_unless_asked_for(monkeypatch, capsys, tmp_path):
    asked = []
    for name in ("base.json", "oci.json", "images.json", "base.tar"):
        (tmp_path / name).touch()
    monkeypatch.setattr(install, "image_folders", lambda: [tmp_path])
    monkeypatch.setattr(install, "outdated_libraries", lambda: ["libssl3"])
    monkeypatch.setattr(install, "output_of", lambda argv, **_: asked.append(argv))
    install.level_libraries(upgrade=False)
    assert not asked and (tmp_path / "images.json").exists()
    assert "--only-upgrade libssl3" in capsys.readouterr().out
    install.level_libraries(upgrade=True)
    assert asked[0][-1] == "libssl3"
    # What is made of them is made anew, and nothing of the machine's own images is touched.
    assert [path.name for path in tmp_path.iterdir()] == ["base.tar"]


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
