"""Whether a program is what its package brought."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from parity.benchmarks import programs


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin/hpcc"
    path.parent.mkdir()
    path.write_bytes(b"\x7fELF one")
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    (tmp_path / "hpcc.md5sums").write_text(f"0  usr/share/doc/hpcc\n{digest}  {str(path)[1:]}\n")
    knows(monkeypatch, {str(path): "other, hpcc"})
    return path


def knows(monkeypatch: pytest.MonkeyPatch, packages: dict[str, str]) -> list[list[str]]:
    """A dpkg that knows which packages brought these files; the questions that it is asked."""
    questions = []

    def answer(words: list[str], **_options: object) -> subprocess.CompletedProcess:
        questions.append(words)
        known = [f"{packages[path]}: {path}\n" for path in words[2:] if path in packages]
        # What dpkg-query says of a file that a package put aside.
        said = "diversion by dash from: /bin/sh\n" + "".join(known)
        return subprocess.CompletedProcess(words, int(len(known) < len(words[2:])), said)

    monkeypatch.setattr(programs, "is_installed", lambda _program: True)
    monkeypatch.setattr(programs.subprocess, "run", answer)
    return questions


def test_a_program_as_it_came_is_not_named(program: Path, tmp_path: Path) -> None:
    assert programs.altered([str(program)], tmp_path) == {}


def test_one_byte_is_seen_through_a_link_and_both_sums_are_told(program: Path, tmp_path) -> None:
    came = hashlib.md5(program.read_bytes(), usedforsecurity=False).hexdigest()
    program.write_bytes(b"\x7fELF two")
    link = tmp_path / "hpcc"
    link.symlink_to(program)
    ((path, (expected, found)),) = programs.altered([str(link)], tmp_path).items()
    assert (path, expected) == (str(link), came)
    assert found == hashlib.md5(b"\x7fELF two", usedforsecurity=False).hexdigest()


def test_what_no_package_brought_is_passed_over(program: Path, tmp_path, monkeypatch) -> None:
    program.write_bytes(b"other")
    knows(monkeypatch, {})
    assert programs.altered([str(program), "/nowhere"], tmp_path) == {}


def test_dpkg_is_asked_once_for_all_programs_and_an_unknown_one_hides_no_other(
    program: Path, tmp_path, monkeypatch
) -> None:
    questions = knows(monkeypatch, {str(program): "hpcc"})
    program.write_bytes(b"other")
    assert list(programs.altered(["/nowhere", str(program)], tmp_path)) == [str(program)]
    assert questions == [["dpkg-query", "--search", "/nowhere", str(program)]]
    assert programs.altered([], tmp_path) == {} and len(questions) == 1


def test_without_dpkg_no_program_is_named(program: Path, tmp_path, monkeypatch) -> None:
    program.write_bytes(b"other")
    monkeypatch.setattr(programs, "is_installed", lambda _program: False)
    assert programs.altered([str(program)], tmp_path) == {}
