"""Rule figures: what the dataset says; an archive is checked first."""

from pathlib import Path

from parity.analysis.dataset import refuse_broken
from parity.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.summary).parent
        if folder.parent.name == "archive":
            refuse_broken(folder)
        print(Path(snakemake.input.summary).read_text(encoding="utf-8"))
