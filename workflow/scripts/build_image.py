"""Rule build_image: the image with every benchmark that is installed natively."""

from functools import partial
from pathlib import Path

from parity.errors import shown_to_the_user
from parity.provenance import images
from parity.provenance.build import build_image

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        base = images.read_record(snakemake.input.base)
        build = partial(
            build_image,
            base,
            snakemake.params.packages,
            Path(snakemake.input.dockerfile).resolve(),
            images.place_of(snakemake.output.record, snakemake.params.folder, "oci"),
            log,
        )
        empty = images.ImageRecord("oci", parent="base", parent_digest=base.digest)
        images.write_record(images.made_or_reason(build, empty, log), snakemake.output.record)
