"""An image that somebody else made is found by what it is, and given no more than it needs."""

import hashlib
import json
import shutil
import stat
import subprocess
import tarfile
from functools import partial
from pathlib import Path

import pytest

from parity.core.errors import UserError
from parity.software import foreign_image
from parity.software.foreign_image import find_foreign, foreign_files, take_foreign
from parity.software.images import image_configuration

DIGEST = f"sha256:{'1a' * 32}"


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """As much of an OCI layout as names its image."""
    (folder := tmp_path / "app").mkdir()
    (folder / "oci-layout").write_text("{}")
    (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": DIGEST}]}))
    return folder


def test_an_image_is_known_by_what_it_holds(tmp_path: Path, app: Path) -> None:
    foreign = find_foreign(str(app))
    assert (foreign.digest, foreign.source) == (DIGEST, f"oci:{app}")
    assert foreign_files(str(app)) == [f"{app}/index.json"]
    (app / "index.json").write_text('{"manifests": [{}, {}]}')
    with pytest.raises(UserError, match="does not hold one image"):
        find_foreign(str(app))
    for name, kind in (("manifest.json", "docker-archive"), ("oci-layout", "oci-archive")):
        with tarfile.open(path := tmp_path / f"{kind}.tar", "w") as file:
            file.add(app / "index.json", name)
        foreign = find_foreign(str(path))
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        assert (foreign.source, foreign.digest) == (f"{kind}:{path}", f"sha256:{sha256}")
        assert foreign_files(str(path)) == [str(path)]
    sif = tmp_path / "app.sif"
    sif.write_bytes(b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\0" + bytes(64))
    assert find_foreign(str(sif)).source == ""


@pytest.mark.parametrize(("program", "answers", "source"), [
    ("docker", {f"app@{DIGEST}": "sha256:5d"}, "docker-daemon:sha256:5d"),
    ("docker", {DIGEST: DIGEST}, f"docker-daemon:{DIGEST}"),
    ("podman", {f"app@{DIGEST}": "5d"}, "containers-storage:@5d"),
])  # fmt: skip
def test_a_store_s_image_is_named_by_digest(monkeypatch, program, answers, source) -> None:
    def answer(words: list[str], **_given: int) -> tuple[bool, str]:
        return words[0] == program and words[-1] in answers, answers.get(words[-1], "")

    monkeypatch.setattr(foreign_image, "answer_of", answer)
    found = find_foreign(f"app@{DIGEST}")
    assert (found.digest, found.source) == (DIGEST, source)
    assert foreign_files(f"app@{DIGEST}") == []
    with pytest.raises(UserError, match="no store on this machine has other"):
        find_foreign(f"other@sha256:{'2b' * 32}")


def test_a_tag_is_what_a_store_calls_it_today_and_a_study_takes_the_digest(monkeypatch) -> None:
    asked = {("podman", "host:50/app:1.2"): DIGEST, ("docker", "h:50/app"): DIGEST[7:]}

    def answer(words: list[str], **_given: int) -> tuple[bool, str]:
        return (words[0], words[-1]) in asked, asked.get((words[0], words[-1]), "")

    monkeypatch.setattr(foreign_image, "answer_of", answer)
    assert foreign_image.with_digest("host:50/app:1.2") == f"host:50/app@{DIGEST}"
    assert foreign_image.with_digest("h:50/app") == f"h:50/app@{DIGEST}"
    for same in ("other:1", f"app@{DIGEST}", "/tmp"):
        assert foreign_image.with_digest(same) == same
    with pytest.raises(UserError, match="no image h:50/app") as refused:
        foreign_image.refuse_no_image("h:50/app", "image.from")
    assert refused.value.action.endswith(f"h:50/app@{DIGEST}")


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "in.dat"
    text.write_text("1 2 3")
    for reference in (str(text), str(tmp_path), str(tmp_path / "none"), "app:latest"):
        with pytest.raises(UserError, match="no image") as caught:
            find_foreign(reference)
        assert "a SIF file" in caught.value.allowed


def test_of_another_architecture_it_is_refused(tmp_path: Path, app: Path, monkeypatch) -> None:
    (hosts := tmp_path / "hosts").touch()
    monkeypatch.setattr(foreign_image, "output_of", lambda *_words, **_: "")
    monkeypatch.setattr(foreign_image, "image_configuration", lambda _: {"architecture": "s390x"})
    with pytest.raises(UserError, match="an image for s390x, and this machine is"):
        take_foreign(str(app), hosts, tmp_path / "oci", tmp_path / "log")


def test_the_thin_layer_adds_what_is_missing_and_changes_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text("root:x:0:0")
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (root / "etc/hosts").symlink_to(outside)
    foreign_image._add(root, "127.0.0.1 localhost\n", "5d")
    added = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    names = ("group", "hosts", "parity-image", "passwd", "resolv.conf")
    assert added == {f"etc/{name}" for name in names}
    assert (root / "etc/parity-image").read_text() == "5d\n"
    assert (root / "etc/hosts").read_text() == "127.0.0.1 localhost\n"
    assert (root / "etc/passwd").read_text() == "root:x:0:0" and outside.read_text() == "kept"
    assert stat.S_IMODE((root / "tmp").stat().st_mode) == 0o1777
    assert all((root / name).is_dir() for name in ("tmp/parity", "dev/shm", "proc", "sys"))
    assert {int(path.stat().st_mtime) for path in root.rglob("etc/hosts")} == {1686355200}
    # Nothing is written through a link of the image.
    shutil.rmtree(root / "tmp")
    (root / "tmp").symlink_to(tmp_path)
    with pytest.raises(UserError, match="/tmp is a link in the image, and /tmp/parity has to be"):
        foreign_image._add(root, "", "5d")
    assert not (tmp_path / "parity").exists()


@pytest.mark.skipif(not shutil.which("umoci"), reason="umoci is not installed")
def test_the_same_image_gives_the_same_bytes_and_names_its_parent(tmp_path: Path) -> None:
    (tmp_path / "root/opt").mkdir(parents=True)
    (tmp_path / "root/opt/app").write_text("app")
    image = f"{tmp_path}/app:one"
    subprocess.run(["tar", "-C", tmp_path / "root", "-cf", tmp_path / "app.tar", "."], check=True)
    layer = ["raw", "add-layer", "--image", image, tmp_path / "app.tar"]
    own = ["config", "--image", image, "--config.entrypoint=/opt/app", "--config.user=1000"]
    own += ["--config.cmd=/bin/false", "--config.volume=/tmp"]
    for words in (["init", "--layout", tmp_path / "app"], ["new", "--image", image], layer, own):
        subprocess.run(["umoci", *words], check=True, capture_output=True)
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    take = partial(take_foreign, str(tmp_path / "app"), hosts, log=tmp_path / "log")
    (foreign, first), (_, second) = (take(tmp_path / name) for name in ("one", "two"))
    assert first.digest == second.digest and first.recipe == second.recipe
    # Neither would let the words run that we run in it.
    said = image_configuration(Path(first.location))["config"]
    assert not any(said.get(key) for key in ("Entrypoint", "Cmd", "Volumes"))
    assert said["User"] in ("", "0:0")
    assert (first.parent, first.parent_digest) == ("foreign", foreign.digest)
    hosts.write_text("127.0.0.1 localhost other\n")
    _, other = take(tmp_path / "three")
    assert other.recipe != first.recipe and other.digest != first.digest
