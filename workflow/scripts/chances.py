"""Rule chances: what a plan can prove, by drawing and judging it; printed by rule plan."""

from functools import partial
from pathlib import Path

from parity.analysis import exclusions
from parity.claims.register import load_register, load_users_claims
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.plan.system_kind import kind_of
from parity.preview import chances, cost, proof
from parity.preview.chance_lines import chance_lines
from parity.preview.simulated import Simulator

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.params
        plan = read_plan(Path(snakemake.input.plan))
        system = load_system(Path(snakemake.input.system))
        archive, images = Path(given.archive), Path(given.images)
        here = cost.surroundings_of(plan, system, given.jobs, archive, images)
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        known, unread = proof.pilots(proof.datasets_beside(archive), excluded)
        simulator = Simulator(plan, known, kind_of([system.scale_label]))
        takes = partial(cost.time_for, plan, here)
        lines = proof.need_lines(proof.needs(plan, simulator.noises), takes)
        lines += [*(f"  {line}" for line in unread), ""]
        registers = [load_register(Path(snakemake.input.claims), Path(snakemake.input.published))]
        registers += [load_users_claims(Path(path)) for path in snakemake.input.own]
        claims = [claim for register in registers for claim in register.claims]
        found = chances.chances(claims, simulator)
        lines += chance_lines(found, simulator.noises.known, takes)
        text = "".join(f"{line}\n" for line in lines)
        Path(snakemake.output.chances).write_text(text, encoding="utf-8")
