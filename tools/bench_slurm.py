"""What the harness costs under Slurm: a part of `make bench`.

The overhead of a job is all of its time that none of its programs ran, once however many blocks it
measures. The job itself writes when it starts and ends, because Slurm knows only whole seconds.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import yaml

from parity.core.commands import answer_of, is_installed, output_of
from parity.core.files import read_json
from parity.measure import progress
from parity.plan.looks import batches_of
from parity.plan.making import make_plan
from parity.plan.study import load_study
from parity.plan.system import load_system
from parity.runtimes import every_arm
from parity.software.images import IMAGES, needed_image, read_images, write_images
from parity.software.images import ROOT as IMAGE_ROOT

ROOT = Path(__file__).parents[1]
STUDY = "config/studies/bench.yaml"
REPETITIONS = (50, 100, 200)
SCALE = "smoke"  # its node counts are 1, 2 and 4
BLOCKS_PER_JOB = (1, 4)
_CLUSTER = [sys.executable, str(ROOT / "tools/virtual_cluster")]
_SLURM = ("snakemake", "--profile", "slurm")


def job_line(blocks: Sequence[Path], started: float, ended: float) -> tuple[int, str]:
    """Where the time of one job went, by what it takes for each of its blocks; and its nodes.

    Each block was run in one session; the job started and ended so many seconds after 1970.
    """
    tallies = [read_json(block / "progress.json") for block in blocks]
    session = read_json(blocks[0] / "session-1-start.json")
    begun, checked, last = (
        datetime.fromisoformat(text).timestamp()
        for text in (tallies[0]["started"], session["started"], tallies[-1]["updated"])
    )
    runs = [run for block in blocks for run in (block / "runs").iterdir()]
    attempts = [made for run in runs for made in progress.attempts_of(run)]
    programs = sum(made.wall_seconds or 0.0 for made in attempts if made)
    overhead, nodes = ended - started - programs, 1 + len(session["other_nodes"])
    return nodes, (
        f"a job beyond its programs, for each of {len(blocks)} blocks  "
        f"{overhead / len(blocks):.2f} s  (bound 2 of several; {nodes} nodes, "
        f"{len(session['arms'])} arms; in all: until the runner starts {begun - started:.2f}, "
        f"looking at the nodes {checked - begun:.2f}, around programs "
        f"{last - checked - programs:.2f}, ending {ended - last:.2f}; programs {programs:.1f})"
    )


def planning_seconds(clone: Path, blocks: int) -> float:
    """Wall time of a dry run of the published cluster design, of so many blocks per node count."""
    document = yaml.safe_load((ROOT / "config/studies/scaling.yaml").read_text())
    document["scales"]["cluster"]["blocks"] = blocks
    (clone / STUDY).write_text(yaml.safe_dump(document))
    began = time.monotonic()
    run([*_SLURM, "-n", "all", "--config", f"study={STUDY}", "scale=cluster"], clone)
    return time.monotonic() - began


def planning_lines(taken: Sequence[float]) -> Iterator[str]:
    """The dry runs of `REPETITIONS`, and how they grow.

    Snakemake's start is in all of them, so growth is judged by differences: twice the
    blocks added take twice the time if planning is linear.
    """
    growth = (taken[2] - taken[1]) / (taken[1] - taken[0])
    yield f"snakemake --profile slurm -n all, cluster  {taken[0]:.1f} s  (bound 10)"
    yield (
        f"  {REPETITIONS[1]} and {REPETITIONS[2]} blocks per node count    {taken[1]:.1f} s, "
        f"{taken[2]:.1f} s  (the second step takes {growth:.2f} times the first; 2 is linear)"
    )


def job_lines(clone: Path, blocks: int) -> list[str]:
    """One job of so many blocks on each number of nodes, run on the virtual cluster in a row."""
    _study_of_one_job(clone, blocks)
    times = clone / "job-times"
    # Words of the plugin's job script, before Snakemake and at the very end. No variables:
    # the submitting shell would fill them in.
    stamp = f"date +%s.%N >> {times}"
    words = ["--jobs", "1", "--precommand", f"trap '{stamp}' EXIT && {stamp}"]
    words += ["--allowed-rules", "write_plan", "run_batch"]
    words += ["--config", f"study={STUDY}", f"scale={SCALE}"]
    plan = make_plan(load_study(clone / STUDY, SCALE))
    batches = batches_of(plan)
    targets = [f"results/live/{plan.campaign}/batches/{name}.json" for name in batches]
    with cluster_up():
        run([*_SLURM, *words, "--", *targets], clone)
    moments = [float(line) for line in times.read_text().split()]
    spans = list(itertools.pairwise(moments))[::2]
    place = clone / "results/blocks"
    folders = [[place / block.name for block in batch.blocks] for batch in batches.values()]
    folders.sort(key=lambda blocks: read_json(blocks[0] / "progress.json")["started"])
    jobs = [job_line(folder, *span) for folder, span in zip(folders, spans, strict=True)]
    return [line for _, line in sorted(jobs, key=lambda job: job[0])]


def _study_of_one_job(clone: Path, blocks: int) -> None:
    """The study's smoke scale with one job of blocks for each number of nodes, and its images.

    Where no images were made on this machine, the arms outside of containers are left.
    """
    document = yaml.safe_load((ROOT / "config/studies/scaling.yaml").read_text())
    document["scales"][SCALE] |= {"blocks": blocks, "blocks_per_job": blocks}
    (clone / STUDY).write_text(yaml.safe_dump(document))
    made = ROOT / _records(clone)
    images = read_images(made) if made.exists() else {}
    if not images:
        document["scales"][SCALE]["arms"] = document["aa_pair"]
        (clone / STUDY).write_text(yaml.safe_dump(document))
    records = clone / _records(clone)
    records.parent.mkdir(parents=True)
    write_images(records, images)


def _records(clone: Path) -> Path:
    """Where the records of the study's image are in a clone."""
    study = load_study(clone / STUDY, SCALE)
    used = [case.definition for case in study.cases]
    base = load_system(clone / "config/systems/slurm.yaml").base_image
    needed = needed_image(base, used, [every_arm()[name] for name in study.arms])
    return Path(needed.records_in(IMAGE_ROOT)) / IMAGES


@contextmanager
def new_clone() -> Iterator[Path]:
    """A clone of HEAD, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "parity"
        output_of(["git", "clone", "--quiet", ROOT, clone])
        yield clone


@contextmanager
def cluster_up() -> Iterator[None]:
    """The virtual cluster; taken down afterwards only if it was not up before."""
    was_up, _ = answer_of(["sinfo"])
    if not was_up:
        output_of([*_CLUSTER, "up"])
    try:
        yield
    finally:
        if not was_up:
            output_of([*_CLUSTER, "down"])


def run(words: Sequence[str], folder: Path) -> None:
    output_of(["env", "-C", folder, *words])


def lines() -> Iterator[str]:
    """The lines of the report; one that says why where there is no Slurm."""
    if missing := [name for name in ("sbatch", "srun", "squeue") if not is_installed(name)]:
        yield f"snakemake --profile slurm  not measured: no {', '.join(missing)} on PATH"
        return
    with new_clone() as clone:
        yield from planning_lines([planning_seconds(clone, each) for each in REPETITIONS])
    for blocks in BLOCKS_PER_JOB:
        with new_clone() as clone:
            yield from job_lines(clone, blocks)
