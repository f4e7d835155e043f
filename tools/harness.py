"""Asks whether the workflow disturbs what it measures: `snakemake harness` calls it.

The same program runs under a bare shell script, and in a block just as Snakemake starts one. Both
sides of a pair follow each other in one allocation, in random order, and the program's own clock is
compared. The blocks are a study of their own with the same arm twice: nothing is imitated.
"""

import argparse
import json
import math
import random
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from parity.analysis.decision import FEWEST_FOR_A_DIFFERENCE, decide
from parity.benchmarks.model import Outputs
from parity.core.commands import output_of
from parity.core.errors import UserError, shown_to_the_user
from parity.measure import node, progress
from parity.measure.documents import BLOCK_FOLDERS, LIVE
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, Case, Plan, write_plan
from parity.plan.study import load_study
from parity.plan.system import System, load_system
from parity.records import noise_audit
from parity.records.noise_audit import LostPair, NoiseAudit, PairTimes, TimeRatio
from parity.runtimes import arms, every_arm
from parity.software.images import IMAGES, ROOT, needed_image, write_images

# A pair takes about ten seconds; a job that waits for a node to become quiet takes longer.
MINUTES_BESIDE, MINUTES_PER_PAIR = 15, 1
# The site's words for sbatch, by the name that they have as Snakemake's resources.
SITE_WORDS = {"slurm_partition": "--partition", "slurm_account": "--account",
              "constraint": "--constraint", "qos": "--qos"}  # fmt: skip
# `bare` starts the program as a user's job script would. Before it the node is left alone
# for as long as a block leaves it before its first run.
TEMPLATE = Path(__file__).with_name("harness.sh.template")


class Pair(NamedTuple):
    """One pair: the block of its one side, and which side comes first."""

    number: int
    block: str
    bare_first: bool


def study_of(benchmark: str, pairs: int, label: str, seed: int) -> dict[str, Any]:
    """The study whose blocks are the one side: a program of one node in the A/A pair."""
    pair = [name for name, arm in arms().items() if arm.is_native][:2]
    named = {"study": "harness", "title": "Noise audit of the harness", "reproduces": "none"}
    of_arms = {"reference": pair[0], "aa_pair": pair, "arms": pair}
    scales = {label: {"blocks": pairs, "attempts": 1}}
    measured = {"benchmarks": {benchmark: {"margin_percent": 1}}, "scales": scales, "seed": seed}
    return named | of_arms | measured


def pairs_of(plan: Plan) -> list[Pair]:
    """A pair for each block; in half of them, drawn by the plan's seed, the bare side is first."""
    blocks = plan.blocks
    halves = [True, False] * math.ceil(len(blocks) / 2)
    bare_first = random.Random(f"harness/{plan.seed}").sample(halves, len(blocks))
    return [Pair(b.number, b.name, first) for b, first in zip(blocks, bare_first, strict=True)]


def script_of(
    pairs: Sequence[Pair], program: Sequence[str], starts: int, block: Sequence[str], folder: Path,
    modules: Sequence[str],
) -> str:  # fmt: skip
    """The shell script that makes all pairs, one after the other.

    A side starts `program` so many times, after it loaded `modules`; the bare one leaves what came
    of it in a folder. `block` are the words that run a block; `@block@` in them stands for its id.
    """
    lines = []
    for pair in pairs:
        sides = [f"bare {pair.number:04d}", f"block {pair.block}"]
        lines += sides if pair.bare_first else sides[::-1]
    return TEMPLATE.read_text(encoding="utf-8").format(
        here=shlex.quote(str(Path.cwd())), folder=shlex.quote(str(folder)),
        modules=f"module load {shlex.join(modules)}" if modules else ":",
        starts=" ".join(map(str, range(1, starts + 1))), program=shlex.join(program),
        block=shlex.join(block).replace("@block@", '"$1"'), sides="\n".join(lines),
    )  # fmt: skip


def block_words(
    system: System, config: Mapping[str, str], campaign: str, snakefile: str
) -> list[str]:
    """The words that run the block `@block@` as Snakemake does: in a job, or on this machine.

    `config` is the audit's own study, its scale, and the system's file; each block is a batch.
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
    words += [f"{option}={site[key]}" for key, option in SITE_WORDS.items() if site.get(key)]
    return [*words, str(folder / "script.sh")]


def times_of(pair: Pair, plan: Plan, folder: Path, blocks: Path) -> PairTimes:
    """What the sides of a pair took; UserError: a side failed, and why."""
    case, runs = plan.cases[0], plan.block(pair.block).runs
    bare, inside = [], []
    for start in range(1, len(runs) + 1):
        left = folder / f"{pair.number:04d}-{start}"
        began, ended, status = left.with_suffix(".times").read_text().split()
        if status != "0":
            raise UserError(f"the bare program ended with exit status {status}")
        bare.append(_seconds(case, left.with_suffix(".stdout"), float(ended) - float(began)))
    for run in runs:
        place = blocks / pair.block / "runs" / run.name
        attempts = progress.attempts_of(place)
        record = progress.good_record(attempts)
        if record is None or record.wall_seconds is None:
            raise UserError(progress.last_reason(attempts) if attempts else "the block did not end")
        inside.append(_seconds(case, place / "attempt-1/stdout", record.wall_seconds))
    sides = dict(zip(("bare", "bare_outer"), zip(*bare, strict=True), strict=True))
    sides |= zip(("inside", "inside_outer"), zip(*inside, strict=True), strict=True)
    return PairTimes(pair=pair.number, block=pair.block, bare_first=pair.bare_first, **sides)


def _seconds(case: Case, stdout: Path, outer: float) -> tuple[float, float]:
    """By the program's own clock (the first of its primary metrics is a time), and by the outer."""
    text = stdout.read_text(encoding="utf-8", errors="replace")
    outputs = Outputs(stdout=text, wall_seconds=(outer,), parameters=case.parameters)
    parsed = case.definition.parse(outputs)
    if not parsed.valid:
        raise UserError(f"{parsed.reason}: {parsed.detail}")
    metric = case.definition.primary[0]
    return next(each.value for each in parsed.metrics if each.name == metric), outer


