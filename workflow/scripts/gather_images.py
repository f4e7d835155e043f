"""Rule images: the records of all formats in one file, and a table of them."""

from dataclasses import asdict
from pathlib import Path

from parity.provenance.images import read_record, write_json

if __name__ == "__main__":
    records = [read_record(path) for path in snakemake.input]
    for record in records:
        what = record.reason or f"{record.bytes / 1e6:8.1f} MB  {record.seconds:6.1f} s"
        print(f"{record.format:<10} {record.digest[:19]:<19}  {what}")
    write_json({record.format: asdict(record) for record in records}, Path(snakemake.output.images))
