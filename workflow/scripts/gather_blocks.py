"""Rule gather_blocks: what the blocks left, verbatim, as two tables."""

import shutil
from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.records.gather import gather_records, measured_blocks
from parity.software.images import read_images, without_location, write_images

if __name__ == "__main__":
    with shown_to_the_user():
        folders = measured_blocks(snakemake.input.batches)
        records = Path(snakemake.output.raw).parent
        gather_records(folders, snakemake.params.system, records)
        write_images(snakemake.output.images, without_location(read_images(snakemake.input.images)))
        # What Spack built natively, where it did: versions, compilers, hashes.
        for seen, kept in zip(snakemake.input.native, snakemake.output.native, strict=True):
            shutil.copyfile(seen, kept)
