"""Makes the pairs of the noise audit, reads what they left, and says what it amounts to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.analysis.decision import decide
from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs
from parity.checks.noise_audit import script
from parity.checks.noise_audit.script import BLOCKS, Pair
from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.measure import history, node
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, Case, Plan, write_plan
from parity.plan.study import load_study
from parity.plan.system import System
from parity.records.noise_audit import (
    NOISE_AUDIT_VERSION,
    LostPair,
    NoiseAudit,
    PairTimes,
    TimeRatio,
    write_noise_audit,
)


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
        outer = float(ended) - float(began)
        bare.append((_own_seconds(case, left.with_suffix(".stdout"), outer), outer))
    for run in runs:
        place = blocks / pair.block / "runs" / run.name
        attempts = history.attempts_of(place)
        record = history.good_record(attempts)
        if record is None or record.wall_seconds is None:
            reason = history.last_reason(attempts) if attempts else "the block did not end"
            raise UserError(reason)
        outer = record.wall_seconds
        inside.append((_own_seconds(case, place / "attempt-1/stdout", outer), outer))
    return PairTimes(
        pair=pair.number,
        block=pair.block,
        bare_first=pair.bare_first,
        bare=tuple(own for own, _ in bare),
        inside=tuple(own for own, _ in inside),
        bare_outer=tuple(outer for _, outer in bare),
        inside_outer=tuple(outer for _, outer in inside),
    )


def _own_seconds(case: Case, stdout: Path, outer: float) -> float:
    """What the program's own clock said; the first of its primary metrics is a time."""
    benchmark = benchmarks()[case.benchmark]
    text = stdout.read_text(encoding="utf-8", errors="replace")
    parsed = benchmark.parse(
        Outputs(stdout=text, wall_seconds=(outer,), parameters=case.parameters)
    )
    if not parsed.valid:
        raise UserError(f"{parsed.reason}: {parsed.detail}")
    return next(m.value for m in parsed.metrics if m.name == benchmark.primary[0])


def ratios(times: Sequence[PairTimes]) -> tuple[TimeRatio, TimeRatio]:
    """The blocks' times over the bare ones, by the program's own clock and by the outer ones.

    Raises:
        UserError: there are fewer than two pairs.
    """
    own = [_mean_log(pair.inside) - _mean_log(pair.bare) for pair in times]
    outer = [_mean_log(pair.inside_outer) - _mean_log(pair.bare_outer) for pair in times]
    return _ratio(own), _ratio(outer)


def _mean_log(seconds: Sequence[float]) -> float:
    return sum(map(math.log, seconds)) / len(seconds)


def _ratio(log_ratios: Sequence[float]) -> TimeRatio:
    if len(log_ratios) < 2:
        raise UserError("fewer than two pairs are good: an interval needs more of them")
    decision = decide(log_ratios, None)
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
        UserError: the job failed, or fewer than two pairs are good.
    """
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
    order, path = script.pairs_of(plan), folder / "script.sh"
    path.write_text(
        script.script_of(
            order,
            _program(plan),
            len(plan.blocks[0].runs),
            script.block_words(system, changed, snakefile),
            folder,
            system.modules,
        )
    )
    in_a_job = script.submit_words(folder, pairs, site)
    output_of(in_a_job if system.batch_system else ["/bin/sh", path])
    times, lost = _times_and_lost(order, plan, folder)
    own, outer = ratios(times)
    case = plan.cases[0]
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
        write_noise_audit(place, audit)
    return audit


def _program(plan: Plan) -> Sequence[str]:
    """The words of the plan's program; they do not depend on the node that it runs on."""
    case, here = plan.cases[0], node.node_facts()
    return benchmarks()[case.benchmark].program(case.parameters, here).argv


def _times_and_lost(
    order: Sequence[Pair], plan: Plan, folder: Path
) -> tuple[list[PairTimes], list[LostPair]]:
    """What the good pairs took, and the pairs of which a side failed."""
    times, lost = [], []
    for pair in order:
        try:
            times.append(times_of(pair, plan, folder, BLOCKS))
        except (UserError, OSError) as error:
            lost.append(LostPair(pair=pair.number, block=pair.block, reason=str(error)))
    return times, lost


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
