"""Makes the pairs of the noise audit, reads what they left, and says what it amounts to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parity.analysis.estimate import estimate
from parity.benchmarks import benchmarks
from parity.benchmarks.model import Outputs
from parity.checks.noise_audit import script
from parity.checks.noise_audit.script import BLOCKS, Pair
from parity.core.commands import output_of
from parity.core.errors import UserError
from parity.core.files import write_json
from parity.measure import history, node
from parity.plan.making import make_plan
from parity.plan.plan import PLAN, Case, Plan, write_plan
from parity.plan.study import load_study
from parity.plan.system import System

RESULT = "harness.json"


@dataclass(frozen=True)
class Sides:
    """What the two sides of a pair took, in seconds, one number for each start.

    Attributes:
        bare, inside: by the program's own clock, under the bare script and in the block.
        bare_outer, inside_outer: from just before the start to the end, as a shell and
            as the runner see it. The runner's time holds the words around the program.
    """

    pair: int
    block: str
    bare_first: bool
    bare: tuple[float, ...]
    inside: tuple[float, ...]
    bare_outer: tuple[float, ...]
    inside_outer: tuple[float, ...]


def sides_of(pair: Pair, plan: Plan, folder: Path, blocks: Path) -> Sides:
    """What a pair left, parsed.

    Raises:
        UserError: a side failed; the message says why.
    """
    case, runs = plan.cases[0], plan.block(pair.block)["runs"]
    bare, inside = [], []
    for start in range(1, len(runs) + 1):
        left = folder / f"{pair.number:04d}-{start}"
        began, ended, status = left.with_suffix(".times").read_text().split()
        if status != "0":
            raise UserError(f"the bare program ended with exit status {status}")
        outer = float(ended) - float(began)
        bare.append((_own_seconds(case, left.with_suffix(".stdout"), outer), outer))
    for run in runs:
        place = blocks / pair.block / "runs" / run["run"]
        attempts = history.attempts_of(place)
        record = history.good_record(attempts)
        if record is None or record.wall_seconds is None:
            reason = history.last_reason(attempts) if attempts else "the block did not end"
            raise UserError(reason)
        outer = record.wall_seconds
        inside.append((_own_seconds(case, place / "attempt-1/stdout", outer), outer))
    own, outer = zip(*bare, strict=True)
    own_inside, outer_inside = zip(*inside, strict=True)
    return Sides(pair.number, pair.block, pair.bare_first, own, own_inside, outer, outer_inside)


def _own_seconds(case: Case, stdout: Path, outer: float) -> float:
    """What the program's own clock said; the first of its primary metrics is a time."""
    benchmark = benchmarks()[case["benchmark"]]
    text = stdout.read_text(encoding="utf-8", errors="replace")
    parsed = benchmark.parse(
        Outputs(stdout=text, wall_seconds=(outer,), parameters=case["parameters"])
    )
    if not parsed.valid:
        raise UserError(f"{parsed.reason}: {parsed.detail}")
    return next(m.value for m in parsed.metrics if m.name == benchmark.primary[0])


def ratios(sides: Sequence[Sides]) -> dict[str, float]:
    """Geometric mean of the blocks' times over the bare ones, with its 95 % and 90 % intervals.

    `outer_…` is the same of the outer clocks: it also holds what the words around the
    program take before it starts, which the program's own clock does not see.
    """
    own = [_log_ratio(pair.inside, pair.bare) for pair in sides]
    outer = [_log_ratio(pair.inside_outer, pair.bare_outer) for pair in sides]
    return _interval(own, "") | _interval(outer, "outer_")


def _log_ratio(inside: Sequence[float], bare: Sequence[float]) -> float:
    return _mean_log(inside) - _mean_log(bare)


def _mean_log(seconds: Sequence[float]) -> float:
    return sum(map(math.log, seconds)) / len(seconds)


def _interval(effects: Sequence[float], prefix: str) -> dict[str, float]:
    if len(effects) < 2:
        raise UserError("fewer than two pairs are good: an interval needs more of them")
    found = estimate(effects)
    (low95, high95), (low90, high90) = found.interval95, found.interval90
    logs = {"ratio": found.mean, "low95": low95, "high95": high95, "low90": low90, "high90": high90}
    return {f"{prefix}{name}": math.exp(value) for name, value in logs.items()}


def audit(
    benchmark: str,
    pairs: int,
    seed: int,
    system: System,
    system_file: str,
    snakefile: str,
    site: Mapping[str, Any],
    live: Path,
) -> dict[str, Any]:
    """Measure all pairs and write `harness.json` of the dataset in `live`, which is returned.

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
            len(plan.blocks[0]["runs"]),
            script.block_words(system, changed, snakefile),
            folder,
            system.modules,
        )
    )
    in_a_job = script.submit_words(folder, pairs, site)
    output_of(in_a_job if system.batch_system else ["/bin/sh", path])
    result = _result(plan, order, folder) | {
        "system": system.name,
        "scale_label": system.scale_label,
        "measured": began.isoformat(timespec="seconds"),
    }
    for place in (folder, live):
        write_json(place / RESULT, result)
    return result


def _program(plan: Plan) -> Sequence[str]:
    """The words of the plan's program; they do not depend on the node that it runs on."""
    case, here = plan.cases[0], node.node_facts()
    return benchmarks()[case["benchmark"]].program(case["parameters"], here).argv


def _result(plan: Plan, order: Sequence[Pair], folder: Path) -> dict[str, Any]:
    good, bad = [], []
    for pair in order:
        try:
            good.append(sides_of(pair, plan, folder, BLOCKS))
        except (UserError, OSError) as error:
            bad.append({"pair": pair.number, "block": pair.block, "reason": str(error)})
    case = plan.cases[0]
    return {
        "program": plan.benchmark_titles[case["benchmark"]],
        "parameters": case["parameters"],
        "campaign": plan.campaign,
        "seed": plan.seed,
        "pairs": len(good),
        "planned": len(order),
        "lost": bad,
        **ratios(good),
        "values": [asdict(sides) for sides in good],
    }


def line_of(found: Mapping[str, Any]) -> str:
    """The result for people."""
    names = ("ratio", "low95", "high95")
    own, outer = (
        "{:.4f} [{:.4f}, {:.4f}]".format(*(found[f"{clock}{name}"] for name in names))
        for clock in ("", "outer_")
    )
    return (
        f"{found['program']}, in a block over under a bare script: {own} by its own clock, "
        f"{outer} by the outer one; {found['pairs']} of {found['planned']} pairs, "
        f"{found['system']} ({found['scale_label']})"
    )
