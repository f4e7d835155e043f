"""Rule unpack_image: the image as a directory."""

import os
from functools import partial
from pathlib import Path

from parity.errors import shown_to_the_user
from parity.provenance.build import unpack_image
from parity.provenance.images import ImageRecord, made_or_reason, read_record, write_record

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        oci = read_record(snakemake.input.oci)
        folder = Path(snakemake.output.record).resolve().with_name("directory")
        unpack = partial(unpack_image, oci, folder, rootless=os.getuid() != 0, log=log)
        empty = ImageRecord("directory", parent="oci", parent_digest=oci.digest)
        write_record(made_or_reason(unpack, empty, log), snakemake.output.record)
