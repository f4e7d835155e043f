"""The folders of measuring: whose they are, one block at a time, and what lies there for all arms.

That is what programs need of the host, the same bytes under one path, and around a program in a
foreign image one static program of the host.
"""

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from parity.benchmarks.model import Program
from parity.core.errors import UserError
from parity.core.files import digest
from parity.measure import inner_command, places
from parity.measure.inner_command import evidence, witnessed
from parity.measure.places import WORK
from parity.software.binaries import audit_script

ROOT = Path(__file__).parents[3]


def test_attempts_are_counted_as_numbers_and_a_folder_is_emptied(tmp_path: Path) -> None:
    for _ in range(11):
        places.new_attempt(tmp_path / "run")
    last = [folder.name for folder in places.attempts(tmp_path / "run")][-2:]
    assert last == ["attempt-10", "attempt-11"]
    (tmp_path / "work" / "deep").mkdir(parents=True)
    assert list(places.emptied(tmp_path / "work").iterdir()) == []


# What a neighbour can leave in /tmp in place of a folder or a file.
LEFT = {
    "file": Path.touch,
    "FIFO": os.mkfifo,
    "folder": Path.mkdir,
    "link": lambda place: place.symlink_to(place.with_name("elsewhere")),
    "link to a folder": lambda place: place.symlink_to(place.parent),
    "link to itself": lambda place: place.symlink_to(place),
    "open": lambda place: place.mkdir() or place.chmod(0o777),
}


@pytest.mark.parametrize("kind", sorted(LEFT.keys() - {"folder"}))
def test_what_is_no_private_folder_is_refused_in_one_message(tmp_path: Path, kind: str) -> None:
    """A neighbour can leave anything in /tmp; a file there ended every block in a traceback."""
    assert places.private_folder(tmp_path / "own").is_dir()
    LEFT[kind](tmp_path / "parity")
    with pytest.raises(UserError, match=r"is a link or .* no folder|others may write"):
        places.private_folder(tmp_path / "parity")
    with pytest.raises(UserError, match="cannot be made"):
        places.private_folder(tmp_path / "no such folder/parity")


NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def _python(code: str, *arguments: Path) -> dict[str, Any]:
    """A Python that runs some code of the runner's, for `subprocess`."""
    begin = "import os, signal, sys, time; from pathlib import Path\n"
    begin += "from parity.measure.places import *\n"
    environment = os.environ | {"PYTHONPATH": "workflow"}
    words = [sys.executable, "-c", begin + code, *arguments]
    return {"args": words, "cwd": ROOT, "env": environment, "text": True}


def _as(user: int, code: str, *arguments: Path) -> subprocess.CompletedProcess:
    code = f"os.setgroups([]); os.setuid({user})\n{code}"
    return subprocess.run(**_python(code, *arguments), capture_output=True)


def test_each_user_has_a_place_of_their_own(tmp_path: Path) -> None:
    places.make_places(tmp_path / "parity")
    places.make_places(tmp_path / "parity")
    own = tmp_path / "parity" / f"{os.geteuid()}"
    assert own.stat().st_mode & 0o777 == 0o755
    own.joinpath("node").write_text("another")
    with pytest.raises(UserError, match="is the place of node another"):
        places.make_places(tmp_path / "parity")


@pytest.fixture
def for_all() -> Iterator[Path]:
    """A folder that every user can reach, as /tmp; pytest's own are private."""
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


@as_root
def test_where_root_measured_everybody_can_and_waits_for_the_same_lock(for_all: Path) -> None:
    """The second user of a node was refused, and had a lock of nobody else's anywhere else."""
    places.make_places(for_all / "parity")
    take = "make_places(Path(sys.argv[1]))\nwith only_one(Path(sys.argv[1]), 'root'): print('in')"
    with places.only_one(for_all / "parity", "nobody"):
        waits = _as(NOBODY, f"signal.alarm(2)\n{take}", for_all / "parity")
        assert waits.stdout == "waiting for root to end\n", waits.stderr
    assert _as(NOBODY, take, for_all / "parity").stdout == "in\n"
    assert {path.name for path in (for_all / "parity").iterdir()} == {"0", f"{NOBODY}", "lock"}


@as_root
def test_what_another_user_made_is_refused(for_all: Path) -> None:
    made = _as(NOBODY, "make_places(Path(sys.argv[1]))", for_all / "parity")
    assert made.returncode == 0, made.stderr
    with pytest.raises(UserError, match="or root to make it for all users"):
        places.make_places(for_all / "parity")


