"""Rule plan: what would be run, what it costs and what it can prove, before anything is run."""

from functools import partial
from pathlib import Path

from parity.analysis import exclusions
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.preview import cost, proof, published_designs
from parity.software.probe import probe_lines

if __name__ == "__main__":
    with shown_to_the_user():
        given, archive = snakemake.params, Path(snakemake.params.archive)
        plan = read_plan(Path(snakemake.input.plan))
        system = load_system(given.system)
        here = cost.surroundings_of(plan, system, given.jobs, archive, Path(given.images))
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        folders = [*sorted(Path("results/live").glob("*")), archive]
        known, unread = proof.pilots(folders, excluded)
        needs = proof.needs(plan, proof.best_spreads(plan, known))
        lines = [*cost.plan_lines(plan, here), "", *probe_lines(here.probes), ""]
        lines += proof.need_lines(needs, partial(cost.time_for, plan, here))
        lines += [*(f"  {line}" for line in unread), ""]
        lines += published_designs.paper_lines(
            published_designs.load(Path(snakemake.input.designs))
        )
        print("\n".join(lines))
