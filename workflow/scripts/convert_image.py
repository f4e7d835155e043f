"""Rule convert_image: the image in the format of one runtime."""

from functools import partial
from pathlib import Path

from parity.core.errors import shown_to_the_user
from parity.runtimes import arms
from parity.software import images
from parity.software.build import make_format

if __name__ == "__main__":
    with shown_to_the_user():
        name = snakemake.wildcards.format
        arm = next(arm for arm in arms().values() if arm.image_format == name)
        oci = images.read_record(snakemake.input.oci)
        directory = images.read_record(snakemake.input.directory)
        place = images.place_of(snakemake.output.record, snakemake.params.folder, f"image.{name}")
        make = partial(make_format, arm, oci, directory, place)
        empty = images.ImageRecord(name, parent=arm.made_from)
        record = images.made_or_reason(make, empty, Path(snakemake.log[0]))
        images.write_record(record, snakemake.output.record)
