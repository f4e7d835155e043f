"""The timed section: it waits asleep, keeps every byte, and leaves nothing running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmark_help import running, wait_for

from parity.core.errors import end_as_by_ctrl_c
from parity.measure import timed_process
from parity.measure.gates import MOST_LEFT_SECONDS
from parity.measure.timed_process import Orphan, launch_environment, run_and_wait


def _run(tmp_path: Path, *argv: str, timeout: float = 10.0):
    environment = {"PATH": "/usr/bin:/bin"}
    (ended,) = run_and_wait((argv, tmp_path), environment=environment, timeout_seconds=timeout)
    return ended


def _shell(tmp_path: Path, script: str, timeout: float = 10.0):
    return _run(tmp_path, "/bin/sh", "-c", script, timeout=timeout)


def _is_there(word: str) -> bool:
    return bool(running(lambda words: word in words))


def test_exit_status_streams_and_clock(tmp_path: Path) -> None:
    ended = _shell(tmp_path, "printf out; printf err >&2; sleep 0.2; exit 7")
    assert (ended.exit_code, ended.timed_out) == (7, False)
    assert 0.2 <= ended.wall_seconds < 2
    assert (tmp_path / "stdout").read_bytes() == b"out"
    assert (tmp_path / "stderr").read_bytes() == b"err"


def test_a_second_start_adds_to_the_output_and_a_signal_is_a_negative_exit_code(tmp_path: Path):
    for _ in range(2):
        _run(tmp_path, "/bin/echo", "again")
    assert (tmp_path / "stdout").read_text() == "again\nagain\n"
    assert _shell(tmp_path, "kill -9 $$").exit_code == -9
    with pytest.raises(FileNotFoundError):
        _run(tmp_path, "/nowhere/program")


def test_a_run_that_takes_too_long_is_stopped_with_all_its_children(tmp_path: Path) -> None:
    seconds, began = f"61.{os.getpid()}", time.monotonic()
    ended = _shell(tmp_path, f"sleep {seconds} & sleep {seconds}", timeout=0.3)
    assert ended.timed_out and ended.exit_code == -9
    # Not the minute that the children would have slept.
    assert time.monotonic() - began < 30
    # A killed process is gone a moment after it was killed, later on a busy machine.
    wait_for(lambda: not _is_there(seconds))


def test_who_is_told_to_end_just_when_the_program_ends_does_end(tmp_path, monkeypatch) -> None:
    reap = os.wait4

    def reap_and_be_told(*asked: int):
        found = reap(*asked)
        os.kill(os.getpid(), signal.SIGTERM)
        return found

    before = signal.getsignal(signal.SIGTERM)
    end_as_by_ctrl_c()
    monkeypatch.setattr(os, "wait4", reap_and_be_told)
    try:
        with pytest.raises(SystemExit):
            _run(tmp_path, "/bin/true")
    finally:
        signal.signal(signal.SIGTERM, before)


def test_stragglers_end_with_the_run(tmp_path: Path) -> None:
    seconds = f"62.{os.getpid()}"
    _shell(tmp_path, f"sleep {seconds} & exit 0")
    wait_for(lambda: not _is_there(seconds))


def test_cpu_time_is_that_of_the_program(tmp_path: Path) -> None:
    ended = _shell(tmp_path, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    assert ended.user_seconds > 0.05


def test_the_runner_sleeps_while_the_program_runs(tmp_path: Path) -> None:
    before = time.process_time()
    _run(tmp_path, "/bin/sleep", "2")
    # Starting a process costs a few milliseconds; whoever waits awake takes all of the time.
    assert time.process_time() - before < 1


def test_runtimes_see_only_the_variables_they_need() -> None:
    """LD_LIBRARY_PATH of a module was taken away: its mpiexec or runtime did not start."""
    given = {"PATH": "/bin", "LD_PRELOAD": "x.so", "OMP_NUM_THREADS": "9", "LANG": "de_DE"}
    seen = {"PATH": "/bin", "USER": str(os.getuid()), "HOME": "/", "LC_ALL": "C"}
    assert launch_environment(given) == seen
    # A launcher sees by which it finds its job.
    for name in ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "FLUX_URI"):
        assert launch_environment({name: "x"})[name] == "x"
    # What modules set beside PATH is seen if the site says so.
    given = {"LD_LIBRARY_PATH": "/opt/mpi/lib", "OPAL_PREFIX": "/opt/mpi"}
    assert not given.keys() & launch_environment(given).keys()
    kept = launch_environment(given | {"PARITY_KEEP": "LD_LIBRARY_PATH,OPAL_PREFIX"})
    assert given.items() <= kept.items()


# Starts a program that detaches itself, as a daemon does, and ends orphans.
LEAVING = """
import subprocess, sys, time
from parity.measure import timed_process
timed_process.adopt()
subprocess.run(["setsid", "--fork", "sh", "-c", sys.argv[1]], cwd="/", check=True)
began = time.monotonic()
found = timed_process.end_orphans(sys.argv[2:])
print(found, time.monotonic() - began)
again = timed_process.end_orphans(sys.argv[2:])
assert not again
"""


def _left_by(program: str, *spared: str) -> tuple[tuple[Orphan, ...], float]:
    words = [sys.executable, "-c", LEAVING, program, *spared]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found, seconds = done.stdout.rsplit(" ", 1)
    return eval(found, {"Orphan": Orphan}), float(seconds)


def test_a_daemon_that_a_program_left_is_ended_and_told() -> None:
    (found,), seconds = _left_by("exec sleep 987.25")
    assert found.name == "sleep" and found.cpu_seconds < 0.05
    assert timed_process.GRACE_SECONDS <= seconds < 20
    assert not _is_there("987.25")


def test_one_that_worked_on_fails_the_run() -> None:
    (found,), _ = _left_by("while :; do :; done")
    assert found.name == "sh" and found.cpu_seconds > 0.1 > MOST_LEFT_SECONDS


def test_helpers_are_waited_for_and_what_a_runtime_keeps_stays() -> None:
    for helper in (":", "exec sleep 0.2"):
        assert _left_by(helper)[0] == ()
    found, _ = _left_by("exec sleep 9.5 > /dev/null 2>&1", "sleep")
    assert found == () and _is_there("9.5")


def test_children_of_a_process_that_adopts_nothing_are_its_own() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert timed_process.end_orphans() == () and child.poll() is None
    finally:
        child.kill()
        assert child.wait() == -9
