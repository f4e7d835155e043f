"""Rule archive: keep the campaign that was measured here."""

from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.crate import write_crate
from parity.records.dataset import archive_dataset

if __name__ == "__main__":
    with shown_to_the_user():
        live, root = Path(snakemake.input.plan).parent, Path("results/archive")
        archive = archive_dataset(live, root, snakemake.params.system)
        write_crate(archive)
        print(f"archived as {archive}; name it in config/config.yaml: archive")
