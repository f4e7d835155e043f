"""Side by side: exact words, equal control groups, what is refused, and the last stretch alone."""

import os
import shutil
import signal
import subprocess
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import msgspec
import pytest
from trials import ANYWHERE, case_of

from parity.benchmarks.model import Beside, NodeFacts, Program
from parity.core.errors import UserError
from parity.measure import side_by_side
from parity.measure.attempt import Attempt, NotStarted, Order, ending_left_overs
from parity.measure.block import _whole
from parity.measure.documents import ArmState, Gate
from parity.measure.documents import NotStarted as WhyNot
from parity.measure.inner_command import evidence
from parity.measure.session import Session
from parity.plan.plan import IN_TURN, SIDE_BY_SIDE, Run
from parity.plan.system import Allocation
from parity.runtimes import every_arm
from parity.runtimes.model import SCRATCH, Image, Launch

PROGRAM = Program(("/usr/bin/sysbench", "cpu", "run"), (3,))
needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")


def _attempt(arm: str, folder: Path, place: int = 0, primary=("cpu_seconds",)) -> Attempt:
    here = Allocation(("here",)), {}, {}
    session = Session(1, NodeFacts((3,), 1, 1), *here, {}, (), ANYWHERE)
    image = Image("podman", "sha256:feed", "sha256:feed")
    state = ArmState(
        image=image, recipe="", gate=Gate("image", True), reason="", detail="", version=""
    )
    case = msgspec.structs.replace(case_of(), primary=primary)
    order = Order(f"sysbench.{arm}", case, every_arm()[arm], state, PROGRAM, session)
    launch = Launch("parity-1", image, SCRATCH, folder / "state")
    return Attempt(order, launch, folder, work=SCRATCH / f"w/{place}")


@pytest.fixture
def cputime(tmp_path: Path, monkeypatch) -> Path:
    """Where what tells CPU time is made; the machine's own is left alone."""
    monkeypatch.setattr(side_by_side.places, "OWN", tmp_path)
    monkeypatch.setattr(side_by_side, "CPUTIME", tmp_path / "cputime")
    return tmp_path / "cputime"


@pytest.mark.parametrize(
    ("arm", "runtime"),
    [("native-a", []), ("podman", ["podman", "--cgroup-parent=/parity/1", "sha256:feed"])],
)
def test_a_program_waits_at_its_fifo_in_its_control_group(arm, runtime, monkeypatch) -> None:
    top = Path("/sys/fs/cgroup/cpu")
    monkeypatch.setattr(side_by_side, "hierarchies", lambda: (top,))
    attempt = _attempt(arm, Path("/f"), place=1)
    words = side_by_side.command_of(attempt, attempt.work / "go", "parity/1")
    script = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit; shift; done; shift; exec "$@"'
    entered = ["/bin/sh", "-c", script, "enter", f"{top}/parity/1/program/cgroup.procs", "--"]
    assert words[: len(entered)] == entered
    assert [word for word in words if word in runtime] == runtime
    assert {"HOME=/tmp/parity/w/1", "TMPDIR=/tmp/parity/w/1"} <= {*words}
    waits = [str(side_by_side.CPUTIME), "parity-evidence", "/tmp/parity/w/1/go"]
    assert words[-6:] == [*waits, *PROGRAM.argv] and "--chdir=/tmp/parity/w/1" in words
    bound = next(i for i, word in enumerate(words) if word.endswith("/taskset"))
    assert words[bound + 1 : bound + 3] == ["-c", "3"]
    # One after the other there is no group.
    assert side_by_side.command_of(_attempt(arm, Path("/f")), Path("/go"), "")[0] != "/bin/sh"


