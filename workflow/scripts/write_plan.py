"""Rule write_plan: the study as a plan file."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.plan.making import make_plan
from parity.plan.plan import write_plan
from parity.plan.study import load_study

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.params
        study = load_study(snakemake.input.study, given.scale, given.toolchain)
        write_plan(Path(snakemake.output.plan), make_plan(study))
