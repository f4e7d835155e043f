"""Rule draw: figures, tables, numbers and the summary of one dataset."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.present import present, published, view

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.plan).parent
        shown = view.load(folder)
        values = published.load(Path(snakemake.input.published), shown.plan["study"])
        present.write(shown, values, folder)
