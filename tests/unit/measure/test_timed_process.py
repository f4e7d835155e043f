"""The timed section: it waits asleep, keeps every byte, and leaves nothing running."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from trials import wait_for

from parity.core.errors import end_as_by_ctrl_c
from parity.measure.timed_process import launch_environment, run_and_wait


def _run(tmp_path: Path, argv: list[str], timeout: float = 10.0):
    environment = {"PATH": "/usr/bin:/bin"}
    (ended,) = run_and_wait((argv, tmp_path), environment=environment, timeout_seconds=timeout)
    return ended


def test_exit_status_streams_and_clock(tmp_path: Path) -> None:
    ended = _run(tmp_path, ["/bin/sh", "-c", "printf out; printf err >&2; sleep 0.2; exit 7"])
    assert (ended.exit_code, ended.timed_out) == (7, False)
    assert 0.2 <= ended.wall_seconds < 2
    assert (tmp_path / "stdout").read_bytes() == b"out"
    assert (tmp_path / "stderr").read_bytes() == b"err"


def test_a_second_start_adds_to_the_output_and_a_signal_is_a_negative_exit_code(tmp_path: Path):
    for _ in range(2):
        _run(tmp_path, ["/bin/echo", "again"])
    assert (tmp_path / "stdout").read_text() == "again\nagain\n"
    assert _run(tmp_path, ["/bin/sh", "-c", "kill -9 $$"]).exit_code == -9
    with pytest.raises(FileNotFoundError):
        _run(tmp_path, ["/nowhere/program"])


def test_a_run_that_takes_too_long_is_stopped_with_all_its_children(tmp_path: Path) -> None:
    seconds = f"61.{os.getpid()}"
    began = time.monotonic()
    script = f"sleep {seconds} & sleep {seconds}"
    ended = _run(tmp_path, ["/bin/sh", "-c", script], timeout=0.3)
    assert ended.timed_out and ended.exit_code == -9
    # Not the minute that the children would have slept.
    assert time.monotonic() - began < 30
    _wait_until_none_sleeps(seconds)


def test_who_is_told_to_end_just_when_the_program_ends_does_end(
    tmp_path: Path, monkeypatch
) -> None:
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
            _run(tmp_path, ["/bin/true"])
    finally:
        signal.signal(signal.SIGTERM, before)


def test_stragglers_end_with_the_run(tmp_path: Path) -> None:
    seconds = f"62.{os.getpid()}"
    _run(tmp_path, ["/bin/sh", "-c", f"sleep {seconds} & exit 0"])
    _wait_until_none_sleeps(seconds)


def _wait_until_none_sleeps(seconds: str) -> None:
    """A killed process is gone a moment after it was killed, later on a busy machine."""

    def commands() -> list[list[str]]:
        return [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]

    wait_for(lambda: not any(seconds in words for words in commands()))


def test_cpu_time_is_that_of_the_program(tmp_path: Path) -> None:
    ended = _run(tmp_path, ["/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])
    assert ended.user_seconds > 0.05


def test_the_runner_sleeps_while_the_program_runs(tmp_path: Path) -> None:
    before = time.process_time()
    _run(tmp_path, ["/bin/sleep", "2"])
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
