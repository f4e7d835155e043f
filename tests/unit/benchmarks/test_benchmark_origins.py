"""Where programs come from: whether one is what its package brought, and what Spack builds."""

import hashlib
import subprocess
from functools import partial
from pathlib import Path

import pytest
from benchmark_help import NODE, case

from parity.benchmarks import benchmarks, programs

MD5 = partial(hashlib.md5, usedforsecurity=False)
SPACK = [each.provided_by("spack") for each in benchmarks().values()]
SPACK = [benchmark for benchmark in SPACK if benchmark.spack_packages]
each = pytest.mark.parametrize("benchmark", SPACK, ids=lambda benchmark: benchmark.name)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin/hpcc"
    path.parent.mkdir()
    path.write_bytes(b"\x7fELF one")
    digest = MD5(path.read_bytes()).hexdigest()
    monkeypatch.setattr(programs, "DPKG", tmp_path)
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


def test_what_is_as_it_came_or_no_package_brought_is_not_named(program: Path, monkeypatch) -> None:
    assert programs.altered([str(program)]) == {}
    program.write_bytes(b"other")
    assert list(programs.altered([str(program)])) == [str(program)]
    knows(monkeypatch, {})
    assert programs.altered([str(program), "/nowhere"]) == {}
    knows(monkeypatch, {str(program): "hpcc"})
    monkeypatch.setattr(programs, "is_installed", lambda _program: False)  # without dpkg
    assert programs.altered([str(program)]) == {}


def test_one_byte_is_seen_through_a_link_and_both_sums_are_told(program: Path, tmp_path) -> None:
    link = tmp_path / "hpcc"
    link.symlink_to(program)
    came, now = (MD5(b"\x7fELF " + last).hexdigest() for last in (b"one", b"two"))
    program.write_bytes(b"\x7fELF two")
    assert programs.altered([str(link)]) == {str(link): (came, now)}


def test_dpkg_is_asked_once_for_all_programs_and_an_unknown_one_hides_no_other(
    program: Path, monkeypatch
) -> None:
    questions = knows(monkeypatch, {str(program): "hpcc"})
    program.write_bytes(b"other")
    assert list(programs.altered(["/nowhere", str(program)])) == [str(program)]
    assert questions == [["dpkg-query", "--search", "/nowhere", str(program)]]
    assert programs.altered([]) == {} and len(questions) == 1


@each
def test_what_is_not_built_says_how_to_get_it(benchmark, monkeypatch):
    monkeypatch.setattr(programs.os, "access", lambda *_: False)
    presence, first = benchmark.probe(), benchmark.spack_packages[0]
    assert not presence.available and presence.reason.startswith("not built: ")
    assert "snakemake native" in presence.remedy
    assert f"{first.name}@{first.version}" in presence.remedy


def test_a_build_is_named_after_its_hash(tmp_path, monkeypatch):
    real = tmp_path / "tree/hpcg-3.1-abcdefg/bin/xhpcg"
    real.parent.mkdir(parents=True)
    real.touch()
    (tmp_path / "view").mkdir()
    (tmp_path / "view/hpcg").symlink_to(real.parents[1])
    monkeypatch.setattr(programs, "view_of", lambda _toolchain: tmp_path / "view")
    presence = programs.built_by_spack([programs.program_path("hpcg", "xhpcg")], ())
    assert (presence.available, presence.version) == (True, "hpcg-3.1-abcdefg")


@each
def test_another_toolchain_s_programs_lie_in_its_own_view(benchmark):
    other = benchmark.provided_by("spack-debian12-v1")
    assert other.name == benchmark.name and other is not benchmark
    assert benchmark.provided_by("spack") is benchmark
    paths = [path for path in benchmark.binaries if path.startswith("/opt/parity/")]
    folders = {package.view_folder for package in benchmark.spack_packages}
    assert {path.split("/")[5] for path in paths} <= folders
    assert all(p.version[0].isdigit() or "=" in p.version for p in benchmark.spack_packages)
    built = [path for path in other.binaries if path.startswith("/opt/parity/")]
    assert built and all(path.startswith("/opt/parity/debian12-v1/view/") for path in built)
    here, there = (" ".join(it.program(case(benchmark), NODE).argv) for it in (benchmark, other))
    assert "/opt/parity/debian12/view/" in here
    assert there == here.replace("/opt/parity/debian12/", "/opt/parity/debian12-v1/")
