"""Rule bootstrap_base: the base image, from Debian's packages or from a registry by digest."""

from functools import partial
from pathlib import Path

from parity.core.documents import write_document
from parity.core.errors import shown_to_the_user
from parity.software.build import bootstrap_base, registry_base
from parity.software.images import ImageRecord, made_or_reason, place_of

if __name__ == "__main__":
    with shown_to_the_user():
        reference = snakemake.params.base_image
        tar = place_of(snakemake.output.record, snakemake.params.folder, "base.tar")
        log = Path(snakemake.log[0])
        if reference == "bootstrap":
            record = made_or_reason(partial(bootstrap_base, tar, log), ImageRecord("base"), log)
        else:
            record = registry_base(reference)
        write_document(Path(snakemake.output.record), record)
