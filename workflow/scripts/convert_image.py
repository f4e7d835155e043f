"""Rule convert_image: the image in the format of one runtime."""

from pathlib import Path

from parity.errors import shown_to_the_user
from parity.provenance.build import version_of
from parity.provenance.images import Converter, make_format, read_record, write_record
from parity.runtimes import arms

if __name__ == "__main__":
    with shown_to_the_user():
        name = snakemake.wildcards.format
        arm = next(arm for arm in arms().values() if arm.image_format == name)
        record = make_format(
            Converter(
                name,
                arm.made_from,
                arm.probe().reason,
                version_of(*arm.converter),
                arm.convert,
                arm.digest,
                arm.size,
            ),
            read_record(snakemake.input.oci),
            read_record(snakemake.input.directory),
            Path(snakemake.output.record).resolve().with_name(f"image.{name}"),
        )
        write_record(record, snakemake.output.record)
