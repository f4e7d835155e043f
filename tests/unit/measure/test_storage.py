"""Files of a block: whole or not at all, never overwritten, one block at a time on a node."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from parity.core.errors import UserError
from parity.core.files import read_json, write_json
from parity.measure import places

ROOT = Path(__file__).parents[3]


def test_json_comes_back_and_attempts_are_counted_as_numbers(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": ["ü"]})
    assert read_json(tmp_path / "a.json") == {"a": ["ü"], "b": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
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


def _as(user: int, code: str, *arguments: Path) -> subprocess.CompletedProcess:
    """What a Python of that user says to some code of the runner's."""
    begin = "import os, signal, sys; from pathlib import Path\n"
    begin += f"from parity.measure.places import *\nos.setgroups([]); os.setuid({user})\n"
    words = [sys.executable, "-c", begin + code, *arguments]
    environment = os.environ | {"PYTHONPATH": "workflow"}
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)


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
        code = f"signal.alarm(2)\n{take}"
        waits = _as(NOBODY, code, for_all / "parity")
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


def test_two_blocks_never_measure_at_once(tmp_path: Path) -> None:
    # It marks its end while it still holds the lock, however busy the machine is.
    hold = (
        "import sys, time; from pathlib import Path\n"
        "from parity.measure.places import only_one\n"
        "with only_one(Path(sys.argv[1]), 'another measurement'):\n"
        "    print('holding', flush=True); time.sleep(0.5)\n"
        "    Path(sys.argv[2]).touch()\n"
    )
    ended = tmp_path / "ended"
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, tmp_path, ended],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": "workflow"},
        cwd=Path(__file__).parents[3],
    )
    assert holder.stdout.readline() == b"holding\n"
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


MAKING = """
import sys
from pathlib import Path
from parity.measure.places import make_places
for _ in range(100):
    make_places(Path(sys.argv[1]))
"""


def test_many_runners_that_begin_at_once_all_find_the_place_theirs(tmp_path: Path) -> None:
    place = tmp_path / "parity" / f"{os.geteuid()}"
    # Of a runner that was killed while it wrote its name.
    place.mkdir(parents=True)
    (place / "node").touch()
    words = [sys.executable, "-c", MAKING, str(tmp_path / "parity")]
    begun = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    assert [runner.communicate(timeout=120)[1] for runner in begun] == [""] * 8
    assert [path.name for path in place.iterdir()] == ["node"]
