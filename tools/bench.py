"""What the harness itself costs on this machine; `make bench` prints it.

Absolute times are this machine's; the bounds beside them are the project's own and hold
with a wide margin on a quiet machine. Nothing here is a timed test.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import bench_decided
import bench_events
import bench_replay
import bench_scale
import bench_slurm

from parity.benchmarks import benchmarks
from parity.core.errors import shown_to_the_user
from parity.core.files import read_json
from parity.measure.block import run_block
from parity.measure.timed_process import run_and_wait
from parity.plan.making import make_plan
from parity.plan.plan import Case, Plan
from parity.plan.study import Study
from parity.plan.system import System
from parity.runtimes import arms

RUNS = 200
WAIT_SECONDS = 20
ROOT = Path(__file__).parents[1]


def _short_plan() -> Plan:
    """A block of 200 native runs that do nearly nothing."""
    parameters = {"prime": 100, "events": 1, "threads": 1}
    cases = [
        Case(
            name=f"sysbench-{number}",
            benchmark="sysbench",
            parameters=parameters,
            margin=0.01,
            primary=benchmarks()["sysbench"].primary,
            differences=(),
            timeout_seconds=60,
        )
        for number in range(RUNS // 2)
    ]
    pair = ("native-a", "native-b")
    return make_plan(
        Study(
            study="bench",
            scale="short",
            title="Harness",
            reproduces="none",
            seed=1,
            reference=pair[0],
            aa_pair=pair,
            arms=pair,
            cases=tuple(cases),
            attempts=1,
            blocks=1,
        )
    )


def harness_seconds_per_run() -> tuple[float, float]:
    """Wall time of a run beyond its program's own, in seconds, and the program's own."""
    plan = _short_plan()
    images = {
        arm.image_format: {"reason": "not needed", "digest": "", "location": "", "recipe": ""}
        for arm in arms().values()
        if arm.image_format
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        system = System("bench", "vm", "bootstrap", 1.0, 0.0, 1.0)
        run_block(plan, plan.blocks[0].name, images, {}, system, folder)
        records = [read_json(path) for path in folder.glob("runs/*/*/record.json")]
        ended = datetime.fromisoformat(read_json(folder / "session-1-end.json")["ended"])
    began = min(datetime.fromisoformat(record["started"]) for record in records)
    own = sum(record["wall_seconds"] for record in records)
    return ((ended - began).total_seconds() - own) / len(records), own / len(records)


def runner_cpu_fraction() -> float:
    """CPU time of the runner while a program runs, as a fraction of one CPU."""
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        run_and_wait(
            ["/bin/sleep", str(WAIT_SECONDS)],
            stdout=Path(folder) / "stdout",
            stderr=Path(folder) / "stderr",
            environment={},
            timeout_seconds=2 * WAIT_SECONDS,
        )
        return (time.process_time() - before) / WAIT_SECONDS


@contextmanager
def new_clone() -> Iterator[Path]:
    """A fresh clone of what is committed."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        yield clone


def seconds_in_a_clone(*command: str) -> float:
    """Wall time of a command in a fresh clone."""
    with new_clone() as clone:
        began = time.monotonic()
        done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return seconds


def main() -> None:
    """Print one line for each figure."""
    print(f"harness figures of {datetime.now(UTC):%Y-%m-%d}", flush=True)
    cost, own = harness_seconds_per_run()
    print(f"a run beyond its program  {cost:.4f} s  (bound 0.04; {RUNS} runs of {own:.4f} s)")
    print(f"runner while it waits     {100 * runner_cpu_fraction():.3f} %  of a CPU (bound 0.1)")
    print(
        f"snakemake figures         {seconds_in_a_clone('snakemake', 'figures'):.1f} s  (bound 40)"
    )
    print(
        f"snakemake -n all          {seconds_in_a_clone('snakemake', '-n', 'all'):.1f} s  (bound 4)"
    )
    steps = (
        bench_events.lines(),
        bench_replay.lines(),
        bench_decided.lines(),
        bench_scale.lines(bench_scale.TIMES),
    )
    for line in chain(*steps, bench_slurm.lines(new_clone)):
        print(line, flush=True)


if __name__ == "__main__":
    with shown_to_the_user():
        main()
