"""Rule images: the records of all formats in one file, and the digest chain as a table."""

from pathlib import Path

from parity.core.documents import read_document
from parity.core.errors import shown_to_the_user
from parity.records import schema
from parity.records.surroundings import image_rows
from parity.software.images import ImageRecord, line_of, write_images

if __name__ == "__main__":
    with shown_to_the_user():
        records = [read_document(Path(path), ImageRecord) for path in snakemake.input]
        print("\n".join(map(line_of, records)))
        by_format = {record.format: record for record in records}
        write_images(snakemake.output.images, by_format)
        # The images of this folder belong to no campaign.
        schema.write(schema.IMAGES, image_rows("", by_format), snakemake.output.table)
