"""Rule harness: what running a program in a block changes, beside the dataset's plan."""

from pathlib import Path

from parity.checks.noise_audit.audit import line_of, measure
from parity.core.errors import shown_to_the_user
from parity.plan.system import load_system

if __name__ == "__main__":
    with shown_to_the_user():
        given = snakemake.params
        audit = measure(
            given.benchmark,
            snakemake.resources.pairs,
            given.seed,
            load_system(given.system),
            given.system,
            given.snakefile,
            dict(snakemake.resources),
            Path(snakemake.input.plan).parent,
        )
        print(line_of(audit))
