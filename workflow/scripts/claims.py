"""Rule claims: the verdicts on the terminal and in results/claims; an archive is checked first."""

from pathlib import Path

from parity.analysis.dataset import refuse_broken
from parity.claims.tables import VERDICTS
from parity.core.errors import shown_to_the_user
from parity.records import schema
from parity.report.tables import verdicts

if __name__ == "__main__":
    with shown_to_the_user():
        dataset = Path(snakemake.input.plan).parent
        if dataset.parent.name == "archive":
            refuse_broken(dataset)
        found = schema.read(VERDICTS, snakemake.input.verdicts).to_pandas()
        files = verdicts.write(found, Path(snakemake.params.folder))
        print(verdicts.to_text(found))
        print(f"Written: {', '.join(map(str, files))}")
