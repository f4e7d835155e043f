"""Whether a program is what its package brought."""

import hashlib
from pathlib import Path

import pytest

from parity.benchmarks import debian


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin/hpcc"
    path.parent.mkdir()
    path.write_bytes(b"\x7fELF one")
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    (tmp_path / "hpcc.md5sums").write_text(f"0  usr/share/doc/hpcc\n{digest}  {str(path)[1:]}\n")
    monkeypatch.setattr(debian, "answer_of", lambda argv: (True, f"hpcc: {argv[-1]}"))
    return path


def test_a_program_as_it_came_is_not_named(program: Path, tmp_path: Path) -> None:
    assert debian.altered([str(program)], tmp_path) == {}


def test_one_byte_is_seen_through_a_link_and_both_sums_are_told(program: Path, tmp_path) -> None:
    came = hashlib.md5(program.read_bytes(), usedforsecurity=False).hexdigest()
    program.write_bytes(b"\x7fELF two")
    link = tmp_path / "hpcc"
    link.symlink_to(program)
    ((path, (expected, found)),) = debian.altered([str(link)], tmp_path).items()
    assert (path, expected) == (str(link), came)
    assert found == hashlib.md5(b"\x7fELF two", usedforsecurity=False).hexdigest()


def test_what_no_package_brought_is_passed_over(program: Path, tmp_path, monkeypatch) -> None:
    program.write_bytes(b"other")
    monkeypatch.setattr(debian, "answer_of", lambda _argv: (False, "no path found"))
    assert debian.altered([str(program), "/nowhere"], tmp_path) == {}
