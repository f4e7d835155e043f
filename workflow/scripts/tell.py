"""Rule tell: the paper's sections on published claims."""

from pathlib import Path

from parity.claims import published, register, tables
from parity.core.errors import shown_to_the_user
from parity.plan.plan import read_plan
from parity.records import schema
from parity.report.text import adjudication

if __name__ == "__main__":
    with shown_to_the_user():
        claims, statements = map(Path, snakemake.input.published)
        known = register.load_register(Path(snakemake.input.claims), claims)
        verdicts = schema.read(tables.VERDICTS, Path(snakemake.input.verdicts)).to_pandas()
        folder = Path(snakemake.output.csv[0]).parent
        plans = map(read_plan, map(Path, [snakemake.input.plan, *snakemake.input.plans_beside]))
        ours = adjudication.follows(plans, known.studies)
        studies, checked = (known.studies, published.defects(statements)) if ours else ({}, ())
        adjudication.write(verdicts, studies, checked, folder)