@pytest.mark.parametrize(("changed", "arm", "said"), [
    ({"cpus": (0, 1)}, "podman", "one process on one CPU"),
    ({"ranks": 1}, "podman", "one process on one CPU"),
    ({"repetitions": 3}, "podman", "started once"),
    ({"check": ("/bin/true",)}, "podman", "started once"),
    ({"sample_seconds": 0.1}, "podman", "nothing done beside"),
    ({"beside": Beside()}, "podman", "nothing else is beside"),
    ({}, "podman-quota-20000-of-100000-us", "nor any limit"),
    ({}, "qemu-tcg", "another kernel"),
    ({"memory_bytes": 2**60}, "podman", "bytes of memory"),
    ({"memory_bytes": 1}, "podman", ""), ({}, "native-b", ""),
])  # fmt: skip
def test_what_cannot_be_measured_side_by_side_is_refused_with_its_reason(changed, arm, said):
    found = side_by_side.refusal(replace(PROGRAM, **changed), every_arm()[arm])
    assert said in found and bool(found) == bool(said)


def _tree(root: Path, version: int) -> Path:
    """Where control groups are mounted, as the kernel shows it."""
    for top in [root] if version == 2 else [root / "cpu", root / "cpuacct"]:
        top.mkdir(exist_ok=True)
        (top / "cgroup.procs").touch()
    if version == 2:
        (root / "cgroup.controllers").write_text("cpuset cpu memory")
        (root / "cgroup.subtree_control").touch()
    return root


@pytest.mark.parametrize("version", [1, 2])
def test_there_are_two_groups_as_long_as_a_pair_runs(version, tmp_path: Path) -> None:
    root = _tree(tmp_path, version)
    tops = side_by_side.hierarchies(root)
    assert tops == ((root,) if version == 2 else (root / "cpu", root / "cpuacct"))
    with side_by_side.control_groups(root):
        for top in tops:
            assert sorted(p.parent.name for p in top.rglob("program")) == ["0", "1"]
        # What Podman leaves, in every hierarchy.
        (root / "pids/parity/0/conmon").mkdir(parents=True)
        (tops[0] / "parity/1/conmon").mkdir()
    assert not list(root.rglob("program")) and not list(root.rglob("parity"))
    if version == 2:
        assert (root / "cgroup.subtree_control").read_text() == "+cpu"


@pytest.mark.parametrize("lost", ["cpu", "cpu/cgroup.procs", "."])
def test_without_a_controller_of_cpu_time_no_pair_is_started(lost, tmp_path: Path) -> None:
    gone = _tree(tmp_path, 1) / lost
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    with pytest.raises(NotStarted, match="no controller"), side_by_side.control_groups(tmp_path):
        pass


def test_what_fails_within_the_groups_is_not_taken_for_their_want(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), side_by_side.control_groups(_tree(tmp_path, 1)):
        raise BrokenPipeError


def _made(words, **_) -> None:
    if words[0] == "gcc":
        Path(words[words.index("-o") + 1]).touch()


