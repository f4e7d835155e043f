"""What tests of benchmarks, and of what programs do, share."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from parity.benchmarks import programs
from parity.benchmarks.model import Benchmark, NodeFacts, Outputs, Parsed

GOLDEN = Path(__file__).parents[1] / "golden"
NODE = NodeFacts(cpus=(0, 1), last_level_cache=266240 * 1024, memory=24684092 * 1024)


def golden(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


def defaults(benchmark: Benchmark, **levels: Any) -> dict[str, Any]:
    """The benchmark's default parameters with factor levels or other values."""
    return {key: schema["default"] for key, schema in benchmark.parameters.items()} | levels


def case(benchmark: Benchmark, **asked: Any) -> dict[str, Any]:
    """Default parameters, the first level of each factor, and two ranks if it needs them."""
    allocation = {"nodes": 1, "ranks": 2} if benchmark.allocations == "required" else {}
    levels = {key: levels[0] for key, levels in benchmark.factors.items()}
    return defaults(benchmark, **levels | allocation | asked)


def outcome(benchmark: Benchmark, asked: Mapping[str, Any], **left: Any) -> Parsed:
    """What is made of what a run left (`Outputs`), asked for the defaults and for these."""
    return benchmark.parse(Outputs(parameters=defaults(benchmark, **asked), **left))


def values(parsed: Parsed) -> dict[str, float]:
    return {metric.name: metric.value for metric in parsed.metrics}


def cuts(text: str) -> list[str]:
    """The text cut off at every 50 bytes, and before the last character that is no blank."""
    whole = text.rstrip()
    return [whole[:length] for length in range(0, len(whole), 50)] + [whole[:-1]]


def compiled(folder: Path, *sources: str) -> Path:
    """Where programs of ours lie, compiled as rule `compile` does; without a word of a compiler."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    words = ["sh", programs.SCRIPT, folder, *sources]
    done = subprocess.run(words, cwd=programs.SCRIPT.parent, capture_output=True, text=True)
    assert not done.returncode and not done.stderr, done.stderr
    return folder


@contextmanager
def busy(cpu: int | str) -> Iterator[None]:
    """A program that computes on this CPU without end."""
    words = ["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(words) as beside:
        try:
            yield
        finally:
            beside.kill()


def running(wanted: Callable[[list[str]], object]) -> list[psutil.Process]:
    """The processes whose words are wanted."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if (words := process.cmdline()) and wanted(words):
                found.append(process)
    return found


def wait_for(
    what: Callable[[], Any], why: str = "it did not happen", seconds: float = 180,
    every: float = 0.02,
) -> Any:  # fmt: skip
    """What is found at last; `why`: what is wrong if nothing is in so many seconds."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"after {seconds} s: {why}"
        time.sleep(every)
    return found


def _times(pid: int) -> tuple[int, int]:
    """Nanoseconds that a process ran, and that it was ready to and did not."""
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(ran), int(waited)


def _waited(pids: Sequence[int]) -> int:
    return sum(_times(pid)[1] for pid in pids)


def wait_until_ran(process: subprocess.Popen, pids: Sequence[int], more: int = 200_000_000) -> None:
    """Until each of a program's processes ran so many ns more, or the program is over.

    Twice what finding the time of its work takes, so that it does that work now.
    """
    ran = [_times(pid)[0] for pid in pids]
    for pid, before in zip(pids, ran, strict=True):
        while process.poll() is None and _times(pid)[0] < before + more:
            time.sleep(0.005)


def stopped(pids: Sequence[int], seconds: float, own: int, after: float = 0.05) -> tuple[int, int]:
    """Stop the last of a program's processes so long; what it was kept for at least and at most.

    All in ns. `own`: what waking up and the kernel's own work take less than, however slow the
    machine; `after`: seconds in which it goes on.
    """
    before, waited_before = time.monotonic_ns(), _waited(pids)
    os.kill(pids[-1], signal.SIGSTOP)
    stat = Path(f"/proc/{pids[-1]}/stat")
    while (state := stat.read_text().rpartition(")")[2].split()[0]) != "T":
        assert state != "Z", "the program was over before it was stopped"
    surely = time.monotonic_ns()
    time.sleep(seconds)
    until = time.monotonic_ns()
    os.kill(pids[-1], signal.SIGCONT)
    time.sleep(after)
    kept = time.monotonic_ns() - before - int(1e9 * after) + _waited(pids) - waited_before
    return until - surely, kept + own
