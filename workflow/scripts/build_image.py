"""Rule build_image: the image with every benchmark that is installed natively."""

from functools import partial
from pathlib import Path

from parity.errors import shown_to_the_user
from parity.provenance.build import build_image
from parity.provenance.images import ImageRecord, made_or_reason, read_record, write_record

if __name__ == "__main__":
    with shown_to_the_user():
        log = Path(snakemake.log[0])
        base = read_record(snakemake.input.base)
        build = partial(
            build_image,
            base,
            snakemake.params.packages,
            Path(snakemake.input.dockerfile).resolve(),
            Path(snakemake.output.record).resolve().with_name("oci"),
            log,
        )
        empty = ImageRecord("oci", parent="base", parent_digest=base.digest)
        write_record(made_or_reason(build, empty, log), snakemake.output.record)
