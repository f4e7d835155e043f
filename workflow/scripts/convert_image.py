"""Rule convert_image: the image in the format of one runtime."""

from functools import partial
from pathlib import Path

from parity.core.documents import read_document, write_document
from parity.core.errors import shown_to_the_user
from parity.software import images
from parity.software.build import make_format
from parity.software.needed_image import maker_of

if __name__ == "__main__":
    with shown_to_the_user():
        name = snakemake.wildcards.format
        arm = maker_of(name)
        oci = read_document(Path(snakemake.input.oci), images.ImageRecord)
        place = images.place_of(snakemake.output.record, snakemake.params.folder, f"image.{name}")
        # Nothing is at this place for a format that is not made from it.
        directory = images.ImageRecord("directory", location=str(place.with_name("directory")))
        for path in snakemake.input.directory:
            directory = read_document(Path(path), images.ImageRecord)
        make = partial(make_format, arm, oci, directory, place)
        empty = images.ImageRecord(name, parent=arm.made_from)
        record = images.made_or_reason(make, empty, Path(snakemake.log[0]))
        write_document(Path(snakemake.output.record), record)
