"""Commands that say what a plan costs and can prove, and how far it is."""

from collections import Counter
from functools import partial
from pathlib import Path

from parity.core.errors import UserError
from parity.plan.plan import read_plan
from parity.plan.system import kind_of, load_system


def plan(plan: Path, chances: Path, system: Path, archive: Path, images: Path, jobs: int) -> None:
    """Print what would be run, what it costs, what it can prove, and what cannot be tested."""
    from parity.preview import cost
    from parity.software.install import probe_lines

    planned = read_plan(plan)
    here = cost.surroundings_of(planned, load_system(system), jobs, archive, images)
    lines = [*cost.plan_lines(planned, here), "", *probe_lines(here.probes), ""]
    print("\n".join([*lines, chances.read_text(encoding="utf-8")]))


def chances(
    plan: Path, claims: Path, published: Path, own: list[Path], system: Path, exclusions: Path,
    archive: Path, images: Path, jobs: int, chances: Path,
) -> None:  # fmt: skip
    """Draw and judge a plan by the scatter of earlier data: what it can prove, and how likely."""
    from parity.analysis.dataset import load_exclusions
    from parity.claims.register import load_register, load_users_claims
    from parity.preview import chances as drawn
    from parity.preview import cost, proof
    from parity.preview.simulated import Noises, Simulator

    planned, site = read_plan(plan), load_system(system)
    here = cost.surroundings_of(planned, site, jobs, archive, images)
    known, unread = proof.pilots(archive, load_exclusions(exclusions))
    simulator = Simulator(planned, Noises(known, kind_of([site.scale_label])))
    takes = partial(cost.time_for, planned, here)
    lines = proof.need_lines(proof.needs(planned, simulator.noises), takes)
    lines += [*(f"  {line}" for line in unread), ""]
    registers = [load_register(claims, published), *map(load_users_claims, own)]
    asked = [claim for register in registers for claim in register.claims]
    lines += drawn.chance_lines(drawn.chances(asked, simulator), simulator.noises.known, takes)
    chances.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def promise(plan: Path, exclusions: Path, system: Path, archive: Path, promise: Path) -> None:
    """Print what the time that is given can prove, before anything is measured."""
    from parity.analysis.dataset import load_exclusions
    from parity.preview import cost, proof
    from parity.preview.simulated import Noises

    planned, kind = read_plan(plan), kind_of([load_system(system).scale_label])
    if planned.minutes is None:
        problem = "this plan has no limit of time, so there is nothing to promise of it"
        action = "give the scale `minutes`, or see by `snakemake plan` what its blocks can prove"
        raise UserError(problem, where=str(plan), action=action)
    known, _ = proof.pilots(archive, load_exclusions(exclusions))
    before = cost.known_before(planned, archive)
    first = (block for block in planned.blocks if block.number == 1)
    runs = Counter(run.case for block in first for run in block.runs)
    is_known = runs.keys() <= before.keys()
    seconds = {case: before[case].seconds * runs[case] for case in runs} if is_known else None
    lines = proof.promise_lines(planned, proof.needs(planned, Noises(known, kind)), seconds)
    print("\n".join(lines))
    promise.write_text("\n".join([*lines, ""]), encoding="utf-8")


def progress(plan: Path | None = None) -> None:
    """Print how far a campaign is: that of a plan, or the one that was last worked on here."""
    from parity.preview.progress import print_progress

    print_progress(plan)
