"""Rule claims: the verdicts on the terminal and in results/claims."""

from pathlib import Path

from parity.claims import tables
from parity.core.errors import shown_to_the_user
from parity.report.tables import verdicts

if __name__ == "__main__":
    with shown_to_the_user():
        judged = tables.read(tables.VERDICTS, Path(snakemake.input.plan).parent)
        files = verdicts.write(judged, Path(snakemake.params.folder))
        print(verdicts.to_text(judged))
        print(f"Written: {', '.join(map(str, files))}")
