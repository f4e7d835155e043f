"""Rule take_image: an image that somebody else made, and what every run needs of one."""

from pathlib import Path

from parity.core.documents import write_document
from parity.core.errors import shown_to_the_user
from parity.software.foreign_image import take_foreign
from parity.software.images import place_of

if __name__ == "__main__":
    with shown_to_the_user():
        given, made = snakemake.params, snakemake.output
        place = place_of(made.record, given.folder, "oci")
        hosts, log = Path(snakemake.input.hosts), Path(snakemake.log[0])
        foreign, record = take_foreign(given.image, hosts, place, log)
        write_document(Path(made.foreign), foreign)
        write_document(Path(made.record), record)
