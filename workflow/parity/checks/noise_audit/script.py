"""The two sides of the noise audit: which program, in which order, by which words."""

from __future__ import annotations

import math
import random
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.measure.block_folder import LIVE
from parity.plan.plan import Plan
from parity.plan.system import System
from parity.runtimes import arms

# A pair takes about ten seconds; a job that waits for a node to become quiet takes longer.
MINUTES_BESIDE, MINUTES_PER_PAIR = 15, 1
# The site's words for sbatch, by the name that they have as Snakemake's resources.
_SITE_WORDS = {
    "slurm_partition": "--partition",
    "slurm_account": "--account",
    "constraint": "--constraint",
    "qos": "--qos",
}

# `bare` starts the program as a user's job script would. Before it the node is left alone
# for as long as a block leaves it before its first run.
_SCRIPT = Path(__file__).with_name("pairs.sh.template").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Pair:
    """One pair: the block of its one side, and which side comes first."""

    number: int
    block: str
    bare_first: bool


def study_of(benchmark: str, pairs: int, label: str, seed: int) -> dict[str, Any]:
    """The study whose blocks are the one side: a program of one node in the A/A pair.

    Args:
        label: names this audit, so that no other has blocks of the same name.
    """
    outside = [name for name, arm in arms().items() if arm.is_native]
    return {
        "study": "harness",
        "title": "Noise audit of the harness",
        "reproduces": "none",
        "seed": seed,
        "reference": outside[0],
        "aa_pair": outside[:2],
        "arms": outside[:2],
        "benchmarks": {benchmark: {"margin_percent": 1}},
        "scales": {label: {"blocks": pairs, "attempts": 1}},
    }


def pairs_of(plan: Plan) -> list[Pair]:
    """A pair for each block; in half of them, drawn by the plan's seed, the bare side is first."""
    blocks = plan.blocks
    halves = [True, False] * math.ceil(len(blocks) / 2)
    bare_first = random.Random(f"harness/{plan.seed}").sample(halves, len(blocks))
    return [
        Pair(block.number, block.name, first)
        for block, first in zip(blocks, bare_first, strict=True)
    ]


def script_of(
    pairs: Sequence[Pair],
    program: Sequence[str],
    starts: int,
    block: Sequence[str],
    folder: Path,
    modules: Sequence[str],
) -> str:
    """The shell script that makes all pairs, one after the other.

    Args:
        program: the program's own words.
        starts: how often a side starts it.
        block: the words that run a block; `@block@` in them stands for its id.
        folder: absolute path of the folder for what the bare side leaves.
        modules: environment modules to load, as before a block.
    """
    words = " ".join(map(shlex.quote, block)).replace("@block@", '"$1"')
    lines = []
    for pair in pairs:
        sides = [f"bare {pair.number:04d}", f"block {pair.block}"]
        lines += sides if pair.bare_first else sides[::-1]
    return _SCRIPT.format(
        here=shlex.quote(str(Path.cwd())),
        modules=f"module load {shlex.join(modules)}" if modules else ":",
        starts=" ".join(map(str, range(1, starts + 1))),
        folder=shlex.quote(str(folder)),
        program=shlex.join(program),
        block=words,
        sides="\n".join(lines),
    )


def block_words(
    system: System, config: Mapping[str, str], campaign: str, snakefile: str
) -> list[str]:
    """The words that run the block `@block@` as Snakemake does: in a job, or on this machine.

    Args:
        config: the audit's own study, its scale, and the system's file.
        campaign: of that study at that scale; each of its blocks is a batch of its own.
    """
    words = [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--nolock"]
    words += ["--nocolor", "--cores", "all", "--allowed-rules", "run_batch"]
    words += ["--config", *(f"{key}={value}" for key, value in config.items())]
    if not system.batch_system:
        return [*words, "--", f"{LIVE}/{campaign}/batches/@block@.json"]
    # What the executor plugin puts into a job; this Snakemake then starts another one.
    words += ["--target-jobs", "run_batch:batch=@block@", "--force", "--force-use-threads"]
    words += ["--ignore-incomplete", "--no-hooks", "--target-files-omit-workdir-adjustment"]
    return [*words, "--executor", "slurm-jobstep", "--jobs", "1", "--mode", "remote"]


def submit_words(folder: Path, pairs: int, site: Mapping[str, Any]) -> list[str]:
    """The command line that runs the script as one job on one node of its own, and waits."""
    minutes = MINUTES_BESIDE + MINUTES_PER_PAIR * pairs
    words = ["sbatch", "--wait", "--exclusive", "--nodes=1", "--no-requeue"]
    words += ["--job-name=parity-harness", f"--time={minutes}", f"--output={folder / 'job.log'}"]
    words += [f"{option}={site[key]}" for key, option in _SITE_WORDS.items() if site.get(key)]
    return [*words, str(folder / "script.sh")]
