"""Rule write_plan: the study as a plan file."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.core.files import write_json
from parity.plan.plan import make_plan
from parity.plan.study import load_study

if __name__ == "__main__":
    with shown_to_the_user():
        study = load_study(snakemake.input.study, snakemake.params.scale)
        write_json(Path(snakemake.output.plan), make_plan(study))