@pytest.mark.parametrize("kind", ["link", "FIFO", "folder"])
def test_a_lock_is_a_file_of_its_folder(tmp_path: Path, kind: str) -> None:
    """A link would have made or opened a file elsewhere, with the rights of who measures."""
    LEFT[kind](tmp_path / "lock")
    with (
        pytest.raises(UserError, match=r"the lock (is no|cannot)"),
        places.only_one(tmp_path, "another measurement"),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


# It marks its end while it still holds the lock, however busy the machine is.
HOLD = """
with only_one(Path(sys.argv[1]), 'another measurement'):
    print('holding', flush=True)
    time.sleep(0.5)
    Path(sys.argv[2]).touch()
"""


def test_two_blocks_never_measure_at_once(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    holder = subprocess.Popen(**_python(HOLD, tmp_path, ended), stdout=subprocess.PIPE)
    assert holder.stdout.readline() == "holding\n"
    with places.only_one(tmp_path, "another measurement"):
        assert ended.exists()
    assert holder.wait() == 0


def test_what_was_left_running_is_ended_and_what_it_began_elsewhere(tmp_path: Path) -> None:
    begin = 'setsid sh -c "cd /; echo there; exec sleep 60" & wait'
    left = subprocess.Popen(["sh", "-c", begin], cwd=tmp_path, stdout=subprocess.PIPE)
    assert left.stdout.readline() == b"there\n"
    other = subprocess.Popen(["/bin/sleep", "60"], cwd="/")
    places.end_processes_in(tmp_path)
    # What it began is ended first, so it may come to its own end.
    assert left.wait(timeout=5) in (-9, 0)
    assert select.select([left.stdout], [], [], 5)[0], "what it began still holds its output"
    assert other.poll() is None
    other.kill()
    other.wait()


def test_many_runners_that_begin_at_once_all_find_the_place_theirs(tmp_path: Path) -> None:
    place = tmp_path / "parity" / f"{os.geteuid()}"
    # Of a runner that was killed while it wrote its name.
    place.mkdir(parents=True)
    (place / "node").touch()
    making = _python("for _ in range(100): make_places(Path(sys.argv[1]))", tmp_path / "parity")
    begun = [subprocess.Popen(**making, stderr=subprocess.PIPE) for _ in range(8)]
    assert [runner.communicate(timeout=120)[1] for runner in begun] == [""] * 8
    assert [path.name for path in place.iterdir()] == ["node"]


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what programs need is copied to, below a place of the test's own."""
    monkeypatch.setattr(places, "NEEDS", tmp_path / "needs")
    monkeypatch.setattr(places, "SCRATCH", tmp_path)
    return tmp_path / "needs"


def test_copies_are_made_kept_and_mended(tmp_path: Path, copies: Path, monkeypatch) -> None:
    program, data = tmp_path / "run", tmp_path / "data"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (data / "deep").mkdir(parents=True)
    (data / "deep/a").write_text("1")
    (data / "deep/a").chmod(0o640)
    wanted = {str(path): digest(path) for path in (program, data)}
    places.stage(wanted)
    copy = Path(f"{copies}{data}")
    assert (copy / "deep/a").read_text() == "1"
    assert Path(f"{copies}{program}").stat().st_mode & 0o111
    # Nobody else looks into what somebody's program reads.
    assert copies.stat().st_mode & 0o777 == 0o700
    (copy / "deep/a").write_text("2")
    (copy / "more").touch()
    places.stage(wanted)
    assert digest(copy) == wanted[str(data)]
    assert (copy / "deep/a").stat().st_mode & 0o777 == 0o640
    with places.only_one(tmp_path, "us"):
        places.remove_copies()
        assert copies.exists()
    with monkeypatch.context() as stuck:
        stuck.setattr(places, "remove_own", lambda _: None)
        (copy / "deep/a").write_text("3")
        with pytest.raises(UserError, match="needs cannot be removed"):
            places.stage(wanted)
    places.remove_copies()
    assert not copies.exists() and data.exists()
    # On a node where nobody measured yet there is nothing to remove, and no lock.
    monkeypatch.setattr(places, "SCRATCH", tmp_path / "none")
    places.remove_copies()


def test_what_a_program_made_read_only_is_removed(tmp_path: Path, monkeypatch) -> None:
    """Root may remove it anyway; anybody else could measure nothing any more."""
    deep = tmp_path / "work/a/b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    for folder in (deep, *deep.parents[:2]):
        folder.chmod(0o555)
    seen, remove = list[int](), shutil.rmtree

    def removed(folder: Path, **options) -> None:
        seen.extend(each.stat().st_mode & 0o777 for each in (folder, *folder.rglob("[ab]")))
        remove(folder, **options)

    monkeypatch.setattr(places.shutil, "rmtree", removed)
    assert list(places.emptied(tmp_path / "work").iterdir()) == [] and seen == [0o700] * 3


def test_a_folder_of_another_user_s_is_left_as_it_is(tmp_path: Path, monkeypatch) -> None:
    theirs = tmp_path / "shm"
    theirs.mkdir()
    (theirs / "data").touch()
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    places.remove_own(theirs)
    assert (theirs / "data").exists()
    with pytest.raises(UserError, match="belongs to another user"):
        places.private_folder(theirs, mode=0o700)


def test_what_was_changed_since_the_plan_or_is_gone_is_refused(tmp_path: Path, copies) -> None:
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


def test_words_name_the_copies(copies: Path) -> None:
    wanted = dict.fromkeys(("/opt/me/solver", "/opt/me/data", "/opt/me"), "")
    words = {
        "/opt/me/solver": f"{copies}/opt/me/solver",
        "--in=/opt/me/data/x.dat": f"--in={copies}/opt/me/data/x.dat",
        "/opt/me/data:/opt/me/data2": f"{copies}/opt/me/data:{copies}/opt/me/data2",
        "/opt/meyer/x": "/opt/meyer/x",
        "/mnt/opt/me": "/mnt/opt/me",
        "plain": "plain",
    }
    program = Program(tuple(words), (0,), {"DATA": "/opt/me/data"})
    made = places.staged_program(program, wanted)
    assert made.argv == tuple(words.values())
    assert made.environment == {"DATA": f"{copies}/opt/me/data"}
    assert places.staged_program(program, {}) is program


def test_only_a_foreign_image_needs_static_tools() -> None:
    assert places.tools_for(["base", "oci"]) == ""
    assert places.tools_for(["foreign", "oci"]) == str(places.TOOLS)


def test_the_words_around_a_program_are_all_of_the_static_tools() -> None:
    program = Program(("/opt/app", "1"), (3,))
    words = witnessed(program, tools="/t/busybox")
    fixed = [f"{k}={v}" for k, v in inner_command.program_environment(program).items()]
    assert words == [
        *("/t/busybox", "taskset", "-c", "3"),
        *("/t/busybox", "sh", "-c", inner_command.WITNESS, inner_command.EVIDENCE.strip()),
        *("/t/busybox", "sh", "-c", 'cd "$0" && exec "$@"', str(WORK)),
        *("/t/busybox", "env", "-i", *fixed),
        *("/opt/app", "1"),
    ]
    assert audit_script(["/opt/app"], ("/t/busybox", "sh"))[:3] == ["/t/busybox", "sh", "-c"]


@pytest.mark.skipif(not places.BUSYBOX.exists(), reason="busybox-static is not installed")
def test_the_static_tools_say_the_same_evidence_as_the_host_s(tmp_path: Path) -> None:
    def said(shell: tuple[str, ...], path: str) -> dict[str, str]:
        begin = inner_command.EVIDENCE.strip()
        words = [*shell, "-c", inner_command.WITNESS, begin, *shell, "-c", ":"]
        done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=True)
        return evidence(done.stderr)

    ours = said(("/bin/sh",), "/usr/bin:/bin")
    assert said((str(places.BUSYBOX), "sh"), str(tmp_path)) == ours
    assert {"root", "marker", "cpus_allowed", "namespace.mnt"} <= ours.keys()


@pytest.mark.parametrize("text", [None, b"\x7fELF/lib64/ld-linux-x86-64.so.2", b"\x7fELF static"])
def test_a_program_that_is_not_static_is_refused(text, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(places, "BUSYBOX", tmp_path / "busybox")
    place = tmp_path / "place"
    places.lay_out("")
    if text:
        (tmp_path / "busybox").write_bytes(text)
    if text == b"\x7fELF static":
        places.lay_out(str(place))
        assert place.read_bytes() == text
    else:
        with pytest.raises(UserError, match="no static program"):
            places.lay_out(str(place))
