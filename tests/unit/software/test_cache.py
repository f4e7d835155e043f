"""An image is built once for a user; what is ours can be removed, and nothing else is."""

import shutil
import tempfile
from pathlib import Path

import pytest

from parity.command_line.software import clean
from parity.core.errors import UserError
from parity.software import build, cache
from parity.software.images import ImageRecord


@pytest.fixture(autouse=True)
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "is_installed", lambda program: program == "docker")
    monkeypatch.setattr(cache, "answer_of", lambda _: (False, "no daemon"))
    return tmp_path / "cache/parity/images"


@pytest.fixture
def made(tmp_path: Path):
    """Makes an image in a folder of its own, and says what it was made of, or nothing."""

    def make(*decides: str) -> tuple[ImageRecord, bool]:
        calls = []

        def write(part: Path) -> None:
            calls.append(part)
            part.write_text(f"image of {decides}")

        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        empty = ImageRecord("base", parent="x", parent_digest="sha256:1")
        record = build.made(empty, write, folder / "base.tar", ("true",), None, decides=decides)
        assert Path(record.location).read_text() == f"image of {decides}"
        assert [*folder.iterdir()] == [folder / "base.tar"] == [Path(record.location)]
        return record, bool(calls)

    return make


def test_the_next_folder_takes_what_was_made_of_the_same(made, capsys) -> None:
    first, was_made = made("bookworm", "1")
    again, once_more = made("bookworm", "1")
    assert was_made and not once_more and "base was made before" in capsys.readouterr().out
    for field in ("digest", "bytes", "seconds", "tool", "parent_digest"):
        assert getattr(first, field) == getattr(again, field)
    assert made("bookworm", "2")[1] and made()[1] and made()[1]


def test_what_was_changed_there_is_made_anew(made, stores: Path) -> None:
    made("a")
    (image,) = stores.glob("*/image")
    image.write_text("something else")
    assert made("a")[1]
    assert not made("a")[1]


def test_without_room_for_it_the_image_is_there_all_the_same(made, stores: Path, capsys) -> None:
    stores.parent.mkdir(parents=True)
    stores.write_text("no folder")
    assert made("a")[1] and made("a")[1]
    assert capsys.readouterr().out.count("base is not kept for other folders: Not a directory") == 2


LISTED = (
    "sha256:1 parity:0123456789abcdef", "sha256:2 localhost/parity-base:0123456789ab",
    "sha256:3 <none>:<none>", "sha256:4 <none>:<none>", "sha256:5 parity:latest",
    "sha256:6 debian:12", "sha256:7 my/parity:0123456789abcdef",
)  # fmt: skip


def test_nothing_but_ours_is_removed_and_only_if_asked(made, stores, monkeypatch, capsys) -> None:
    asked = []

    def answers(words: list[str]) -> str:
        asked.append(words)
        if words[1] == "rmi" and words[2] == "sha256:3":
            raise UserError("this command failed\na container runs from it")
        labelled = any("label=" in word for word in words)
        return "2000000" if "inspect" in words else "\n".join(LISTED[2:3] if labelled else LISTED)

    monkeypatch.setattr(cache, "answer_of", lambda _: (True, ""))
    monkeypatch.setattr(cache, "output_of", answers)
    made("a")
    clean()
    said = capsys.readouterr().out
    assert said.count("2.0 MB  docker") == 3 and "6.0 MB  in all, not removed" in said
    assert [*stores.iterdir()] and not any("rmi" in words for words in asked)
    clean(yes=True)
    assert "sha256:3  a container runs from it" in capsys.readouterr().out
    removed = [words[2] for words in asked if "rmi" in words]
    assert removed == ["parity:0123456789abcdef", "localhost/parity-base:0123456789ab", "sha256:3"]
    assert not [*stores.iterdir()]
    shutil.rmtree(stores)
    clean()
