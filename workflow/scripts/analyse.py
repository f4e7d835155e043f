"""Rule analyse: from records to conclusions."""

from pathlib import Path

from parity.analysis import analysis, dataset, exclusions
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.plan).parent
        excluded = exclusions.load(Path(snakemake.input.exclusions))
        analysed = analysis.analyse(dataset.load(folder, whole=False), excluded, beside=True)
        analysis.write(analysed, folder / "analysis")
