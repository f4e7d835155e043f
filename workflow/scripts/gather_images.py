"""Rule images: the records of all formats in one file, and the digest chain as a table."""

from parity.records import schema
from parity.records.surroundings import image_rows
from parity.software.images import line_of, read_record, write_images

if __name__ == "__main__":
    records = [read_record(path) for path in snakemake.input]
    print("\n".join(map(line_of, records)))
    by_format = {record.format: record for record in records}
    write_images(snakemake.output.images, by_format)
    # The images of this folder belong to no campaign.
    schema.write(schema.IMAGES, image_rows("", by_format), snakemake.output.table)
