"""What programs need of the host: the same bytes under one path in all arms."""

from pathlib import Path

import pytest

from parity.benchmarks.model import Program
from parity.core.errors import UserError
from parity.core.files import digest
from parity.measure import places


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "NEEDS", tmp_path / "needs")
    monkeypatch.setattr(places, "SCRATCH", tmp_path)
    return tmp_path / "needs"


def test_copies_are_made_kept_and_mended(tmp_path: Path, place: Path) -> None:
    program, data = tmp_path / "run", tmp_path / "data"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (data / "deep").mkdir(parents=True)
    (data / "deep/a").write_text("1")
    (data / "deep/a").chmod(0o640)
    wanted = {str(path): digest(path) for path in (program, data)}
    places.stage(wanted)
    copy = Path(f"{place}{data}")
    assert (copy / "deep/a").read_text() == "1"
    assert Path(f"{place}{program}").stat().st_mode & 0o111
    # Nobody else looks into what somebody's program reads.
    assert place.stat().st_mode & 0o777 == 0o700
    (copy / "deep/a").write_text("2")
    (copy / "more").touch()
    places.stage(wanted)
    assert digest(copy) == wanted[str(data)]
    assert (copy / "deep/a").stat().st_mode & 0o777 == 0o640
    with places.only_one(tmp_path, "us"):
        places.remove_copies()
        assert place.exists()
    places.remove_copies()
    assert not place.exists() and data.exists()


def test_a_folder_of_another_user_s_is_left_as_it_is(tmp_path: Path, monkeypatch) -> None:
    theirs = tmp_path / "shm"
    theirs.mkdir()
    (theirs / "data").touch()
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    places.remove_own(theirs)
    assert (theirs / "data").exists()
    with pytest.raises(UserError, match="belongs to another user"):
        places.private_folder(theirs, mode=0o700)


def test_what_was_changed_since_the_plan_or_is_gone_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "in.dat"
    data.write_text("1")
    planned = {str(data): digest(data)}
    data.write_text("2")
    with pytest.raises(UserError, match="not what was planned with") as error:
        places.stage(planned)
    assert "to do:" in str(error.value)
    data.unlink()
    with pytest.raises(UserError, match="cannot be copied"):
        places.stage(planned)


def test_words_name_the_copies(place: Path) -> None:
    wanted = dict.fromkeys(("/opt/me/solver", "/opt/me/data", "/opt/me"), "")
    words = {
        "/opt/me/solver": f"{place}/opt/me/solver",
        "--in=/opt/me/data/x.dat": f"--in={place}/opt/me/data/x.dat",
        "/opt/me/data:/opt/me/data2": f"{place}/opt/me/data:{place}/opt/me/data2",
        "/opt/meyer/x": "/opt/meyer/x",
        "/mnt/opt/me": "/mnt/opt/me",
        "plain": "plain",
    }
    assert {word: places.staged(word, wanted) for word in words} == words
    program = Program(tuple(words), (0,), {"DATA": "/opt/me/data"})
    made = places.staged_program(program, wanted)
    assert made.argv == tuple(words.values())
    assert made.environment == {"DATA": f"{place}/opt/me/data"}
    assert places.staged_program(program, {}) is program
