"""What a program leaves behind: found, ended and told, with other children left alone."""

import subprocess
import sys

import psutil
import pytest

from parity.measure import timed_process
from parity.measure.gates import left_gate
from parity.measure.timed_process import Orphan

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
    done = subprocess.run(
        [sys.executable, "-c", LEAVING, program, *spared],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found, seconds = done.stdout.rsplit(" ", 1)
    return eval(found, {"Orphan": Orphan}), float(seconds)


def _is_there(word: str) -> bool:
    return any(word in (each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"]))


def test_a_daemon_that_a_program_left_is_ended_and_told() -> None:
    (found,), seconds = _left_by("exec sleep 987.25")
    assert found.name == "sleep" and found.cpu_seconds < 0.05
    assert timed_process.GRACE_SECONDS <= seconds < 20
    assert not _is_there("987.25")


def test_one_that_worked_on_fails_the_run() -> None:
    (found,), _ = _left_by("while :; do :; done")
    assert found.cpu_seconds > 0.1
    gate = left_gate((found,))
    assert not gate.passed and "left sh, which took" in gate.detail


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


@pytest.mark.parametrize(("left", "passed", "said"), [
    ((), True, ""),
    ((Orphan("b", 0.01), Orphan("a", 0.0)), True, "left a, b, which took 0.01 s"),
    ((Orphan("a", 0.03), Orphan("a", 0.03)), False, "left a, which took 0.06 s"),
])  # fmt: skip
def test_the_gate_notes_what_was_left(left, passed: bool, said: str) -> None:
    gate = left_gate(left)
    assert (gate.passed, gate.detail) == (passed, said and f"{said} of CPU time; ended")
