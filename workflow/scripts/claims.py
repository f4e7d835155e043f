"""Rule claims: the verdicts on the terminal and in results/claims."""

import shutil
from pathlib import Path

from parity.claims import tables
from parity.core.errors import shown_to_the_user
from parity.report.tables import verdicts

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.params.folder)
        found = {folder: Path(snakemake.input.verdicts).parent}
        found |= {
            folder / Path(path).parent.name: Path(path).parent for path in snakemake.input.own
        }
        for destination, made in found.items():
            judged = tables.read(tables.VERDICTS, made)
            tables.refuse_changed(judged, Path("results"))
            verdicts.write(judged, destination)
            print(verdicts.to_text(judged, shutil.get_terminal_size().columns))
            print(f"All of them, with reasons: {destination}/claims.md (.html, .tex, .csv)")
