"""Rule plan: what would be run, what it costs and what it can prove, before anything is run."""

from functools import partial
from pathlib import Path

from parity.analysis import exclusions
from parity.claims.register import load_register, load_users_claims
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.plan.system_kind import kind_of
from parity.preview import chances, cost, proof, published_designs
from parity.preview.chance_lines import chance_lines
from parity.preview.simulated import Simulator
from parity.software.probe import probe_lines

if __name__ == "__main__":
    with shown_to_the_user():
        given, archive = snakemake.params, Path(snakemake.params.archive)
        plan = read_plan(Path(snakemake.input.plan))
        system = load_system(given.system)
        here = cost.surroundings_of(plan, system, given.jobs, archive, Path(given.images))
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        folders = [*sorted(Path("results/live").glob("*")), *sorted(archive.parent.glob("*"))]
        known, unread = proof.pilots(folders, excluded)
        simulator = Simulator(plan, known, kind_of([system.scale_label]))
        needs = proof.needs(plan, simulator.noises)
        lines = [*cost.plan_lines(plan, here), "", *probe_lines(here.probes), ""]
        takes = partial(cost.time_for, plan, here)
        lines += proof.need_lines(needs, takes)
        lines += [*(f"  {line}" for line in unread), ""]
        registers = [load_register(Path(snakemake.input.claims), Path(snakemake.input.published))]
        registers += [load_users_claims(Path(path)) for path in snakemake.input.own]
        claims = [claim for register in registers for claim in register.claims]
        found = chances.chances(claims, simulator)
        lines += [*chance_lines(found, simulator.noises.known, takes), ""]
        lines += published_designs.paper_lines(
            published_designs.load(Path(snakemake.input.designs))
        )
        print("\n".join(lines))
