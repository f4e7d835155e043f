"""Rule unpack_image: the image as a directory."""

import os
from functools import partial
from pathlib import Path

from parity.core.documents import read_document, write_document
from parity.core.errors import shown_to_the_user
from parity.software import images
from parity.software.build import unpack_image

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        oci = read_document(Path(snakemake.input.oci), images.ImageRecord)
        folder = images.place_of(snakemake.output.record, snakemake.params.folder, "directory")
        unpack = partial(unpack_image, oci, folder, rootless=os.getuid() != 0, log=log)
        empty = images.ImageRecord("directory", parent="oci", parent_digest=oci.digest)
        record = images.made_or_reason(unpack, empty, log)
        write_document(Path(snakemake.output.record), record)
