"""Rule analyse_events: what the events of runs say of noise."""

from pathlib import Path

from parity.analysis.noise import study
from parity.core.errors import shown_to_the_user

if __name__ == "__main__":
    with shown_to_the_user():
        folder = Path(snakemake.input.plan).parent
        study.write(study.study(folder, Path(snakemake.input.events)), folder / "analysis")
