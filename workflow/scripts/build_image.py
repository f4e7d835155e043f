"""Rule build_image: the image with every benchmark that is installed natively."""

from pathlib import Path

from parity.benchmarks import benchmarks
from parity.errors import shown_to_the_user
from parity.provenance.build import build_image, installed_versions
from parity.provenance.images import read_record, write_record

if __name__ == "__main__":
    with shown_to_the_user():
        names = [name for benchmark in benchmarks().values() for name in benchmark.packages]
        record = build_image(
            read_record(snakemake.input.base),
            installed_versions(names),
            Path(snakemake.input.dockerfile).resolve(),
            Path(snakemake.output.record).resolve().with_name("oci"),
            Path(snakemake.log[0]),
        )
        write_record(record, snakemake.output.record)
