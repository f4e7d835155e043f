"""Real programs of MPI ranks beside what the replay makes of detours recorded before and after.

`python tools/check_replay.py` compiles selfish and steps, runs both natively, one and two ranks on
as many CPUs, and prints the mean step over its work as simulated and as measured.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from parity.analysis.noise import replay
from parity.analysis.noise.windows import Window
from parity.benchmarks import compiled, openmpi
from parity.benchmarks.selfish_trace import read_trace
from parity.benchmarks.steps_file import read_steps

SECONDS = 5
STEPS = (1e-4, 1e-3, 1e-2)


def build(folder: Path) -> None:
    """Compile both programs."""
    words = ["sh", compiled.SCRIPT, folder, "selfish.c", "steps.c"]
    subprocess.run(words, cwd=compiled.SCRIPT.parent, check=True)


def recorded(folder: Path, cpus: Sequence[int]) -> list[Window]:
    """What selfish tells on some CPUs at once, a window for each."""
    running = []
    for cpu in cpus:
        words = ["detours", SECONDS, 300, 5, 1_000_000, 400_000, f"{cpu}.trace"]
        command = ["taskset", "-c", str(cpu), f"{folder}/selfish", *map(str, words)]
        running.append(subprocess.Popen(command, cwd=folder))
    assert not any([process.wait() for process in running])
    windows = []
    for cpu in cpus:
        trace = read_trace((folder / f"{cpu}.trace").read_bytes())
        numbers = (trace.detours[name].astype(np.int64) for name in ("start", "length"))
        windows.append(Window((f"cpu{cpu}", 0), trace.duration_ns, *numbers))
    return windows


def measured(folder: Path, ranks: int, cpus: Sequence[int], step: float) -> float:
    """The mean step of a real program over its work."""
    numbers = (ranks, round(SECONDS / step), round(1e6 * step), 0)
    words = [f"{folder}/steps", *map(str, numbers), "steps.bin"]
    one = ["taskset", "-c", str(cpus[-1]), *words]
    several, environment = openmpi.launch_words(words, cpus), os.environ | openmpi.INSIDE
    subprocess.run(several if ranks > 1 else one, cwd=folder, env=environment, check=True)
    steps = read_steps((folder / "steps.bin").read_bytes())
    return float(steps.lengths.mean()) / steps.work_ns


def simulated(windows: Sequence[Window], ranks: int, step: float) -> float:
    """The same by the replay."""
    slowdowns = replay.slowdowns(replay.delays(windows, step), np.ones((1, len(windows))))
    return float(slowdowns[0, replay.RANKS.index(ranks)])


def lines() -> Iterator[str]:
    """A line for each number of ranks and length of a step."""
    available = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        for ranks in (1, 2):
            cpus = available[-ranks:]
            for step in STEPS:
                before = recorded(folder, cpus)
                seen = measured(folder, ranks, cpus, step)
                around = [simulated(each, ranks, step) for each in (before, recorded(folder, cpus))]
                yield (
                    f"{ranks} ranks, steps of {1e3 * step:g} ms: measured {seen:.4f}, simulated "
                    f"{around[0]:.4f} before and {around[1]:.4f} after"
                )


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