def ratios(times: Sequence[PairTimes]) -> tuple[TimeRatio, TimeRatio]:
    """The blocks' times over the bare ones, by the program's own clock and by the outer ones.

    UserError: there are fewer pairs than an interval needs.
    """
    if len(times) < (fewest := FEWEST_FOR_A_DIFFERENCE):
        raise UserError(f"{len(times)} of the pairs are good: an interval needs {fewest}")
    own = [(pair.inside, pair.bare) for pair in times]
    outer = [(pair.inside_outer, pair.bare_outer) for pair in times]
    return _ratio(own), _ratio(outer)


def _ratio(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> TimeRatio:
    logs = [fmean(map(math.log, inside)) - fmean(map(math.log, bare)) for inside, bare in pairs]
    decision = decide(logs, None)
    (low95, high95), (low90, high90) = decision.interval95, decision.interval90
    ends = {"low95": low95, "high95": high95, "low90": low90, "high90": high90}
    return TimeRatio(ratio=decision.estimate, **ends)


def measure(given: argparse.Namespace) -> NoiseAudit:
    """Measure all pairs, and write the audit beside the plan of the dataset.

    Everything that the sides left stays where it is, under the name of this audit. UserError: the
    batch system is not Slurm, the job failed, or fewer than two pairs are good.
    """
    system, live = load_system(given.system), given.plan.parent
    if system.batch_system not in ("", "slurm"):
        problem = "the noise audit submits its job by sbatch, which this batch system does not have"
        action = "run it on a machine, or on a cluster under Slurm"
        raise UserError(problem, where=f"{given.system}: batch_system", action=action)
    began = datetime.now(UTC)
    label = f"a{began:%Y%m%dt%H%M%S}"
    folder = live.parent.resolve() / f"harness-{label}"
    folder.mkdir()
    study, path = folder / "study.yaml", folder / "script.sh"
    # JSON is YAML, and the study is checked as any other.
    written = study_of(given.benchmark, given.pairs, label, given.seed)
    study.write_text(json.dumps(written, indent=1))
    plan = make_plan(load_study(study, label))
    write_plan(folder / PLAN, plan)
    # The records of no image, which the blocks ask for; those that are there stay.
    chosen = [every_arm()[name] for name in plan.arms]
    records = Path(needed_image(system.base_image, (), chosen).records_in(ROOT)) / IMAGES
    if not records.exists():
        records.parent.mkdir(parents=True, exist_ok=True)
        write_images(records, {})
    order, case = pairs_of(plan), plan.cases[0]
    # Its words do not depend on the node that it runs on.
    program = case.definition.program(case.parameters, node.node_facts()).argv
    changed = {"study": str(study), "scale": label, "system": str(given.system)}
    block = block_words(system, changed, plan.campaign, given.snakefile)
    starts = len(plan.blocks[0].runs)
    path.write_text(script_of(order, program, starts, block, folder, system.modules))
    in_a_job = submit_words(folder, given.pairs, given.site)
    output_of(in_a_job if system.batch_system else ["/bin/sh", path])
    times, lost = [], []
    for pair in order:
        try:
            times.append(times_of(pair, plan, folder, BLOCK_FOLDERS))
        except (UserError, OSError) as error:
            lost.append(LostPair(pair=pair.number, block=pair.block, reason=str(error)))
    own, outer = ratios(times)
    audit = NoiseAudit(
        version=noise_audit.NOISE_AUDIT_VERSION, program=plan.benchmark_titles[case.benchmark],
        parameters=case.parameters, campaign=plan.campaign, seed=plan.seed, planned=len(order),
        lost=tuple(lost), own=own, outer=outer, values=tuple(times), system=system.name,
        scale_label=system.scale_label, measured=began.isoformat(timespec="seconds"),
    )  # fmt: skip
    for place in (folder, live):
        noise_audit.AUDIT.write_in(place, audit)
    return audit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plan", type=Path, required=True, help="of the dataset that gets it")
    parser.add_argument("--system", type=Path, required=True)
    parser.add_argument("--snakefile", required=True, help="that starts the blocks")
    parser.add_argument("--benchmark", default="sysbench")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--site", type=json.loads, default={}, help="words for sbatch, as JSON")
    audit = measure(parser.parse_args())
    own, outer = (
        f"{clock.ratio:.4f} [{clock.low95:.4f}, {clock.high95:.4f}]"
        for clock in (audit.own, audit.outer)
    )
    print(
        f"{audit.program}, in a block over under a bare script: {own} by its own clock, "
        f"{outer} by the outer one; {len(audit.values)} of {audit.planned} pairs, "
        f"{audit.system} ({audit.scale_label})"
    )


if __name__ == "__main__":
    with shown_to_the_user():
        main()
