"""Rule write_plan: the study as a plan file, with what a pilot found for it."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.plan.making import make_plan
from parity.plan.plan import write_plan
from parity.plan.study import NO_AMOUNTS, load_study, read_pilot

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.params
        found = [read_pilot(Path(path)).amounts for path in snakemake.input.pilot]
        amounts = found[0] if found else NO_AMOUNTS
        study = load_study(
            snakemake.input.study, given.scale, given.toolchain, given.minutes, amounts
        )
        write_plan(Path(snakemake.output.plan), make_plan(study))
