"""What it takes to simulate programs on up to a million ranks with the events of thirty arms.

`python tools/bench_replay.py` prints the time of all numbers of ranks and lengths of steps, with
their intervals; `make bench` does so, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from parity.analysis.noise import replay
from parity.analysis.noise.windows import Window

ARMS, RUNS, SECONDS, EVENTS_PER_SECOND = 30, 20, 30, 1000


def recorded(runs: int = RUNS, seconds: int = SECONDS) -> list[Window]:
    """The runs of an arm, with lengths from a heavy tail."""
    random, duration, made = np.random.default_rng(1), seconds * 10**9, []
    for run in range(runs):
        starts = np.sort(random.integers(0, duration, seconds * EVENTS_PER_SECOND))
        room = np.diff(starts, append=duration)
        lengths = (1000 * (1 + random.pareto(1.5, len(starts)))).astype(np.int64)
        made.append(Window((f"b{run}", 0), duration, starts, np.minimum(lengths, room)))
    return made


def simulate(windows: Sequence[Window]) -> int:
    """How many rows of the table an arm gives."""
    each = (replay.replay(windows, replay.delays(windows, step)) for step in replay.STEPS)
    return sum(1 for rows in each for _ in rows)


def lines() -> Iterator[str]:
    """One line."""
    windows, began = recorded(), time.monotonic()
    rows = sum(simulate(windows) for _ in range(ARMS))
    yield (
        f"replay of {ARMS} arms of {RUNS} runs of {SECONDS} s  {rows:,} rows in"
        f" {time.monotonic() - began:.0f} s  (bound 60)"
    )


if __name__ == "__main__":
    for line in lines():
        print(line)