def test_no_control_groups_are_a_message_unless_turns_may_be_taken(cputime, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(side_by_side.subprocess, "run", _made)
        patched.setattr(side_by_side, "hierarchies", lambda root: (cputime.parent / "none",))
        side_by_side.make_ready(may_take_turns=True)
        with pytest.raises(UserError, match="no two programs") as raised:
            side_by_side.make_ready(may_take_turns=False)
        assert "as root" in raised.value.action
        assert "side-by-side-or-in-turn" in raised.value.action
        assert side_by_side.obstacle().startswith("no two programs")
    monkeypatch.setattr(side_by_side, "CPUTIME", cputime.with_name("another"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="cannot be compiled") as raised:
        side_by_side.make_ready(may_take_turns=True)
    assert "apt-get install gcc" in raised.value.action
    # In turn the clock on the wall is enough.
    assert side_by_side.clocked(PROGRAM, every_arm()["podman"]) == PROGRAM


ALIKE = [{"cpu.weight": "100"}, {"cpu.weight": "100", "cpu.max": "max 100000"}]


@pytest.mark.parametrize(("other", "said"), [
    (ALIKE, ""), (ALIKE[:1], "unequal depth: 2 and 1 levels"),
    ([ALIKE[0], ALIKE[1] | {"cpu.weight": "50"}], "cpu.weight is 100 and 50"),
    ([ALIKE[0], ALIKE[0]], "cpu.max is max 100000 and None"),
])  # fmt: skip
def test_groups_of_unequal_depth_or_weight_are_refused(other, said: str) -> None:
    with pytest.raises(NotStarted, match=said) if said else nullcontext():
        side_by_side.refuse_unequal([ALIKE, other])


def test_the_program_is_looked_for_in_its_group_and_below(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(side_by_side, "hierarchies", lambda: (tmp_path,))
    name = Path("/proc/self/comm").read_text().strip()
    monkeypatch.setattr(side_by_side, "CPUTIME", Path(name))
    leaf = tmp_path / "parity/0/libpod-1"
    leaf.mkdir(parents=True)
    (leaf / "cgroup.procs").write_text("")
    (leaf.parent / "cpu.shares").write_text("1024\n")
    with pytest.raises(NotStarted, match="not in its control group parity/0"):
        side_by_side.standing("parity/0")
    (leaf / "cgroup.procs").write_text(f"{os.getpid()}\n")
    assert side_by_side.standing("parity/0") == [{}, {"cpu.shares": "1024"}]


@pytest.mark.parametrize(
    ("ends", "passed"), [((110, 120), True), ((200, 120), False), ((120, 200), False)]
)
def test_the_stretch_in_which_one_is_alone_is_noted_and_bounded(ends, passed, tmp_path) -> None:
    attempts = []
    for place, end in enumerate(ends):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "stderr").write_text(f"\nparity-evidence began=20\nparity-evidence ended={end}\n")
        attempts.append(_attempt("native-a", folder))
    side_by_side._judge_alone(attempts)
    for attempt in attempts:
        assert [(gate.name, gate.passed) for gate in attempt.beside] == [("alone", passed)]
        assert float(attempt.evidence["alone"]) == pytest.approx(0.1 if passed else 0.4444)
    # What is paid once may well make a shorter run later than the other.
    shorter = [_attempt("native-a", attempt.folder, primary=()) for attempt in attempts]
    side_by_side._judge_alone(shorter)
    assert [attempt.beside for attempt in shorter] == [[], []]
    assert shorter[0].evidence["alone"] == attempts[0].evidence["alone"]


def test_of_a_pair_no_run_is_made_without_the_other() -> None:
    runs, order = [Run(name=a, case="c", arm=a) for a in ("podman", "native-a")], SimpleNamespace()
    assert _whole(dict.fromkeys(runs, order)) == dict.fromkeys(runs, order)
    why = WhyNot(reason="not-tested", detail="not installed")
    made = _whole({runs[0]: why, runs[1]: order})
    assert made[runs[0]] is why
    detail = "side by side with podman: not installed"
    assert made[runs[1]] == WhyNot(reason="not-tested", detail=detail)


@needs_gcc
@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("kill -9 $$", -signal.SIGKILL), ("printf x >&2", 0)]
)
def test_what_tells_cpu_time_ends_as_the_program_did(script, code, cputime) -> None:
    side_by_side.make_ready(may_take_turns=True)
    os.mkfifo(fifo := cputime.with_name("go"))
    words = [cputime, "parity-evidence", fifo, "/bin/sh", "-c", script]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        with side_by_side._waiting([fifo], [process.pid]) as (door,):
            os.write(door, b"x")
        said = evidence(process.communicate()[1])
    assert process.returncode == code
    assert int(said["began"]) < int(said["ended"])
    assert 0 <= float(said["user_seconds"]) + float(said["system_seconds"]) < 1


CONTAINED = ("unshare", "--user", "--map-root-user", "--pid", "--fork")


@needs_gcc
@pytest.mark.parametrize(("before", "text", "code"), [
    ((), "exit 7\n", 7), (CONTAINED, "exit 7\n", 7),
    # The first process of a container ends by no signal of its own.
    (CONTAINED, "kill -9 $$\n", 128 + signal.SIGKILL),
])  # fmt: skip
def test_a_script_without_a_first_line_is_started_as_a_shell_does(before, text, code, cputime):
    assert side_by_side.not_compiled() == ""
    script = cputime.with_name("solver")
    script.write_text(text)
    script.chmod(0o755)
    words = [*before, cputime, "parity-evidence", "-", script]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    assert made.returncode == code
    assert {"user_seconds", "system_seconds"} <= evidence(made.stderr).keys()


