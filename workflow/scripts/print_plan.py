"""Rule plan: what would be run, what it costs and what it can prove, before anything is run."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.plan.system import load_system
from parity.preview import cost
from parity.software.probe import probe_lines

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.params
        plan, images = read_plan(Path(snakemake.input.plan)), Path(given.images)
        system = load_system(given.system)
        here = cost.surroundings_of(plan, system, given.jobs, Path(given.archive), images)
        lines = [*cost.plan_lines(plan, here), "", *probe_lines(here.probes), ""]
        lines += [Path(snakemake.input.chances).read_text(encoding="utf-8")]
        print("\n".join(lines))
