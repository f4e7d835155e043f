"""Programs of MPI ranks with recorded detours, beside what the replay makes of them.

`replay` compiles selfish and steps, runs both natively, and prints the mean step over its work as
simulated and as measured. `simgrid [dataset]` (Debian's libsimgrid-dev; SMPI: Degomme et al., IEEE
TPDS 2017) gives each rank a host whose speed is zero during the recorded detours, from a random
moment on; messages cost next to nothing, so only the model of noise is compared.
"""

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np

from parity.benchmarks import openmpi, programs
from parity.benchmarks.traces import read_steps, read_trace
from parity.core.errors import shown_to_the_user
from parity.extensions.noise.analysis import replay
from parity.extensions.noise.analysis.durations import Window, split
from parity.plan.plan import PLAN, read_plan
from parity.records import events

SECONDS, RUN_STEPS = 5, (1e-4, 1e-3, 1e-2)  # of programs that run here; the rest is of SimGrid
DATASET = "results/archive/xeon2-limits-2026-11-29"
ARMS = ("native-a", "podman-quota-9000-of-10000-us", "podman-quota-50000-of-100000-us")
RANKS, STEPS = (2, 4, 8, 16), (1e-3, 1e-2)
SPEED = 1e9  # flop/s of a host, and so of a rank that nothing holds up
STOPPED = 1e-6  # SimGrid gives up where a host with work has no speed at all
HOSTS = 32  # of all simulations of a number of ranks, each at a moment of its own
HEAD = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">"""
CFG = ("--cfg=smpi/simulate-computation:no", "--cfg=surf/precision:1e-12")
SOURCE = Path(__file__).with_name("simgrid_steps.c")


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


def replayed(windows: Sequence[Window], ranks: int, step: float) -> float:
    """The mean step over its work by the replay."""
    slowdowns = replay.slowdowns(replay.delays(windows, step), np.ones((1, len(windows))))
    return float(slowdowns[0, replay.RANKS.index(ranks)])


def run_here() -> Iterator[str]:
    """A line for each number of ranks and length of a step."""
    available = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = ["sh", programs.SCRIPT, folder, "selfish.c", "steps.c"]
        subprocess.run(words, cwd=programs.SCRIPT.parent, check=True)
        for ranks, step in product((1, 2), RUN_STEPS):
            cpus = available[-ranks:]
            before = recorded(folder, cpus)
            seen = measured(folder, ranks, cpus, step)
            around = [replayed(each, ranks, step) for each in (before, recorded(folder, cpus))]
            yield (
                f"{ranks} ranks, steps of {1e3 * step:g} ms: measured {seen:.4f}, simulated "
                f"{around[0]:.4f} before and {around[1]:.4f} after"
            )


def windows(folder: Path, case: str, arm: str) -> list[Window]:
    """All runs of an arm, of those in a folder of events, each as long as its last detour."""
    blocks = [r["block"] for r in events.runs(folder) if (r["case"], r["arm"]) == (case, arm)]
    made = []
    for block in blocks:
        starts, lengths = events.of_run(folder, case, arm, block)
        made += split(block, float(starts[-1] + lengths[-1]) / 1e9, starts, lengths)
    return made


def availability(runs: Sequence[Window], after: int) -> str:
    """The runs one after the other as a profile of a host's speed, begun so many ns later."""
    begins = np.cumsum([0, *(run.duration for run in runs)])
    starts = np.concatenate([run.starts + begin for run, begin in zip(runs, begins, strict=False)])
    lengths = np.concatenate([run.lengths for run in runs])
    order = np.argsort(moved := (starts - after) % begins[-1])
    lines, last = [f"LOOPAFTER {1e-9:.9f}"], 0
    for start, length in zip(moved[order].tolist(), lengths[order].tolist(), strict=True):
        end = min(start + length, int(begins[-1]) - 1)
        if start > last and end > start:
            lines += [f"{start / 1e9:.9f} {STOPPED}", f"{end / 1e9:.9f} 1.0"]
            last = end
    lines.append(f"{int(begins[-1] - 1) / 1e9:.9f} 1.0")
    return "\n".join(lines) + "\n"


def platform(ranks: int) -> str:
    """A host for each rank, and a link that next to nothing takes time on."""
    hosts = range(ranks)
    link = '<link id="l" bandwidth="1e15Bps" latency="1ps" sharing_policy="FATPIPE"/>'
    made = [f'<host id="h{n}" speed="{SPEED:g}f" speed_file="{n}"/>' for n in hosts]
    pairs = combinations(hosts, 2)
    made += [link, *(f'<route src="h{a}" dst="h{b}"><link_ctn id="l"/></route>' for a, b in pairs)]
    return "\n".join([HEAD, *made, "</zone></platform>"])


def simulated(
    folder: Path, runs: Sequence[Window], ranks: int, step: float, count: int, seed: int
) -> float:
    """So many steps over their work by SimGrid, with the detours of these runs."""
    whole = sum(run.duration for run in runs)
    for rank, after in enumerate(np.random.default_rng(seed).integers(0, whole, ranks)):
        (folder / str(rank)).write_text(availability(runs, int(after)))
    (folder / "platform.xml").write_text(platform(ranks))
    (folder / "hosts").write_text("".join(f"h{rank}\n" for rank in range(ranks)))
    program = [str(word) for word in (ranks, *CFG, folder / "steps", SPEED * step, count)]
    words = ["smpirun", "-platform", "platform.xml", "-hostfile", "hosts", "-np", *program]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout.rpartition("mean step")[2]) / step


def by_simgrid(dataset: Path) -> Iterator[str]:
    """A line for each arm, number of ranks and length of a step."""
    case = read_plan(dataset / PLAN).cases[0].name
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["smpicc", "-O2", "-o", folder / "steps", SOURCE], check=True)
        events.write_events(dataset / "records", folder / "events")
        for arm in ARMS:
            runs = windows(folder / "events", case, arm)
            for ranks, step in product(RANKS, STEPS):
                by_replay = replayed(runs, ranks, step)
                # As many as there is time for in the recording, so that all of it is met once.
                count = round(sum(run.duration for run in runs) / 1e9 / step / by_replay)
                seeds = range(HOSTS // ranks)
                drawn = [simulated(folder, runs, ranks, step, count, seed) for seed in seeds]
                error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
                yield (
                    f"{arm}, {ranks} ranks, steps of {1e3 * step:g} ms: SimGrid "
                    f"{np.mean(drawn):.4f} (standard error {error:.4f}), replay {by_replay:.4f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("replay", help="real loops of one and two ranks beside the replay")
    simgrid = commands.add_parser("simgrid", help="SimGrid's simulation beside the replay")
    simgrid.add_argument("dataset", type=Path, nargs="?", default=Path(DATASET))
    given = parser.parse_args()
    for line in run_here() if given.command == "replay" else by_simgrid(given.dataset):
        print(line, flush=True)


if __name__ == "__main__":
    with shown_to_the_user():
        main()
