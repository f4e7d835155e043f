"""Rule draw: figures, tables, numbers and the summary of one dataset."""

from pathlib import Path

from parity.analysis import analysis, dataset
from parity.errors import shown_to_the_user
from parity.present import present, published
from parity.present.view import View

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.params.folder)
        view = View(dataset.load(folder), analysis.read(folder / "analysis"))
        values = published.load(Path(snakemake.input.published), view.plan["study"])
        present.write(view, values, folder)
