"""What ten million detours cost: a dataset of so many is read, and its quantiles are found.

`python tools/bench_events.py` prints how fast, and the largest memory; `make bench` does so, too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parity.records import events, schema

RUNS, OF_EACH = 20, 500_000
SHARES = (0.5, 0.99, 0.999, 0.9999)


def write(folder: Path, runs: int = RUNS, of_each: int = OF_EACH) -> None:
    """Detours of lengths that are drawn from a heavy tail, in the form of the product."""
    random = np.random.default_rng(1)
    for block in range(runs):
        place = folder / f"case=c/arm=a/block={block:04d}"
        place.mkdir(parents=True)
        starts = np.cumsum(random.integers(1_000, 2_000_000, of_each))
        lengths = (300 * (1 + random.pareto(1.5, of_each))).astype(np.int64)
        table = pa.table([starts, lengths], schema=schema.EVENTS.arrow)
        pq.write_table(table, place / "events.parquet", row_group_size=1 << 20, **schema.FORM)


def largest_memory() -> float:
    """MB that this process had at most; getrusage has what its parent had when it started it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def _read(folder: Path, answer: Queue[tuple[int, float, float]]) -> None:
    began = time.monotonic()
    lengths = events.lengths(folder, "c", "a")
    np.quantile(lengths, SHARES, method="inverted_cdf", overwrite_input=True)
    seconds = time.monotonic() - began
    answer.put((len(lengths), seconds, largest_memory()))


def lines() -> Iterator[str]:
    """One line."""
    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary))
        start = get_context("spawn")
        answer: Queue[tuple[int, float, float]] = start.Queue()
        child = start.Process(target=_read, args=(Path(temporary), answer))
        child.start()
        number, seconds, memory = answer.get()
        child.join()
    yield (
        f"quantiles of {number:,} detours  {number / seconds:,.0f} a second  (bound 5,000,000)"
        f"  {memory:.0f} MB  (bound 500)"
    )


if __name__ == "__main__":
    for line in lines():
        print(line)