@pytest.mark.parametrize("changed", [
    {"repetitions": 2}, {"then": (("/bin/true",),)}, {"check": ("/bin/true",)}, {"ranks": 2},
    {"as_given": True}, {"sample_seconds": 0.1}, {"beside": Beside()}, {"drop_caches": True},
])  # fmt: skip
def test_in_turn_cpu_time_is_told_of_one_start_of_one_process(changed, cputime, monkeypatch):
    monkeypatch.setattr(side_by_side.subprocess, "run", tried := Mock(side_effect=_made))
    threads, docker = replace(PROGRAM, cpus=(0, 1)), every_arm()["docker"]
    for _ in range(2):
        told = side_by_side.clocked(threads, docker)
        assert told.argv == (str(cputime), "parity-evidence", "-", *PROGRAM.argv)
    assert tried.call_count == 2 and tried.call_args_list[0].args[0][0] == "gcc"
    other = replace(PROGRAM, **changed)
    assert side_by_side.clocked(other, docker) == other
    assert side_by_side.clocked(PROGRAM, every_arm()["gvisor"]) == PROGRAM


def test_where_what_tells_cpu_time_cannot_be_run_it_stands_before_nothing(cputime, monkeypatch):
    """As in a folder without leave to run programs, which a hardened node's `/tmp` is."""
    compiler = cputime.with_name("gcc")
    compiler.write_text("#!/bin/sh\necho >> $0-calls\nshift 4; touch $1")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    for _ in range(2):
        assert side_by_side.clocked(PROGRAM, every_arm()["docker"]) == PROGRAM
    assert "Permission denied" in side_by_side.not_compiled()
    assert cputime.with_name("gcc-calls").read_text() == "\n"


def test_a_program_that_ends_before_both_are_there_starts_no_pair(tmp_path: Path) -> None:
    os.mkfifo(fifo := tmp_path / "go")
    with (
        subprocess.Popen(["/bin/true"]) as process,
        pytest.raises(NotStarted, match="ended"),
        side_by_side._waiting([fifo], [process.pid]),
    ):
        pass


@pytest.mark.parametrize(("windows", "obstacle", "design", "said"), [
    ([1.0, 0.96, 0.99], "", SIDE_BY_SIDE, "this node is busy (1.9 of 2 CPUs): CPU time side by"),
    # One idle window is enough: what took the others was short.
    ([1.0, 0.05, 1.0], "", IN_TURN, ""),
    ([1.0], "it takes root", IN_TURN, "(2.0 of 2 CPUs), and is waited for: it takes root"),
])  # fmt: skip
def test_a_node_busy_in_every_window_is_paired(windows, obstacle, design, said, monkeypatch):
    seen = iter(windows)
    monkeypatch.setattr(side_by_side, "WINDOWS", len(windows))
    monkeypatch.setattr(side_by_side, "busy_now", lambda: next(seen))
    monkeypatch.setattr(side_by_side, "obstacle", lambda: obstacle)
    monkeypatch.setattr(side_by_side.psutil, "cpu_count", lambda: 2)
    found = side_by_side.design_here(0.1)
    assert found.design == design and said in found.said and bool(said) == bool(found.said)


def test_an_interrupted_pair_spares_what_either_of_its_runtimes_keeps(monkeypatch) -> None:
    """Each attempt ended what the other's had left for good, such as Podman's catatonit."""
    spared = list[set[str]]()
    monkeypatch.setattr("parity.measure.attempt.end_orphans", spared.append)
    monkeypatch.setattr("parity.measure.attempt._end_left_overs", lambda *_: None)
    both = [SimpleNamespace(order=SimpleNamespace(arm=SimpleNamespace(lasting=names)), launch=None)
            for names in ((), ("catatonit",))]  # fmt: skip
    with pytest.raises(KeyboardInterrupt), ending_left_overs(*both):
        raise KeyboardInterrupt
    assert spared == [{"catatonit"}]
