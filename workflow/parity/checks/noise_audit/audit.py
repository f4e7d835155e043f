"""Makes the pairs of the noise audit, reads what they left, and says what it amounts to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from parity.analysis.decision import decide
from parity.benchmarks.model import Outputs
from parity.checks.noise_audit import script
from parity.checks.noise_audit.script import Pair
from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.measure import history, node
from parity.measure.block_folder import BLOCK_FOLDERS
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, Case, Plan, write_plan
from parity.plan.study import load_study
from parity.plan.system import System
from parity.records.noise_audit import (
    AUDIT,
    NOISE_AUDIT_VERSION,
    LostPair,
    NoiseAudit,
    PairTimes,
    TimeRatio,
)
from parity.runtimes import every_arm
from parity.software.images import IMAGES, write_images
from parity.software.needed_image import ROOT, needed_image


def times_of(pair: Pair, plan: Plan, folder: Path, blocks: Path) -> PairTimes:
    """What the sides of a pair took, parsed from what they left.

    Raises:
        UserError: a side failed; the message says why.
    """
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
        attempts = history.attempts_of(place)
        record = history.good_record(attempts)
        if record is None or record.wall_seconds is None:
            raise UserError(history.last_reason(attempts) if attempts else "the block did not end")
        inside.append(_seconds(case, place / "attempt-1/stdout", record.wall_seconds))
    own_bare, outer_bare = zip(*bare, strict=True)
    own_inside, outer_inside = zip(*inside, strict=True)
    return PairTimes(
        pair=pair.number,
        block=pair.block,
        bare_first=pair.bare_first,
        bare=own_bare,
        inside=own_inside,
        bare_outer=outer_bare,
        inside_outer=outer_inside,
    )


def _seconds(case: Case, stdout: Path, outer: float) -> tuple[float, float]:
    """By the program's own clock (the first of its primary metrics is a time), and by the outer."""
    benchmark = case.definition
    text = stdout.read_text(encoding="utf-8", errors="replace")
    parsed = benchmark.parse(
        Outputs(stdout=text, wall_seconds=(outer,), parameters=case.parameters)
    )
    if not parsed.valid:
        raise UserError(f"{parsed.reason}: {parsed.detail}")
    return next(m.value for m in parsed.metrics if m.name == benchmark.primary[0]), outer


def ratios(times: Sequence[PairTimes]) -> tuple[TimeRatio, TimeRatio]:
    """The blocks' times over the bare ones, by the program's own clock and by the outer ones.

    Raises:
        UserError: there are fewer than two pairs.
    """
    if len(times) < 2:
        raise UserError("fewer than two pairs are good: an interval needs more of them")
    own = _ratio([(pair.inside, pair.bare) for pair in times])
    return own, _ratio([(pair.inside_outer, pair.bare_outer) for pair in times])


def _mean_log(seconds: Sequence[float]) -> float:
    return fmean(map(math.log, seconds))


def _ratio(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> TimeRatio:
    decision = decide([_mean_log(inside) - _mean_log(bare) for inside, bare in pairs], None)
    (low95, high95), (low90, high90) = decision.interval95, decision.interval90
    return TimeRatio(
        ratio=decision.estimate, low95=low95, high95=high95, low90=low90, high90=high90
    )


def measure(
    benchmark: str,
    pairs: int,
    seed: int,
    system: System,
    system_file: str,
    snakefile: str,
    site: Mapping[str, Any],
    live: Path,
) -> NoiseAudit:
    """Measure all pairs, and write the audit beside the plan of the dataset in `live`.

    Everything that the sides left stays where it is, under the name of this audit.

    Args:
        system_file: where `system` was read from; the blocks read it, too.
        site: Snakemake's resources of the rule, which hold the site's words for sbatch.

    Raises:
        UserError: the batch system is not Slurm, the job failed, or fewer than two pairs are good.
    """
    if system.batch_system not in ("", "slurm"):
        raise UserError(
            "the noise audit submits its job by sbatch, which this batch system does not have",
            where=f"{system_file}: batch_system",
            action="run it on a machine, or on a cluster under Slurm",
        )
    began = datetime.now(UTC)
    label = f"a{began:%Y%m%dt%H%M%S}"
    folder = live.parent.resolve() / f"harness-{label}"
    folder.mkdir()
    study = folder / "study.yaml"
    # JSON is YAML, and the study is checked as any other.
    study.write_text(json.dumps(script.study_of(benchmark, pairs, label, seed), indent=1))
    plan = make_plan(load_study(study, label))
    write_plan(folder / PLAN, plan)
    changed = {"study": str(study), "scale": label, "system": system_file}
    _without_image(plan, system)
    order, path, case = script.pairs_of(plan), folder / "script.sh", plan.cases[0]
    # Its words do not depend on the node that it runs on.
    program = case.definition.program(case.parameters, node.node_facts()).argv
    block = script.block_words(system, changed, plan.campaign, snakefile)
    starts = len(plan.blocks[0].runs)
    path.write_text(script.script_of(order, program, starts, block, folder, system.modules))
    in_a_job = script.submit_words(folder, pairs, site)
    output_of(in_a_job if system.batch_system else ["/bin/sh", path])
    times, lost = [], []
    for pair in order:
        try:
            times.append(times_of(pair, plan, folder, BLOCK_FOLDERS))
        except (UserError, OSError) as error:
            lost.append(LostPair(pair=pair.number, block=pair.block, reason=str(error)))
    own, outer = ratios(times)
    audit = NoiseAudit(
        version=NOISE_AUDIT_VERSION,
        program=plan.benchmark_titles[case.benchmark],
        parameters=case.parameters,
        campaign=plan.campaign,
        seed=plan.seed,
        planned=len(order),
        lost=tuple(lost),
        own=own,
        outer=outer,
        values=tuple(times),
        system=system.name,
        scale_label=system.scale_label,
        measured=began.isoformat(timespec="seconds"),
    )
    for place in (folder, live):
        AUDIT.write_in(place, audit)
    return audit


def _without_image(plan: Plan, system: System) -> None:
    """Write the records of no image, which the blocks ask for; those that are there stay."""
    chosen = [every_arm()[name] for name in plan.arms]
    records = Path(needed_image(system.base_image, (), chosen).records_in(ROOT)) / IMAGES
    if not records.exists():
        records.parent.mkdir(parents=True, exist_ok=True)
        write_images(records, {})


def line_of(audit: NoiseAudit) -> str:
    """The result for people."""
    own, outer = (
        f"{clock.ratio:.4f} [{clock.low95:.4f}, {clock.high95:.4f}]"
        for clock in (audit.own, audit.outer)
    )
    return (
        f"{audit.program}, in a block over under a bare script: {own} by its own clock, "
        f"{outer} by the outer one; {len(audit.values)} of {audit.planned} pairs, "
        f"{audit.system} ({audit.scale_label})"
    )
