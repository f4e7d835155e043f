"""SimGrid's simulation of MPI programs beside the replay, both with the detours of an archive.

`python tools/check_simgrid.py [dataset]` needs Debian's libsimgrid-dev (3.32; SMPI: Degomme et al.,
IEEE TPDS 2017). Each rank has a host whose speed is zero during the recorded detours, from a random
moment of the recording on, and works and waits in a barrier; messages cost next to nothing. So only
the model of noise is compared, which the replay solves without drawing anything.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import check_replay
import numpy as np

from parity.analysis.noise.windows import Window, split
from parity.plan.plan import PLAN, read_plan
from parity.records import events

DATASET = "results/archive/epyc2-limits-2026-11-22"
ARMS = ("native-a", "podman-quota-9000-of-10000-us", "podman-quota-50000-of-100000-us")
RANKS, STEPS = (2, 4, 8, 16), (1e-3, 1e-2)
SPEED = 1e9  # flop/s of a host, and so of a rank that nothing holds up
# SimGrid gives up where a host with work has no speed at all.
STOPPED = 1e-6
HOSTS = 32  # of all simulations of a number of ranks, each at a moment of its own
HEAD = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
SOURCE = Path(__file__).with_name("simgrid_steps.c")


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
    routes = [f'<route src="h{a}" dst="h{b}"><link_ctn id="l"/></route>'
              for a, b in product(hosts, hosts) if a < b]  # fmt: skip
    return "\n".join([HEAD, '<platform version="4.1"><zone id="z" routing="Full">', *made, link,
                      *routes, "</zone></platform>"])  # fmt: skip


def simulated(
    folder: Path, runs: Sequence[Window], ranks: int, step: float, count: int, seed: int
) -> float:
    """So many steps over their work by SimGrid, with the detours of these runs."""
    whole = sum(run.duration for run in runs)
    for rank, after in enumerate(np.random.default_rng(seed).integers(0, whole, ranks)):
        (folder / str(rank)).write_text(availability(runs, int(after)))
    (folder / "platform.xml").write_text(platform(ranks))
    (folder / "hosts").write_text("".join(f"h{rank}\n" for rank in range(ranks)))
    words = ["smpirun", "-platform", "platform.xml", "-hostfile", "hosts", "-np", ranks,
             "--cfg=smpi/simulate-computation:no", "--cfg=surf/precision:1e-12",
             folder / "steps", SPEED * step, count]  # fmt: skip
    done = subprocess.run(
        [*map(str, words)], cwd=folder, check=True, capture_output=True, text=True
    )
    return float(done.stdout.rpartition("mean step")[2]) / step


def lines(dataset: Path) -> Iterator[str]:
    """A line for each arm, number of ranks and length of a step."""
    case = read_plan(dataset / PLAN).cases[0].name
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["smpicc", "-O2", "-o", folder / "steps", SOURCE], check=True)
        events.write_events(dataset / "records", folder / "events")
        for arm in ARMS:
            runs = windows(folder / "events", case, arm)
            for ranks, step in product(RANKS, STEPS):
                replayed = check_replay.simulated(runs, ranks, step)
                # As many as there is time for in the recording, so that all of it is met once.
                count = round(sum(run.duration for run in runs) / 1e9 / step / replayed)
                drawn = [
                    simulated(folder, runs, ranks, step, count, seed)
                    for seed in range(HOSTS // ranks)
                ]
                error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
                yield (
                    f"{arm}, {ranks} ranks, steps of {1e3 * step:g} ms: SimGrid "
                    f"{np.mean(drawn):.4f} (standard error {error:.4f}), replay {replayed:.4f}"
                )


if __name__ == "__main__":
    for line in lines(Path(sys.argv[1] if len(sys.argv) > 1 else DATASET)):
        print(line, flush=True)
