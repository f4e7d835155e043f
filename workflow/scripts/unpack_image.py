"""Rule unpack_image: the image as a directory."""

import os
from pathlib import Path

from parity.errors import shown_to_the_user
from parity.provenance.build import unpack_image
from parity.provenance.images import read_record, write_record

if __name__ == "__main__":
    with shown_to_the_user():
        record = unpack_image(
            read_record(snakemake.input.oci),
            Path(snakemake.output.record).resolve().with_name("directory"),
            rootless=os.getuid() != 0,
            log=Path(snakemake.log[0]),
        )
        write_record(record, snakemake.output.record)
