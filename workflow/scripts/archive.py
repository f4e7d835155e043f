"""Rule archive: keep the campaign that was measured here."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.records.dataset import archive_dataset

if __name__ == "__main__":
    with shown_to_the_user():
        archive_dataset(Path(snakemake.params.live), Path(snakemake.params.archive))
        print(f"archived as {snakemake.params.archive}")
