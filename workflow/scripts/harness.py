"""Rule harness: what running a program in a block changes, beside the dataset's plan."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.harness.audit import audit, line_of
from parity.system import load_system

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.params
        found = audit(
            given.benchmark,
            snakemake.resources.pairs,
            given.seed,
            load_system(given.system),
            given.system,
            given.snakefile,
            dict(snakemake.resources),
            Path(snakemake.input.plan).parent,
        )
        print(line_of(found))
